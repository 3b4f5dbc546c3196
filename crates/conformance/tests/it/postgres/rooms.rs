//! Waiting rooms on three nodes that share one PostgreSQL: virtual time, real desks, real rows.

use std::sync::Arc;

use futures::future::join_all;
use holdfast_domain::{HolderId, Moment, OfferId};
use holdfast_engine::{
    admission::waiting_room::{Denied, Method, Plan, Rooms, Settings, TicketState},
    clock::{Clock, ManualClock},
    ledger::postgres::PostgresLedger,
    strategy::Claiming,
};

use super::{
    goods::{fest, sell},
    house::{House, nodes, settings},
};
use crate::size::setting;

const MAX_ACTIVE: usize = 200;
/// How long somebody who was called has to come.
const CALL_MS: i64 = 20_000;

async fn rooms_on(node: &Arc<PostgresLedger>, clock: &Arc<ManualClock>) -> Arc<Rooms> {
    let opened = Rooms::open(node.clone(), node.clone(), clock.clone(), [4; 32], Settings::default());
    opened.await.expect("the rooms open")
}

fn offer() -> OfferId {
    OfferId::new("fest").expect("an id")
}

fn plan(method: Method, opens_at: Moment) -> Plan {
    Plan {
        method,
        max_active: MAX_ACTIVE as u32,
        admit_per_minute: None,
        session_s: 60,
        opens_at_ms: Some(opens_at.ms()),
        message: None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Waiting { asks_at: Moment },
    Away,
    Inside { until: Moment },
    Gone,
}

struct Guest {
    holder: HolderId,
    token: String,
    doing: Doing,
    /// Never away.
    faithful: bool,
    leaves_at: Option<Moment>,
    place: Option<u32>,
    called_at: Option<Moment>,
    entered: u32,
}

/// A cheap die for each guest and question: the same every time.
fn dice(guest: usize, question: u64) -> u64 {
    let mut z =
        (guest as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ question.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Guest {
    fn new(n: usize) -> Self {
        Self {
            holder: HolderId::new(&format!("session_{n}")).expect("a holder"),
            token: String::new(),
            doing: Doing::Waiting { asks_at: Moment::MAX },
            faithful: dice(n, 1) % 100 >= 30,
            leaves_at: None,
            place: None,
            called_at: None,
            entered: 0,
        }
    }

    async fn join(&mut self, rooms: &Rooms, now: Moment) {
        let given = rooms.join(&offer(), &self.holder, []).await.expect("a ticket");
        self.token = given.token.expect("there is a queue");
        self.doing = Doing::Waiting { asks_at: now };
    }

    /// What this guest does now, at whichever node it is sent to.
    async fn act(&mut self, n: usize, rooms: &Rooms, now: Moment) {
        match self.doing {
            Doing::Waiting { .. } if self.leaves_at.is_some_and(|at| at <= now) => {
                self.leaves_at = None;
                self.doing = Doing::Away;
            }
            Doing::Waiting { asks_at } if asks_at <= now => self.ask(n, rooms, now).await,
            Doing::Inside { until } if until <= now => {
                let left = rooms.leave(&offer(), &self.holder, [self.token.as_str()]).await;
                left.expect("one may always leave");
                let again = rooms.enter(&offer(), &self.holder, [self.token.as_str()]).await;
                assert!(matches!(again, Err(Denied::Ended)), "a ticket admits once: {again:?}");
                self.doing = Doing::Gone;
            }
            _ => {}
        }
    }

    async fn ask(&mut self, n: usize, rooms: &Rooms, now: Moment) {
        let standing = rooms.standing(&offer(), &self.holder, [self.token.as_str()]).await;
        let standing = standing.expect("its own ticket").expect("there is a queue");
        self.place = standing.place.or(self.place);
        if standing.state != TicketState::Ready {
            assert_eq!(standing.state, TicketState::Waiting, "{standing:?}");
            self.doing = Doing::Waiting { asks_at: now.plus_ms(i64::from(standing.retry_after_ms)) };
            return;
        }
        self.called_at = standing.until.map(|until| until.plus_ms(-CALL_MS));
        let pass = rooms.enter(&offer(), &self.holder, [self.token.as_str()]).await.expect("its turn");
        let pass = pass.token.expect("a pass");
        assert!(rooms.admit(&offer(), &self.holder, [pass.as_str()]).await.is_ok(), "it is good at once");
        let thief = HolderId::new("session_thief").expect("a holder");
        assert!(rooms.admit(&offer(), &thief, [pass.as_str()]).await.is_err(), "and for nobody else");
        self.entered += 1;
        self.doing = Doing::Inside { until: now.plus_ms(10_000 + (dice(n, 2) % 20_000) as i64) };
    }
}

struct Sale {
    clock: Arc<ManualClock>,
    ledgers: Vec<Arc<PostgresLedger>>,
    rooms: Vec<Arc<Rooms>>,
    guests: Vec<Guest>,
    full: Vec<usize>,
}

impl Sale {
    async fn open(house: &House, database: &str, method: Method, opens_s: i64) -> Self {
        let ledgers = nodes(settings(&house.emptied(database), Claiming::Batched), 3).await;
        sell(&*ledgers[0], fest(100_000, 600)).await;
        let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
        let mut rooms = Vec::new();
        for ledger in &ledgers {
            rooms.push(rooms_on(ledger, &clock).await);
        }
        let opens_at = clock.now().plus_ms(opens_s * 1000);
        rooms[0].plan(&offer(), plan(method, opens_at)).await.expect("a room");
        for node in &rooms {
            while node.board(&offer()).await.expect("a look").is_none() {
                tokio::task::yield_now().await;
            }
        }
        let visitors = setting("HOLDFAST_TEST_VISITORS", 3_000);
        let guests = (0..visitors as usize).map(Guest::new).collect();
        Self { clock, ledgers, rooms, guests, full: Vec::new() }
    }

    async fn all_join(&mut self) {
        let now = self.clock.now();
        let rooms = &self.rooms;
        // Six hundred at a time, each at some node.
        for crowd in self.guests.chunks_mut(600) {
            let joins = crowd.iter_mut().enumerate().map(|(n, guest)| guest.join(&rooms[n % 3], now));
            join_all(joins).await;
        }
        for (n, guest) in self.guests.iter_mut().enumerate() {
            let stays_ms = 1_000 + (dice(n, 3) % 200_000) as i64;
            guest.leaves_at = (!guest.faithful).then(|| now.plus_ms(stays_ms));
        }
    }

    /// One second: the guests whose time has come, then a turn at every node.
    async fn second(&mut self, s: u64) {
        self.clock.advance_ms(1000);
        let (now, rooms) = (self.clock.now(), &self.rooms);
        let acts = self.guests.iter_mut().enumerate();
        join_all(acts.map(|(n, guest)| guest.act(n, &rooms[(dice(n, 100 + s) % 3) as usize], now))).await;
        for node in rooms {
            node.turn(&offer()).await.expect("a turn");
        }
        let inside = self.guests.iter().filter(|guest| matches!(guest.doing, Doing::Inside { .. })).count();
        assert!(inside <= MAX_ACTIVE, "{inside} inside");
        let waiting = self.guests.iter().filter(|guest| matches!(guest.doing, Doing::Waiting { .. })).count();
        if waiting > MAX_ACTIVE {
            self.full.push(inside);
        }
    }

    fn is_over(&self) -> bool {
        self.guests.iter().all(|guest| matches!(guest.doing, Doing::Away | Doing::Gone))
    }

    /// The third node dies, and another one takes its place.
    async fn replace_a_node(&mut self) {
        let ledger = self.ledgers[2].clone();
        self.rooms[2] = rooms_on(&ledger, &self.clock).await;
    }

    /// Those who were always there were called in the order of their places, whichever nodes they asked.
    fn judge(&self, what: &str, opening_s: usize) {
        let mut called: Vec<_> = self.guests.iter().filter(|guest| guest.faithful).collect();
        assert!(called.iter().all(|guest| guest.entered == 1), "whoever stayed was let in, once");
        assert!(self.guests.iter().all(|guest| guest.entered <= 1), "nobody twice");
        called.sort_unstable_by_key(|guest| guest.place);
        let mut latest = Moment::MIN;
        for guest in called {
            let at = guest.called_at.expect("it was called");
            // What one node has heard, the others hear within a turn or two; and the one that was replaced knows nobody
            // for a few seconds.
            assert!(at.plus_ms(12_000) >= latest, "place {:?} was called too late", guest.place);
            latest = latest.max(at);
        }
        let steady = &self.full[opening_s.min(self.full.len())..];
        assert!(steady.len() > 30, "it was full for a while");
        let utilisation = steady.iter().sum::<usize>() as f64 / (steady.len() * MAX_ACTIVE) as f64;
        let away = self.guests.iter().filter(|guest| guest.doing == Doing::Away).count();
        println!(
            "{what}: {} visitors on three nodes, {away} never came back, {:.1} % full",
            self.guests.len(),
            utilisation * 100.0
        );
        assert!(away > self.guests.len() / 20, "a run with everybody there proves nothing");
    }
}

async fn run(what: &str, method: Method, opens_s: i64) {
    let house = House::quick();
    let mut sale = Sale::open(&house, "rooms", method, opens_s).await;
    sale.all_join().await;
    for s in 0..5_000 {
        sale.second(s).await;
        if s == 60 {
            sale.replace_a_node().await;
        }
        if sale.is_over() {
            return sale.judge(what, 20);
        }
    }
    panic!("the crowd is never served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_let_a_crowd_in_first_come_first_served() {
    // Everybody is there before the doors open: who comes to an open door at the same moment as others, at another node,
    // may be heard of a turn later than they are.
    run("fifo", Method::Fifo, 30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_let_a_crowd_in_by_one_lot() {
    run("lottery", Method::Lottery, 30).await;
}
