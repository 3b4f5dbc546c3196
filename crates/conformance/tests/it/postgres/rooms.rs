//! Waiting rooms on three nodes that share one PostgreSQL: virtual time, real desks, real rows.
//!
//! The crowd is the one of the engine's own test of a single node: three in ten close the lid while they wait, half of
//! those come back; visits take a minute or two, as buying does; some do not say goodbye. Every guest asks whichever node
//! it is sent to. One node is replaced in the middle, then all of them start again.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use holdfast_domain::{Amendment, Command, HolderId, Moment, OfferId};
use holdfast_engine::{
    admission::waiting_room::{Denied, Method, Mode, Plan, Rooms, Settings, TicketState},
    clock::{Clock, ManualClock},
    ledger::postgres::PostgresLedger,
    strategy::Claiming,
};

use super::{
    goods::{DEADLINE, ask, confirm, fest, held, now, place, sell, ticket},
    house::{House, nodes, settings},
};
use crate::size::setting;

const NODES: usize = 3;
/// How many want every place inside.
const RUSH: usize = 10;
const OPENS_S: i64 = 30;
const SESSION_S: u32 = 150;
/// How long somebody who was called has to come.
const CALL_MS: i64 = 20_000;

/// A node that tells the others of `front` visitors at a time: fewer than there is room for, so that no node can fill the
/// room by what it has heard once.
async fn rooms_on(node: &Arc<PostgresLedger>, clock: &Arc<ManualClock>, front: usize) -> Arc<Rooms> {
    let settings = Settings { front, ..Settings::default() };
    let opened = Rooms::open(node.clone(), node.clone(), clock.clone(), [4; 32], settings);
    opened.await.expect("the rooms open")
}

fn offer() -> OfferId {
    OfferId::new("fest").expect("an id")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Coming,
    Waiting,
    /// Closed the lid.
    Away,
    Inside,
    Gone,
}

struct Guest {
    number: usize,
    holder: HolderId,
    token: String,
    doing: Doing,
    /// When it next does something.
    due: Moment,
    /// When it will close the lid, if it is one of those.
    leaves_at: Option<Moment>,
    /// Never away.
    faithful: bool,
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

/// Seconds from and to, in milliseconds.
fn between(guest: usize, question: u64, from_s: u64, to_s: u64) -> i64 {
    (from_s * 1000 + dice(guest, question) % ((to_s - from_s) * 1000)) as i64
}

impl Guest {
    fn new(number: usize, now: Moment) -> Self {
        // Most are there before the doors open.
        let early = dice(number, 0) % 100 < 80;
        let comes_ms = if early { between(number, 1, 0, 25) } else { between(number, 1, 30, 200) };
        let comes = now.plus_ms(comes_ms);
        let faithful = dice(number, 2) % 100 >= 30;
        Self {
            number,
            holder: HolderId::new(&format!("session_{number}")).expect("a holder"),
            token: String::new(),
            doing: Doing::Coming,
            due: comes,
            leaves_at: (!faithful).then(|| comes.plus_ms(between(number, 3, 1, 300))),
            faithful,
            place: None,
            called_at: None,
            entered: 0,
        }
    }

    /// What this guest does now, at the first of these nodes.
    async fn act(&mut self, nodes: [&Rooms; 2], now: Moment) {
        match self.doing {
            Doing::Coming => self.join(nodes[0], now).await,
            Doing::Waiting if self.leaves_at.is_some_and(|at| at <= now) => self.close_lid(now),
            Doing::Waiting | Doing::Away => self.ask(nodes, now).await,
            Doing::Inside => self.finish(nodes[0]).await,
            Doing::Gone => {}
        }
    }

    async fn join(&mut self, rooms: &Rooms, now: Moment) {
        let given = rooms.join(&offer(), &self.holder, []).await.expect("a ticket");
        self.token = given.token.expect("there is a queue");
        self.wait(given.standing.expect("it waits").retry_after_ms, now);
    }

