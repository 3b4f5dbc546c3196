//! Fifty thousand visitors in virtual time, against the code that runs the room: the machine, its order, its presence and
//! its tokens, in the way that the desk puts them together. The crowd keeps its own book of who was there, and judges by
//! that.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use holdfast_domain::{HolderId, Moment, OfferId};

use super::{Dice, at, plan};
use crate::admission::waiting_room::{
    Entry, Method, Order, Pass, Place, Plan, Presence, Room, Signer, Standing, Ticket, TicketState,
    presence::WARM_UP_MS,
};

const VISITORS: usize = 50_000;
const MAX_ACTIVE: u32 = 2_000;
const OPENS_S: i64 = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Coming,
    Waiting,
    /// Closed the lid. Comes back at some time, or never.
    Away {
        back: Option<i64>,
    },
    Inside,
    Gone,
}

struct Guest {
    holder: HolderId,
    doing: Doing,
    ticket: Ticket,
    token: String,
    asked: u32,
    /// When it will close the lid, if it is one of those.
    leaves_at: Option<i64>,
    entered: u32,
    /// What it was told last.
    ahead: Option<u32>,
}

struct Crowd {
    room: Room,
    order: Order,
    presence: Presence,
    signer: Signer,
    offer: OfferId,
    guests: Vec<Guest>,
    /// What happens when, to whom.
    agenda: BinaryHeap<Reverse<(i64, usize)>>,
    dice: Dice,
    /// By the crowd's own account: who sits there and waits.
    there: BTreeSet<Place>,
    entered: Vec<Place>,
    /// How full it was, each second that there were more people than room.
    used_share: Vec<f64>,
}

impl Crowd {
    fn new(plan: Plan, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut agenda = BinaryHeap::new();
        let guests = (0..VISITORS).map(|n| {
            // Most are there before the doors open.
            let comes_s = if dice.percent(70) { dice.between(0, 300) } else { dice.between(300, 1_200) };
            let comes = at(0).ms() + comes_s as i64 * 1000 + dice.between(0, 1000) as i64;
            agenda.push(Reverse((comes, n)));
            let leaves = dice.percent(30).then(|| comes + dice.between(1, 1_500) as i64 * 1000);
            let holder = HolderId::new(&format!("session_{n}")).unwrap();
            Guest {
                holder,
                doing: Doing::Coming,
                ticket: Ticket { run: 0, number: 0 },
                token: String::new(),
                asked: 0,
                leaves_at: leaves,
                entered: 0,
                ahead: None,
            }
        });
        let guests = guests.collect();
        let room = Room::new(plan, [9; 32], at(0));
        Self {
            order: Order::of(&room),
            room,
            presence: Presence::new(VISITORS),
            signer: Signer::new([3; 32]),
            offer: OfferId::new("hall").unwrap(),
            guests,
            agenda,
            dice,
            there: BTreeSet::new(),
            entered: Vec::new(),
            used_share: Vec::new(),
        }
    }

    /// Everything that guests do until `now`, then the room's turn.
    fn second(&mut self, now: Moment) {
        while let Some(&Reverse((when, guest))) =
            self.agenda.peek().filter(|Reverse((when, _))| *when <= now.ms())
        {
            self.agenda.pop();
            self.act(guest, Moment::from_ms(when));
        }
        self.turn(now);
        assert!(self.room.active() <= MAX_ACTIVE as usize, "never more than max_active");
        assert!(self.room.inside(now) <= self.room.active());
    }

