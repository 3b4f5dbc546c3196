//! The desk of one room at one node: gathers what visitors want and does all of it in one change of the room, as a ledger
//! gathers commands into one commit. While one change is under way the next ones gather, so a rush of any size is
//! answered at the pace of the store.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{Inventory, Moment, OfferId};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{MissedTickBehavior, interval},
};

use super::{
    order::Order,
    presence::{self, Presence},
    room::{Entry, Mode, Place, Plan, Room},
    rooms::Shared,
    store::Front,
    tickets::{Bearer, Tickets},
    token::Ticket,
};
use crate::ledger::LedgerError;

/// Wishes that one change takes along.
const MAX_BATCH: usize = 1024;

/// What somebody wants of the room.
#[derive(Debug, Clone)]
pub(super) enum Wish {
    Join(Bearer),
    Enter(Ticket),
    /// To be out; with the ticket that came along, if one did.
    Leave(Bearer, Option<Ticket>),
    /// To be out, if in: who waits still waits.
    Bought(Bearer, Option<Ticket>),
    Plan(Plan, [u8; 32]),
    Mode(Mode),
    /// Only that the room takes its turn.
    Turn,
}

impl Wish {
    /// Whose ticket it is about, where that is to be looked up.
    const fn bearer(&self) -> Option<Bearer> {
        match self {
            Self::Join(bearer) | Self::Leave(bearer, _) | Self::Bought(bearer, _) => Some(*bearer),
            Self::Enter(_) | Self::Plan(..) | Self::Mode(_) | Self::Turn => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Joined {
        ticket: Ticket,
        /// Given just now, not before.
        fresh: bool,
    },
    Entry(Entry),
    /// Whoever had this ticket is away.
    Left(Ticket),
    /// The ticket is of another run of the room.
    Void,
    /// There are no more tickets.
    Full,
    NoRoom,
    Done,
}

#[derive(Debug)]
struct Letter {
    wish: Wish,
    reply: oneshot::Sender<Result<Told, LedgerError>>,
}

/// A room as it was a moment ago, and the order of its tickets.
#[derive(Debug)]
pub(super) struct Copy {
    pub room: Room,
    pub order: Arc<Order>,
}

#[derive(Debug)]
pub(super) struct Desk {
    pub offer: OfferId,
    inbox: mpsc::Sender<Letter>,
    pub copy: watch::Sender<Option<Arc<Copy>>>,
    pub presence: Mutex<Presence>,
}

impl Desk {
    /// Opens the desk; whoever has the receiver must [`work`].
    pub(super) fn open(offer: OfferId, shared: &Shared) -> (Arc<Self>, Inbox) {
        let (inbox, letters) = mpsc::channel(shared.settings.queue);
        let presence = Mutex::new(Presence::new(shared.settings.presences));
        let desk = Self { offer, inbox, copy: watch::Sender::new(None), presence };
        (Arc::new(desk), Inbox(letters))
    }

    pub(super) async fn ask(&self, wish: Wish) -> Result<Told, LedgerError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.try_send(Letter { wish, reply }).map_err(|_| LedgerError::Overloaded)?;
        answer.await.unwrap_or_else(|_| Err(LedgerError::Unavailable("the waiting room has closed".into())))
    }

    /// The room as this node knows it, looked up if it never was.
    pub(super) async fn known(&self) -> Result<Option<Arc<Copy>>, LedgerError> {
        let copy = self.copy.borrow().clone();
        match copy {
            Some(copy) => Ok(Some(copy)),
            None => self.ask(Wish::Turn).await.map(|_| self.copy.borrow().clone()),
        }
    }

    async fn serve(&self, shared: &Shared, letters: Vec<Letter>) {
        let now = shared.clock.now();
        let before = self.copy.borrow().clone();
        let most = shared.settings.front;
        let places = self.front(before.as_deref(), most, now);
        let front = Front { node: &shared.node, places: &places, complete: places.len() < most };
        let sellable = self.sellable(shared, before.as_deref()).await;
        let bearers: Vec<Bearer> = letters.iter().filter_map(|letter| letter.wish.bearer()).collect();
        let mut order = before.map(|copy| (copy.room.run, Arc::clone(&copy.order)));
        let mut told = Vec::with_capacity(letters.len());
        let changed = shared
            .store
            .change(&self.offer, front, &bearers, &mut |room, tickets, present| {
                told.clear();
                let most = shared.settings.tickets;
                for letter in &letters {
                    told.push(grant(&letter.wish, room, tickets, &mut order, most, now));
                }
                if let Some(room) = room {
                    room.turn(present, sellable, now);
                }
            })
            .await;
        match changed {
            Ok(room) => {
                self.publish(room, order, now);
                letters.into_iter().zip(told).for_each(|(letter, told)| drop(letter.reply.send(Ok(told))));
            }
            Err(fault) => {
                tracing::warn!(offer = %self.offer, %fault, "the waiting room stands still");
                letters.into_iter().for_each(|letter| drop(letter.reply.send(Err(fault.clone()))));
            }
        }
    }

    fn front(&self, copy: Option<&Copy>, most: usize, now: Moment) -> Vec<Place> {
        let Some(Copy { room, order }) = copy else { return Vec::new() };
        if **order == Order::Undrawn {
            return Vec::new();
        }
        let waits = |place| room.visit(place).is_none_or(|visit| visit.until <= now) && !room.is_used(place);
        self.presence.lock().front(most, now, waits)
    }

    /// What is free or may yet come free. A calendar is not counted: it has no end.
    async fn sellable(&self, shared: &Shared, copy: Option<&Copy>) -> Option<u64> {
        match shared.ledger.offer(&self.offer).await {
            Ok(Some(view)) if !matches!(view.offer.inventory(), Inventory::Slots(_)) => {
                Some(view.counts.available + view.counts.held)
            }
            Ok(_) => None,
            // As it was: the ledger that cannot be read sells nothing either.
            Err(_) => copy.and_then(|copy| copy.room.sellable),
        }
    }

    fn publish(&self, room: Option<Room>, known: Option<(u32, Arc<Order>)>, now: Moment) {
        let Some(room) = room else { return };
        let same = |(run, order): &(u32, Arc<Order>)| *run == room.run && order.is_of(&room);
        let order = known.filter(same).map_or_else(|| Arc::new(Order::of(&room)), |(_, order)| order);
        match self.copy.borrow().as_deref() {
            // Loaded: nobody has asked here yet, so nobody can be passed over yet.
            None if room.issued > 0 => self.presence.lock().wait_until(now.plus_ms(presence::WARM_UP_MS)),
            Some(before) if before.room.run != room.run => {
                self.presence.lock().clear();
            }
            Some(before) if *before.order == Order::Undrawn && *order != Order::Undrawn => {
                self.presence.lock().draw(&order);
            }
            _ => {}
        }
        self.measure(&room, now);
        self.copy.send_replace(Some(Arc::new(Copy { room, order })));
    }

    fn measure(&self, room: &Room, now: Moment) {
        let set = |name: &'static str, value: f64| {
            metrics::gauge!(name, "offer" => self.offer.to_string()).set(value)
        };
        set("holdfast_room_issued", f64::from(room.issued));
        set("holdfast_room_serving", f64::from(room.serving));
        set("holdfast_room_admitted", room.admitted as f64);
        set("holdfast_room_inside", room.inside(now) as f64);
        set("holdfast_room_called", (room.active() - room.inside(now)) as f64);
        set("holdfast_room_present", self.presence.lock().len() as f64);
        set("holdfast_room_drain_per_minute", room.drain_per_minute());
    }
}