    fn wait(&mut self, retry_after_ms: u32, now: Moment) {
        self.doing = Doing::Waiting;
        let asks_at = now.plus_ms(i64::from(retry_after_ms));
        self.due = self.leaves_at.map_or(asks_at, |lid| asks_at.min(lid));
    }

    fn close_lid(&mut self, now: Moment) {
        self.leaves_at = None;
        self.doing = Doing::Away;
        let back = dice(self.number, 4).is_multiple_of(2);
        self.due = if back { now.plus_ms(between(self.number, 5, 20, 300)) } else { Moment::MAX };
    }

    /// Asks how far it is, and goes in when it is its turn.
    async fn ask(&mut self, nodes: [&Rooms; 2], now: Moment) {
        let standing = nodes[0].standing(&offer(), &self.holder, [self.token.as_str()]).await;
        let standing = standing.expect("its own ticket").expect("there is a queue");
        self.place = standing.place.or(self.place);
        if standing.state != TicketState::Ready {
            assert_eq!(standing.state, TicketState::Waiting, "{standing:?}");
            return self.wait(standing.retry_after_ms, now);
        }
        self.called_at = standing.until.map(|until| until.plus_ms(-CALL_MS));
        let given = nodes[0].enter(&offer(), &self.holder, [self.token.as_str()]).await.expect("its turn");
        let pass = given.token.expect("a pass");
        for node in nodes {
            assert!(node.admit(&offer(), &self.holder, [pass.as_str()]).await.is_ok(), "it is good at once");
            let thief = HolderId::new("session_thief").expect("a holder");
            assert!(node.admit(&offer(), &thief, [pass.as_str()]).await.is_err(), "and for nobody else");
        }
        self.entered += 1;
        self.doing = Doing::Inside;
        self.due = match self.says_goodbye() {
            true => now.plus_ms(between(self.number, 6, 60, 120)),
            false => now.plus_s(SESSION_S),
        };
    }

    fn says_goodbye(&self) -> bool {
        dice(self.number, 7) % 100 < 85
    }

    /// Who does not say goodbye keeps the place inside until the time is up.
    async fn finish(&mut self, rooms: &Rooms) {
        (self.doing, self.due) = (Doing::Gone, Moment::MAX);
        if !self.says_goodbye() {
            return;
        }
        let token = [self.token.as_str()];
        rooms.leave(&offer(), &self.holder, token).await.expect("one may always leave");
        if self.number.is_multiple_of(8) {
            let again = rooms.enter(&offer(), &self.holder, token).await;
            assert!(matches!(again, Err(Denied::Ended)), "a ticket admits once: {again:?}");
        }
    }
}

struct Sale {
    clock: Arc<ManualClock>,
    ledgers: Vec<Arc<PostgresLedger>>,
    rooms: Vec<Arc<Rooms>>,
    guests: Vec<Guest>,
    max_active: usize,
    /// How many were inside, each second that there were more people than room.
    full: Vec<usize>,
}

impl Sale {
    async fn open(house: &House, method: Method) -> Self {
        let ledgers = nodes(settings(&house.emptied("rooms"), Claiming::Batched), NODES).await;
        sell(&*ledgers[0], fest(1_000_000, 600)).await;
        let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
        let visitors = setting("HOLDFAST_TEST_VISITORS", 4_000) as usize;
        let max_active = visitors / RUSH;
        let mut rooms = Vec::new();
        for ledger in &ledgers {
            rooms.push(rooms_on(ledger, &clock, max_active / 4).await);
        }
        let plan = Plan {
            method,
            max_active: max_active as u32,
            admit_per_minute: None,
            session_s: SESSION_S,
            opens_at_ms: Some(clock.now().plus_ms(OPENS_S * 1000).ms()),
            message: None,
        };
        rooms[0].plan(&offer(), plan).await.expect("a room");
        for node in &rooms {
            while node.board(&offer()).await.expect("a look").is_none() {
                tokio::task::yield_now().await;
            }
        }
        let guests = (0..visitors).map(|number| Guest::new(number, clock.now())).collect();
        Self { clock, ledgers, rooms, guests, max_active, full: Vec::new() }
    }