    fn turn(&mut self, now: Moment) {
        let room = &self.room;
        let waits = |place| room.visit(place).is_none_or(|visit| visit.until <= now) && !room.is_used(place);
        let front = match self.order {
            Order::Undrawn => Vec::new(),
            _ if !self.presence.is_warm(now) => Vec::new(),
            _ => self.presence.front(4_096, now, waits),
        };
        let called = self.room.turn(&front, None, now);
        if !self.order.is_of(&self.room) {
            self.order = Order::of(&self.room);
            self.presence.draw(&self.order);
            self.there = self.there.iter().map(|number| self.order.place(*number).unwrap()).collect();
        }
        // Order: whoever sits there was called before everybody behind them.
        let last = called.last().copied().unwrap_or(0);
        for place in &called {
            self.there.remove(place);
        }
        if let Some(&first) = self.there.first() {
            assert!(first > last, "{first} sat there and {last} was called");
        }
        // Utilisation, while there are more people than room.
        if now > at(OPENS_S + 60) && self.there.len() > MAX_ACTIVE as usize {
            self.used_share.push(self.room.inside(now) as f64 / f64::from(MAX_ACTIVE));
        }
    }

    fn act(&mut self, n: usize, now: Moment) {
        match self.guests[n].doing {
            Doing::Coming => self.join(n, now),
            Doing::Waiting if self.guests[n].leaves_at.is_some_and(|at| at <= now.ms()) => {
                self.close_lid(n, now)
            }
            Doing::Waiting => self.ask(n, now),
            Doing::Away { .. } => {
                self.guests[n].doing = Doing::Waiting;
                self.ask(n, now);
            }
            Doing::Inside => self.finish(n),
            Doing::Gone => {}
        }
    }

    fn join(&mut self, n: usize, now: Moment) {
        let number = self.room.join(u32::MAX).unwrap();
        let ticket = Ticket { run: self.room.run, number };
        let guest = &mut self.guests[n];
        guest.ticket = ticket;
        guest.token = self.signer.ticket(&self.offer, ticket, &guest.holder);
        guest.doing = Doing::Waiting;
        self.ask(n, now);
    }

    fn close_lid(&mut self, n: usize, now: Moment) {
        let back = self.dice.percent(50).then(|| now.ms() + self.dice.between(20, 900) as i64 * 1000);
        let guest = &mut self.guests[n];
        guest.leaves_at = None;
        guest.doing = Doing::Away { back };
        if let Some(back) = back {
            self.agenda.push(Reverse((back, n)));
        }
        let ticket = guest.ticket;
        self.there.remove(&self.order.place(ticket.number).unwrap_or(ticket.number));
    }

    /// Asks how far it is, and goes in when it is its turn.
    fn ask(&mut self, n: usize, now: Moment) {
        let guest = &mut self.guests[n];
        guest.asked += 1;
        if guest.asked % 16 == 1 {
            let read = self.signer.read_ticket(&guest.token, &self.offer, &guest.holder);
            assert_eq!(read, Some(guest.ticket));
        }
        let ticket = guest.ticket;
        let standing = Standing::of(&self.room, &self.order, ticket.number, now);
        if let (Some(before), Some(ahead)) = (guest.ahead, standing.ahead) {
            assert!(ahead <= before, "people ahead never rise: {before} then {ahead}");
        }
        guest.ahead = standing.ahead.or(guest.ahead);
        match standing.state {
            TicketState::Ready => return self.enter(n, standing.place.unwrap(), now),
            TicketState::Waiting => {}
            other => panic!("a guest who waits is told {other:?}"),
        }
        self.presence.seen(standing.presence(), standing.present_until(now));
        self.there.insert(standing.presence());
        let next = now.ms() + i64::from(standing.retry_after_ms);
        let lid = guest.leaves_at.filter(|at| *at > now.ms()).unwrap_or(i64::MAX);
        self.agenda.push(Reverse((next.min(lid), n)));
    }

    fn enter(&mut self, n: usize, place: Place, now: Moment) {
        let Entry::Inside { until } = self.room.enter(place, now) else { panic!("{place} was called") };
        assert_eq!(self.room.enter(place, now), Entry::Inside { until }, "asked twice, in once");
        let guest = &mut self.guests[n];
        let ticket = self.signer.read_ticket(&guest.token, &self.offer, &guest.holder).unwrap();
        let pass = self.signer.pass(&self.offer, Pass { ticket, until }, &guest.holder);
        let stranger = HolderId::new("session_x").unwrap();
        assert!(self.signer.read_pass(&pass, &self.offer, &guest.holder).is_some());
        assert!(self.signer.read_pass(&pass, &self.offer, &stranger).is_none(), "a shared pass");
        guest.entered += 1;
        guest.doing = Doing::Inside;
        self.entered.push(place);
        let stays = self.dice.between(60, 240) as i64 * 1000;
        self.agenda.push(Reverse((now.ms() + stays, n)));
    }