/// The order of the room as it is now, worked out at most once for each draw.
fn order_of<'a>(room: &Room, known: &'a mut Option<(u32, Arc<Order>)>) -> &'a Order {
    if known.as_ref().is_none_or(|(run, order)| *run != room.run || !order.is_of(room)) {
        *known = Some((room.run, Arc::new(Order::of(room))));
    }
    &known.as_ref().expect("made just now").1
}

/// Lets one wish happen.
fn grant(
    wish: &Wish,
    kept: &mut Option<Room>,
    tickets: &mut Tickets,
    order: &mut Option<(u32, Arc<Order>)>,
    most: u32,
    now: Moment,
) -> Told {
    if let (Wish::Plan(plan, seed), None) = (wish, &*kept) {
        *kept = Some(Room::new(plan.clone(), *seed, now));
        return Told::Done;
    }
    let Some(room) = kept else { return Told::NoRoom };
    let mut place_of = |room: &Room, ticket: &Ticket| {
        (ticket.run == room.run && ticket.number <= room.issued)
            .then(|| order_of(room, order).place(ticket.number))
    };
    // Of all that a session ever had the newest is good, if any: it was given when the one before was over.
    let run = room.run;
    let newest = |bearer: Bearer, sent: Option<Ticket>, tickets: &Tickets| {
        let own = tickets.of(bearer).into_iter().chain(sent);
        own.filter(|ticket| ticket.run == run).max_by_key(|ticket| ticket.number)
    };
    match wish {
        Wish::Join(bearer) => {
            if let Some(ticket) = newest(*bearer, None, tickets) {
                let place = place_of(room, &ticket).flatten();
                if !place.is_some_and(|place| room.is_over(place, now)) {
                    return Told::Joined { ticket, fresh: false };
                }
            }
            let Some(number) = room.join(most) else { return Told::Full };
            let ticket = Ticket { run, number };
            tickets.give(*bearer, ticket);
            Told::Joined { ticket, fresh: true }
        }
        Wish::Enter(ticket) => match place_of(room, ticket) {
            Some(Some(place)) => Told::Entry(room.enter(place, now)),
            Some(None) => Told::Entry(Entry::NotYet),
            None => Told::Void,
        },
        Wish::Leave(bearer, sent) | Wish::Bought(bearer, sent) => {
            let Some(ticket) = newest(*bearer, *sent, tickets) else { return Told::Done };
            let stays = |room: &Room, place| {
                matches!(wish, Wish::Bought(..)) && room.visit(place).is_none_or(|visit| !visit.entered)
            };
            match place_of(room, &ticket) {
                Some(Some(place)) if stays(room, place) => return Told::Done,
                Some(Some(place)) => room.leave(place),
                // Before the draw a ticket cannot be given up, only be left lying: whoever comes back has the same lot.
                Some(None) if matches!(wish, Wish::Leave(..)) => {}
                Some(None) => return Told::Done,
                None => return Told::Void,
            }
            Told::Left(ticket)
        }
        Wish::Plan(plan, seed) => {
            room.replan(plan.clone(), *seed, now);
            Told::Done
        }
        Wish::Mode(mode) => {
            room.mode = *mode;
            Told::Done
        }
        Wish::Turn => Told::Done,
    }
}

#[derive(Debug)]
pub(super) struct Inbox(mpsc::Receiver<Letter>);

/// Serves the desk for as long as there is one.
pub(super) async fn work(desk: Arc<Desk>, mut inbox: Inbox, shared: Arc<Shared>) {
    let mut tick = interval(shared.settings.turn_every.max(Duration::from_millis(10)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let mut letters = Vec::new();
        tokio::select! {
            received = inbox.0.recv_many(&mut letters, MAX_BATCH) => if received == 0 { return },
            _ = tick.tick() => {}
        }
        desk.serve(&shared, letters).await;
    }
}