    /// One second: the guests whose time has come, then a turn at every node.
    async fn second(&mut self, s: i64) {
        self.clock.advance_ms(1000);
        let (now, rooms) = (self.clock.now(), &self.rooms);
        let sent_to = |guest: usize| {
            let node = dice(guest, 100 + s as u64) as usize % NODES;
            [&*rooms[node], &*rooms[(node + 1) % NODES]]
        };
        let due = self.guests.iter_mut().filter(|guest| guest.due <= now);
        join_all(due.map(|guest| guest.act(sent_to(guest.number), now))).await;
        for node in rooms {
            node.turn(&offer()).await.expect("a turn");
        }
        let inside = self.count(Doing::Inside);
        assert!(inside <= self.max_active, "{inside} inside");
        if s > OPENS_S + 20 && self.count(Doing::Waiting) > self.max_active {
            self.full.push(inside);
        }
    }

    fn count(&self, doing: Doing) -> usize {
        self.guests.iter().filter(|guest| guest.doing == doing).count()
    }

    fn is_over(&self) -> bool {
        self.guests.iter().all(|guest| guest.due == Moment::MAX)
    }

    /// These nodes die, and others take their places.
    async fn replace(&mut self, nodes: impl IntoIterator<Item = usize>) {
        for node in nodes {
            self.rooms[node] = rooms_on(&self.ledgers[node], &self.clock, self.max_active / 4).await;
        }
    }

    fn judge(&self, what: &str, took_s: i64) {
        let away = self.count(Doing::Away);
        let once = self.guests.iter().all(|guest| guest.entered == u32::from(guest.doing == Doing::Gone));
        assert!(once, "nobody twice, and whoever was there in the end has been let in");
        assert!(away > self.guests.len() / 12, "{away} away: a run with everybody there proves nothing");
        self.judge_order();
        assert!(self.full.len() > 100, "it was full for a while");
        let utilisation = self.full.iter().sum::<usize>() as f64 / (self.full.len() * self.max_active) as f64;
        println!(
            "{what}: {} visitors on three nodes, at most {} inside: {} let in, {away} never came back, {took_s} seconds, \
             {:.1} % full",
            self.guests.len(),
            self.max_active,
            self.count(Doing::Gone),
            utilisation * 100.0
        );
        assert!(utilisation >= 0.95, "utilisation {utilisation}");
    }