    /// Most say goodbye. Who does not keeps its place inside until the time is up.
    fn finish(&mut self, n: usize) {
        self.guests[n].doing = Doing::Gone;
        if self.dice.percent(85) {
            let guest = &self.guests[n];
            let ticket = self.signer.read_ticket(&guest.token, &self.offer, &guest.holder).unwrap();
            let place = self.order.place(ticket.number).unwrap();
            self.room.leave(place);
            assert_eq!(self.room.enter(place, at(0)), Entry::Used, "nobody is admitted twice on one ticket");
        }
    }

    fn is_over(&self) -> bool {
        self.agenda.is_empty()
    }

    /// The process dies and starts again: what was kept is there, who was there is not known.
    fn restart(&mut self, now: Moment) {
        let kept = self.room.keep();
        let restored = Room::unfold(&kept).expect("what was kept can be read");
        assert!(restored == self.room, "and is what it was");
        self.room = restored;
        self.order = Order::of(&self.room);
        self.presence = Presence::new(VISITORS);
        self.presence.wait_until(now.plus_ms(WARM_UP_MS));
    }

    fn run(mut self, restarts_at: Option<i64>) -> Self {
        for s in 1..20_000 {
            self.second(at(s));
            if restarts_at == Some(s) {
                self.restart(at(s));
            }
            if self.is_over() {
                return self;
            }
        }
        panic!("the crowd is never served");
    }

    /// What must be true of every run.
    fn judge(&self, method: Method) {
        let twice = self.guests.iter().filter(|guest| guest.entered > 1).count();
        assert_eq!(twice, 0, "nobody is admitted twice on one ticket");
        let never_back = |guest: &Guest| guest.doing == Doing::Away { back: None };
        let left_out = self.guests.iter().filter(|guest| guest.entered == 0 && !never_back(guest)).count();
        assert_eq!(left_out, 0, "whoever is there in the end has been let in");
        let away = self.guests.iter().filter(|guest| never_back(guest)).count();
        assert!(away > VISITORS / 10, "{away} never came back: a run with everybody there proves nothing");
        let utilisation = self.used_share.iter().sum::<f64>() / self.used_share.len() as f64;
        println!(
            "{method:?}: utilisation {:.2} %, {} seconds, {} let in, {away} never came back",
            utilisation * 100.0,
            self.used_share.len(),
            self.entered.len()
        );
        assert!(self.used_share.len() > 300, "it was full for a while");
        assert!(utilisation >= 0.95, "utilisation {utilisation}");
    }
}

fn lottery() -> Plan {
    Plan { opens_at_ms: Some(at(OPENS_S).ms()), ..plan(Method::Lottery, MAX_ACTIVE) }
}

#[test]
fn fifty_thousand_are_let_in_first_come_first_served() {
    let fifo = Plan { opens_at_ms: Some(at(OPENS_S).ms()), ..plan(Method::Fifo, MAX_ACTIVE) };
    Crowd::new(fifo, 1).run(None).judge(Method::Fifo);
}

#[test]
fn fifty_thousand_are_let_in_by_lot() {
    let crowd = Crowd::new(lottery(), 2).run(None);
    crowd.judge(Method::Lottery);
    let drawn = crowd.room.lottery.as_ref().and_then(|lottery| lottery.drawn).unwrap();
    assert!((30_000..50_000).contains(&drawn), "{drawn} were there before the draw");
}

#[test]
fn a_restart_in_the_middle_changes_nothing_of_it() {
    Crowd::new(lottery(), 3).run(Some(OPENS_S + 600)).judge(Method::Lottery);
}