    /// Those who were always there were called in the order of their places, whichever nodes they asked.
    fn judge_order(&self) {
        let mut called: Vec<_> = self.guests.iter().filter(|guest| guest.faithful).collect();
        called.sort_unstable_by_key(|guest| guest.place);
        let mut latest = (Moment::MIN, None);
        for guest in called {
            let at = guest.called_at.expect("it was called");
            // What one node has heard, the others hear within a turn or two; and one that has just started knows nobody
            // for a few seconds.
            let (last, place) = latest;
            assert!(
                at.plus_ms(12_000) >= last,
                "place {place:?} was called at {last}, {:?} at {at}",
                guest.place
            );
            latest = latest.max((at, guest.place));
        }
    }
}

/// A node that says nothing for four seconds has gone. PostgreSQL's seconds are not the crowd's, of which a hundred may
/// pass in one of them; so four seconds of theirs after some were replaced, those that are gone are taken for gone.
const GONE: &str = "DELETE FROM holdfast.room_fronts WHERE node NOT IN
    (SELECT node FROM holdfast.room_fronts ORDER BY seen_at DESC LIMIT 3) RETURNING node";

async fn run(what: &str, method: Method) {
    let house = House::quick();
    let mut sale = Sale::open(&house, method).await;
    for s in 1..5_000 {
        sale.second(s).await;
        match s - OPENS_S {
            200 => sale.replace([2]).await,
            400 => sale.replace(0..NODES).await,
            204 | 404 => drop(house.one("rooms", GONE)),
            _ => {}
        }
        if sale.is_over() {
            return sale.judge(what, s);
        }
    }
    panic!("the crowd is never served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_let_a_crowd_in_first_come_first_served() {
    run("fifo", Method::Fifo).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_let_a_crowd_in_by_one_lot() {
    run("lottery", Method::Lottery).await;
}

/// Whoever asks all nodes at once, without showing what they have, has one ticket; and leaving before the draw does not
/// make it two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_has_one_ticket_at_three_nodes() {
    let house = House::quick();
    let mut sale = Sale::open(&house, Method::Lottery).await;
    let fest = offer();
    let session = HolderId::new("session_of_many_tabs").expect("a holder");
    let asks = (0..30).map(|n| sale.rooms[n % NODES].join(&fest, &session, []));
    let given: Vec<_> = join_all(asks).await.into_iter().map(|given| given.expect("a ticket")).collect();
    assert!(given.iter().all(|one| one.token == given[0].token), "{given:?}");
    assert_eq!(given.iter().filter(|one| one.fresh).count(), 1, "given once");
    sale.replace(0..NODES).await;
    for node in &sale.rooms {
        node.leave(&fest, &session, []).await.expect("one may always leave");
        let again = node.join(&fest, &session, []).await.expect("the same");
        assert_eq!((again.token, again.fresh), (given[0].token.clone(), false));
    }
    assert_eq!(house.one("rooms", "SELECT count(*) FROM holdfast.room_tickets"), "1");

    // After the draw what is given up is gone, at every node.
    sale.clock.advance_ms(OPENS_S * 1000);
    sale.rooms[0].turn(&fest).await.expect("a turn");
    sale.rooms[1].leave(&fest, &session, []).await.expect("one may always leave");
    let anew = sale.rooms[2].join(&fest, &session, []).await.expect("another");
    assert_eq!((anew.standing.expect("it waits").number, anew.fresh), (2, true));
    let mine = given[0].token.as_deref().expect("a token");
    let before = sale.rooms[2].standing(&fest, &session, [mine]).await.expect("its own").expect("a queue");
    assert_eq!(before.state, TicketState::Ended, "never two that are good");
}

/// A node that has just started calls nobody yet, but whoever has asked it is there, and the others must know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_ask_a_node_that_has_just_started_are_not_passed_over() {
    let house = House::quick();
    let ledgers = nodes(settings(&house.emptied("rooms"), Claiming::Batched), 2).await;
    sell(&*ledgers[0], fest(1_000, 600)).await;
    let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
    let one = rooms_on(&ledgers[0], &clock, 10).await;
    let plan = Plan {
        method: Method::Fifo,
        max_active: 1,
        admit_per_minute: None,
        session_s: SESSION_S,
        opens_at_ms: None,
        message: None,
    };
    let fest = offer();
    one.plan(&fest, plan).await.expect("a room");
    one.set_mode(&fest, Mode::Paused).await.expect("a pause");
    let [alice, bob] = ["alice", "bob"].map(|name| HolderId::new(name).expect("a holder"));
    let first = one.join(&fest, &alice, []).await.expect("a ticket").token.expect("a queue");
    let second = one.join(&fest, &bob, []).await.expect("a ticket").token.expect("a queue");
    drop(one);
    house.one(
        "rooms",
        "WITH gone AS (DELETE FROM holdfast.room_fronts RETURNING 1) SELECT count(*) FROM gone",
    );
    // It has been up for long when the other starts.
    let one = rooms_on(&ledgers[0], &clock, 10).await;
    clock.advance_ms(8_000);
    let other = rooms_on(&ledgers[1], &clock, 10).await;
    other.standing(&fest, &alice, [first.as_str()]).await.expect("its own ticket");
    one.standing(&fest, &bob, [second.as_str()]).await.expect("its own ticket");
    other.set_mode(&fest, Mode::Running).await.expect("it goes on");
    one.turn(&fest).await.expect("a turn");
    one.turn(&fest).await.expect("a turn");
    let states =
        [(&alice, &first), (&bob, &second)].map(|(who, token)| one.standing(&fest, who, [token.as_str()]));
    let states = join_all(states)
        .await
        .into_iter()
        .map(|standing| standing.expect("a ticket").expect("a queue").state);
    assert_eq!(states.collect::<Vec<_>>(), [TicketState::Ready, TicketState::Waiting]);
}

/// The room's row as it lies there, who locked it last included, and when anybody told who waits.
const UNTOUCHED: &str = "SELECT concat_ws(' ', ctid, xmin, xmax, changed_at,
    (SELECT max(seen_at) FROM holdfast.room_fronts)) FROM holdfast.rooms";
/// How often the nodes have asked which rooms have changed.
const LOOKED: &str = "SELECT coalesce(sum(seq_scan), 0) FROM pg_stat_user_tables WHERE relname = 'rooms'";

/// Waits until the nodes have looked around many times.
async fn for_a_while(house: &House) {
    let looked = || house.one("rooms", LOOKED).parse::<u64>().expect("a number");
    let before = looked();
    while looked() < before + 30 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A room where nobody is costs its nodes no lock and no write; and wakes for whoever comes, at whichever node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_where_nobody_is_rests() {
    let house = House::quick();
    let ledgers = nodes(settings(&house.emptied("rooms"), Claiming::Batched), NODES).await;
    sell(&*ledgers[0], fest(1, 600)).await;
    let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
    let quick = Settings { turn_every: Duration::from_millis(20), ..Settings::default() };
    let mut rooms = Vec::new();
    for node in &ledgers {
        let opened = Rooms::open(node.clone(), node.clone(), clock.clone(), [4; 32], quick.clone());
        rooms.push(opened.await.expect("the rooms open"));
    }
    let opens_at_ms = Some(clock.now().plus_ms(10_000).ms());
    let plan = Plan {
        method: Method::Lottery,
        max_active: 1,
        admit_per_minute: None,
        session_s: SESSION_S,
        opens_at_ms,
        message: None,
    };
    rooms[0].plan(&offer(), plan).await.expect("a room");
    let board = async |node: usize| loop {
        if let Some(board) = rooms[node].board(&offer()).await.expect("a look") {
            break board;
        }
        tokio::task::yield_now().await;
    };
    for node in 0..NODES {
        board(node).await;
    }
    for_a_while(&house).await;
    let before = house.one("rooms", UNTOUCHED);
    for_a_while(&house).await;
    assert_eq!(house.one("rooms", UNTOUCHED), before, "nobody was there");

    // The lots are drawn when it is time, and what one node does the others see.
    clock.advance_ms(10_000);
    for node in 0..NODES {
        while board(node).await.lottery.expect("a lottery").drawn.is_none() {
            tokio::task::yield_now().await;
        }
    }
    rooms[0].set_mode(&offer(), Mode::Paused).await.expect("a change");
    while board(2).await.mode != Mode::Paused {
        tokio::task::yield_now().await;
    }
    rooms[2].set_mode(&offer(), Mode::Running).await.expect("a change");
    for_a_while(&house).await;
    let before = house.one("rooms", UNTOUCHED);
    for_a_while(&house).await;
    assert_eq!(house.one("rooms", UNTOUCHED), before, "and nobody was there again");

    // Whoever comes is let in, by the node that they ask. Once they have gone the others are told so, once.
    clock.advance_ms(10_000);
    let guest = HolderId::new("session_late").expect("a holder");
    let token = rooms[1].join(&offer(), &guest, []).await.expect("a ticket").token.expect("a queue");
    let standing = async || {
        let standing = rooms[1].standing(&offer(), &guest, [token.as_str()]).await;
        standing.expect("its own ticket").expect("there is a queue").state
    };
    while standing().await != TicketState::Ready {
        tokio::task::yield_now().await;
    }
    rooms[1].enter(&offer(), &guest, [token.as_str()]).await.expect("its turn");
    for_a_while(&house).await;
    let before = house.one("rooms", UNTOUCHED);
    let told = "SELECT count(*) FROM holdfast.room_fronts WHERE places <> '\\xffffffff'";
    assert_eq!(house.one("rooms", told), "0", "nobody waits any more");

    // What is left to sell is known without a write.
    let last = ask(&*ledgers[0], place("alice", vec![ticket()])).await.expect("an answer");
    ask(&*ledgers[0], confirm(held(&last).expect("the last one"))).await.expect("an answer");
    for node in 0..NODES {
        while board(node).await.sellable != Some(0) {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(house.one("rooms", UNTOUCHED), before, "though somebody is inside");
}

/// When the sale has been over for a day, nobody needs to know whose ticket was which.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_of_a_sale_that_is_over_are_forgotten() {
    let house = House::quick();
    let ledgers = nodes(settings(&house.emptied("rooms"), Claiming::Batched), 1).await;
    sell(&*ledgers[0], fest(10, 600)).await;
    let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
    let rooms = rooms_on(&ledgers[0], &clock, 10).await;
    let plan = Plan {
        method: Method::Fifo,
        max_active: 1,
        admit_per_minute: None,
        session_s: SESSION_S,
        opens_at_ms: None,
        message: None,
    };
    rooms.plan(&offer(), plan).await.expect("a room");
    rooms.join(&offer(), &HolderId::new("session_1").expect("a holder"), []).await.expect("a ticket");
    let tickets = || house.one("rooms", "SELECT count(*) FROM holdfast.room_tickets");
    assert_eq!(tickets(), "1");
    let closed = Amendment { closes_at: Some(Some(clock.now().plus_ms(1_000))), ..Amendment::default() };
    sell(&*ledgers[0], Command::AmendOffer { offer: offer(), amendment: closed }).await;
    clock.advance_ms(24 * 3600 * 1000 + 2_000);
    while tickets() != "0" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Said by a node that is gone, before PostgreSQL's clock was set back an hour: that it has the first place and knows of
/// nobody behind it.
const FROM_THE_FUTURE: &str = "INSERT INTO holdfast.room_fronts
    VALUES ('fest', 'gone', '\\x00000000', clock_timestamp() + interval '1 hour')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_said_before_the_clock_was_set_back_holds_nobody_up() {
    let house = House::quick();
    let ledgers = nodes(settings(&house.emptied("rooms"), Claiming::Batched), 1).await;
    sell(&*ledgers[0], fest(10, 600)).await;
    let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
    let rooms = rooms_on(&ledgers[0], &clock, 10).await;
    let plan = Plan {
        method: Method::Fifo,
        max_active: 10,
        admit_per_minute: None,
        session_s: SESSION_S,
        opens_at_ms: None,
        message: None,
    };
    rooms.plan(&offer(), plan).await.expect("a room");
    house.server.ask("rooms", FROM_THE_FUTURE).expect("a front");
    let guests = ["session_1", "session_2", "session_3"].map(|name| HolderId::new(name).expect("a holder"));
    let mut tokens = Vec::new();
    for guest in &guests {
        tokens.push(rooms.join(&offer(), guest, []).await.expect("a ticket").token.expect("a queue"));
    }
    let began = now();
    for (guest, token) in guests.iter().zip(&tokens) {
        while rooms
            .standing(&offer(), guest, [token.as_str()])
            .await
            .expect("its own")
            .expect("a queue")
            .state
            != TicketState::Ready
        {
            assert!(began.elapsed() < 2 * DEADLINE, "{guest} waits for somebody who is not there");
            clock.advance_ms(100);
            rooms.turn(&offer()).await.expect("a turn");
        }
    }
}
