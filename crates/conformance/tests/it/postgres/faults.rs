//! PostgreSQL hurt in the middle of a sale: killed, paused, answers lost, no connection left, a pooler in between.
//! Nothing that was acknowledged is lost, whoever was left without an answer learns it by the same key, nobody hangs.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use holdfast_conformance::{histories::Dice, live::Live, subject::render};
use holdfast_domain::{BookingId, Command, HoldId, IntentId, OfferId};
use holdfast_engine::{
    gate::GateBooks as _,
    ledger::{BookingFilter, Ledger, LedgerError, Outcome, PageRequest, Reply, postgres::PostgresLedger},
    mint,
    outbox::live_map::{self, Frame, LiveMap},
    strategy::Claiming,
};
use holdfast_rigs::{FaultProxy, Mode, PgBouncer};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    EVERY_WAY,
    goods::{DEADLINE, ask, ask_as, confirm, fest, hall, held, key, now, place, request, seat, sell, ticket},
    house::{House, nodes, settings, settings_with},
};
use crate::{
    size::{seed, setting},
    stalls::Stalls,
    stories::{START, tell_all},
};

const DATABASE: &str = "books";
/// The deadline, and what a busy machine may need to say so. Whoever waited for PostgreSQL would wait for good.
const AT_MOST: Duration = DEADLINE.saturating_add(Duration::from_secs(5));
/// From when PostgreSQL accepts again to the first sale.
const SOON: Duration = Duration::from_secs(2);

/// What became of all requests.
#[derive(Debug, Default)]
struct Log {
    acknowledged: Mutex<BTreeSet<BookingId>>,
    unavailable: AtomicU32,
    overloaded: AtomicU32,
    unknown: AtomicU32,
    slowest_ms: AtomicU32,
    over: AtomicBool,
    /// Told at every booking.
    sold: Notify,
}

impl Log {
    /// Asks with a key until there is an answer; says no more than what came of it.
    async fn settle(&self, node: &dyn Ledger, name: &str, command: Command) -> Reply {
        loop {
            let began = now();
            let told = ask_as(node, name, command.clone()).await;
            self.slowest_ms.fetch_max(began.elapsed().as_millis() as u32, Ordering::Relaxed);
            match told {
                Ok(reply) => return reply,
                Err(LedgerError::Unavailable(_)) => self.unavailable.fetch_add(1, Ordering::Relaxed),
                Err(LedgerError::OutcomeUnknown(_)) => self.unknown.fetch_add(1, Ordering::Relaxed),
                Err(LedgerError::Overloaded) => self.overloaded.fetch_add(1, Ordering::Relaxed),
                Err(error) => panic!("{error}"),
            };
            // As a client told "503, Retry-After" does.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// One buyer after another: a ticket held and booked, each step with a key of its own.
    async fn buy(self: Arc<Self>, node: Arc<PostgresLedger>, clerk: usize) {
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let name = format!("{clerk}-{turn}");
            let (hold, booking) = (mint::hold_id(), mint::booking_id());
            let holder = holdfast_domain::HolderId::new(&name).expect("a holder");
            let place = Command::PlaceHold { hold, holder, asks: vec![ticket()] };
            self.settle(&*node, &format!("hold-{name}"), place).await;
            self.confirm(&node, &name, hold, booking).await;
        }
    }

    async fn confirm(&self, node: &PostgresLedger, name: &str, hold: HoldId, booking: BookingId) {
        let reply = self.settle(node, &format!("book-{name}"), Command::Confirm { booking, hold }).await;
        assert!(matches!(reply, Reply::Done(Outcome::Confirmed(_)) | Reply::Replayed(_)), "{reply:?}");
        self.acknowledged.lock().insert(booking);
        self.sold.notify_waiters();
    }
}

async fn every_booking(node: &dyn Ledger) -> BTreeSet<BookingId> {
    let (mut found, mut after) = (BTreeSet::new(), None);
    loop {
        let page = PageRequest { after, limit: 1000 };
        let page = node.bookings(BookingFilter::default(), page).await.expect("bookings");
        found.extend(page.data.iter().map(|view| view.booking.id));
        match page.next {
            Some(next) => after = Some(next),
            None => return found,
        }
    }
}

/// Kills it whole, under load, again and again; between two kills a random number of sales, at least one.
async fn kills(claiming: Claiming, kills: u64) {
    let mut house = House::durable();
    let url = house.emptied(DATABASE);
    let nodes = nodes(settings(&url, claiming), 2).await;
    sell(&*nodes[0], fest(1_000_000, 3600)).await;
    let log = Arc::new(Log::default());
    let clerks: Vec<_> = (0..8)
        .map(|clerk| tokio::spawn(Arc::clone(&log).buy(Arc::clone(&nodes[clerk % 2]), clerk)))
        .collect();
    let stalls = Stalls::watch();
    let mut slowest = Duration::ZERO;
    let mut dice = Dice::from_seed(seed("kills of PostgreSQL"));
    for _ in 0..kills {
        for _ in 0..=dice.below(40) {
            log.sold.notified().await;
        }
        house = tokio::task::spawn_blocking(move || {
            house.server.kill().expect("killed");
            house.server.start_again().expect("started again");
            house
        })
        .await
        .expect("no panic");
        let began = now();
        let sold = tokio::time::timeout(Duration::from_secs(30), log.sold.notified()).await;
        sold.expect("a sale after the kill");
        slowest = slowest.max(began.elapsed());
    }
    log.over.store(true, Ordering::Relaxed);
    for clerk in clerks {
        clerk.await.expect("no panic");
    }
    let acknowledged = log.acknowledged.lock().clone();
    let found = every_booking(&*nodes[1]).await;
    println!(
        "{claiming:?}: {kills} kills, {} booked, {} unavailable, {} unknown, {} overloaded; slowest answer {} ms, \
         first sale after at most {slowest:?}",
        acknowledged.len(),
        log.unavailable.load(Ordering::Relaxed),
        log.unknown.load(Ordering::Relaxed),
        log.overloaded.load(Ordering::Relaxed),
        log.slowest_ms.load(Ordering::Relaxed),
    );
    assert_eq!(acknowledged, found, "everything that was acknowledged, and nothing else");
    let holds = house.one(DATABASE, "SELECT count(*) FROM holdfast.holds");
    assert_eq!(holds, found.len().to_string(), "every key had one effect");
    assert!(Duration::from_millis(log.slowest_ms.load(Ordering::Relaxed).into()) < AT_MOST);
    assert!(slowest < SOON + stalls.longest(), "{slowest:?}");
    assert!(log.unavailable.load(Ordering::Relaxed) > 0, "a run that saw no outage proves nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_under_load_it_loses_nothing_that_was_acknowledged() {
    let times = setting("HOLDFAST_TEST_KILLS", 5);
    kills(Claiming::Batched, times).await;
    kills(Claiming::Atomic, times.div_ceil(3)).await;
}

/// It was done, and nobody heard: the outcome is unknown, and the same key tells it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_commit_reply_is_unknown_and_the_same_key_replays_it() {
    let house = House::quick();
    let proxy = FaultProxy::start(house.server.address()).await.expect("a proxy");
    for claiming in EVERY_WAY {
        house.emptied(DATABASE);
        let mut settings = settings(&house.server.url_through(proxy.address(), DATABASE), claiming);
        settings.limits.tidy_every = None;
        let node = nodes(settings, 1).await.remove(0);
        sell(&*node, hall(600)).await;
        let lost = proxy.counts().lost;
        // With the end of the statement: every BEGIN says READ COMMITTED.
        proxy.set(Mode::lose_reply_to("COMMIT\0"));
        let told = ask_as(&*node, "once", place("alice", vec![seat("A-1")])).await;
        assert!(matches!(told, Err(LedgerError::OutcomeUnknown(_))), "{claiming:?}: {told:?}");
        assert_eq!(proxy.counts().lost, lost + 1);
        proxy.set(Mode::Pass);
        let told = ask_as(&*node, "once", place("alice", vec![seat("A-1")])).await;
        assert!(matches!(told, Ok(Reply::Replayed(_))), "{claiming:?}: {told:?}");
        assert_eq!(house.one(DATABASE, "SELECT count(*) FROM holdfast.holds"), "1", "{claiming:?}");
    }
}

/// With the reply the node loses its copy, and nobody can say what became of the seats in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_commit_reply_whoever_watches_looks_again() {
    let house = House::quick();
    let proxy = FaultProxy::start(house.server.address()).await.expect("a proxy");
    house.emptied(DATABASE);
    let url = house.server.url_through(proxy.address(), DATABASE);
    let node = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let map = LiveMap::new(Arc::clone(&node) as Arc<dyn Ledger>, live_map::Settings::default());
    tokio::spawn(Arc::clone(&map).run());
    let hall = OfferId::new("hall").expect("an id");
    let mut seats = map.subscribe(&hall, None).await.expect("an answer").expect("a map");
    ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
    assert!(matches!(seats.next().await, Some(Frame::Delta { .. })));
    proxy.set(Mode::lose_reply_to("COMMIT\0"));
    let told = ask(&*node, place("bob", vec![seat("A-2")])).await;
    assert!(matches!(told, Err(LedgerError::OutcomeUnknown(_))), "{told:?}");
    proxy.set(Mode::Pass);
    let told = tokio::time::timeout(DEADLINE, seats.next()).await.expect("a word in time");
    let at = node.offer(&hall).await.expect("an answer").expect("the hall").version;
    assert_eq!(told, Some(Frame::Reset { version: at }));
}

/// The copy is thrown away while PostgreSQL is far away: everybody loses patience with the load, and none of them makes
/// it begin again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_that_outlasts_all_patience_comes_to_its_end() {
    let house = House::quick();
    let proxy = FaultProxy::start(house.server.address()).await.expect("a proxy");
    house.emptied(DATABASE);
    let mut settings = settings(&house.server.url_through(proxy.address(), DATABASE), Claiming::Batched);
    settings.connecting.connect_timeout = DEADLINE;
    settings.limits.read_patience = Duration::from_millis(300);
    settings.limits.attempts = 1;
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let rule = "ALTER TABLE holdfast.holds ADD CONSTRAINT no_mallory CHECK (holder <> 'mallory')";
    house.server.ask(DATABASE, rule).expect("a rule that the model does not know");
    proxy.set(Mode::Delay(Duration::from_millis(100)));
    let told = ask(&*node, place("mallory", vec![seat("A-1")])).await;
    assert!(matches!(told, Err(LedgerError::Overloaded)), "{told:?}");
    let (began, accepted) = (now(), proxy.counts().accepted);
    let hall = OfferId::new("hall").expect("an id");
    let mut impatient = 0;
    while node.offer(&hall).await.is_err() || !node.health().await.ready {
        impatient += 1;
        assert!(began.elapsed() < Duration::from_secs(20), "it loads and loads");
    }
    println!("{impatient} lost patience, loaded after {:?}", began.elapsed());
    assert!(impatient > 0, "a load that is quick proves nothing");
    assert!(proxy.counts().accepted <= accepted + 2, "connections are not closed for taking long");
    proxy.set(Mode::Pass);
    let reply = ask(&*node, place("bob", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
}

/// Silence instead of an answer, for five seconds: everybody is told in time, and afterwards it sells again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paused_it_keeps_nobody_waiting_beyond_the_deadline() {
    let house = House::quick();
    for claiming in [Claiming::Batched, Claiming::Pessimistic] {
        let node = nodes(settings(&house.emptied(DATABASE), claiming), 1).await.remove(0);
        sell(&*node, hall(600)).await;
        house.server.pause().expect("paused");
        let began = now();
        let asks =
            (1..=20).map(|at| {
                let node = &node;
                async move {
                    ask_as(&**node, &format!("k{at}"), place("alice", vec![seat(&format!("A-{at}"))])).await
                }
            });
        let told = futures::future::join_all(asks).await;
        let waited = began.elapsed();
        let rest = Duration::from_secs(5).saturating_sub(waited);
        tokio::time::sleep(rest).await;
        house.server.resume().expect("resumed");
        println!("{claiming:?}: all answered within {waited:?}");
        assert!(told.iter().all(Result::is_err), "{claiming:?}: {told:?}");
        assert!(waited < AT_MOST, "{claiming:?}: {waited:?}");
        let began = now();
        for at in 1..=20 {
            let name = format!("k{at}");
            let reply = loop {
                match ask_as(&*node, &name, place("alice", vec![seat(&format!("A-{at}"))])).await {
                    Ok(reply) => break reply,
                    Err(_) if began.elapsed() < AT_MOST => tokio::task::yield_now().await,
                    Err(error) => panic!("{claiming:?}: {error}"),
                }
            };
            assert!(held(&reply).is_some() || matches!(reply, Reply::Replayed(_)), "{claiming:?}: {reply:?}");
        }
        println!("{claiming:?}: all resolved {:?} after it went on", began.elapsed());
        assert_eq!(house.one(DATABASE, "SELECT count(*) FROM holdfast.holds"), "20", "{claiming:?}");
    }
}

/// A command that panics halfway, its effect already in the copy: nothing of it is true, and nobody else notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_leaves_nothing_behind_and_the_ledger_goes_on() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        let broken = Arc::new(AtomicBool::new(true));
        let (is_broken, sound) = (Arc::clone(&broken), render());
        let words = Arc::new(move |outcome: &Outcome| {
            let is_hold = matches!(outcome, Outcome::Held { .. });
            assert!(!(is_hold && is_broken.load(Ordering::Relaxed)), "no words for it (as planned)");
            sound(outcome)
        });
        let node = nodes(settings_with(&house.emptied(DATABASE), claiming, words), 1).await.remove(0);
        sell(&*node, hall(600)).await;
        let asker = Arc::clone(&node);
        let told =
            tokio::spawn(async move { ask_as(&*asker, "once", place("alice", vec![seat("A-1")])).await });
        // Where the asker itself does the work, the panic is its own.
        let told = told.await;
        assert!(!matches!(told, Ok(Ok(_))), "{claiming:?}: {told:?}");
        broken.store(false, Ordering::Relaxed);
        let reply = ask(&*node, place("bob", vec![seat("A-1")])).await.expect("an answer");
        assert!(held(&reply).is_some(), "{claiming:?}: {reply:?}");
        assert_eq!(house.one(DATABASE, "SELECT count(*) FROM holdfast.holds"), "1", "{claiming:?}");
    }
}

/// With every ordinary connection taken, whoever has something at stake still gets through, and the others are sent
/// away at their deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_no_connection_left_a_confirm_still_gets_through() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = settings(&url, Claiming::Pessimistic);
    settings.connecting.connections = 2;
    settings.limits.tidy_every = None;
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(600)).await;
    sell(&*node, fest(100, 600)).await;
    let reply = ask(&*node, place("alice", vec![ticket()])).await.expect("an answer");
    let hold = held(&reply).expect("a ticket");
    ask(&*node, place("alice", vec![seat("B-1")])).await.expect("an answer");
    let (owner, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    let lock = "BEGIN; SELECT 1 FROM holdfast.units WHERE offer_id = 'hall' FOR UPDATE";
    owner.batch_execute(lock).await.expect("the hall is busy");
    let waiting: Vec<_> = (0..8)
        .map(|at| {
            let node = Arc::clone(&node);
            let mut request = request(place(&format!("buyer-{at}"), vec![seat("A-1")]), None);
            request.deadline = now() + Duration::from_secs(2);
            tokio::spawn(async move { node.execute(request).await })
        })
        .collect();
    let busy = "SELECT count(*) >= 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while house.one(DATABASE, busy) != "t" {
        tokio::task::yield_now().await;
    }
    let began = now();
    let reply = ask(&*node, confirm(hold)).await.expect("an answer");
    assert!(matches!(reply, Reply::Done(Outcome::Confirmed(_))), "{reply:?}");
    // A gate that could not ask would step aside, and send the crowd here.
    node.epoch().await.expect("an epoch");
    assert!(!node.answered(&key("never used")).await.expect("an answer"));
    // Whoever confirms shows a key, and somebody looks after what is being paid.
    assert!(node.find_key("abcdefghijkl").await.expect("an answer").is_none());
    assert!(node.payments_due(10, DEADLINE).await.expect("an answer").is_empty());
    let of_intent = BookingFilter { intent: IntentId::new("pi_1").ok(), ..BookingFilter::default() };
    let page = node.bookings(of_intent, PageRequest { after: None, limit: 1 }).await;
    assert!(page.expect("an answer").data.is_empty());
    // The same hold again, by a key that was not used before: a no that a key is looked up for.
    let told = ask_as(&*node, "again", confirm(hold)).await;
    assert!(matches!(told, Ok(Reply::Refused(_))), "{told:?}");
    // A no without a key needs no connection.
    let told = ask(&*node, place("bob", vec![seat("B-1")])).await;
    assert!(matches!(told, Ok(Reply::Refused(_))), "{told:?}");
    println!("a confirm past a full pool: {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    for told in waiting {
        let told = told.await.expect("no panic");
        assert!(matches!(told, Err(LedgerError::Overloaded)), "nothing of it was committed: {told:?}");
    }
    owner.batch_execute("ROLLBACK").await.expect("the hall is free");
    let reply = ask(&*node, place("bob", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "nobody who was sent away left anything behind: {reply:?}");
}

/// Behind a batch that cannot go on. Whoever was in it does not know what becomes of it; whoever only stood in the line is
/// told that nothing happened, and nothing does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_waited_is_told_that_nothing_happened() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = settings(&url, Claiming::Batched);
    settings.limits.batches = 1;
    settings.limits.tidy_every = None;
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let (owner, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    owner.batch_execute("BEGIN; LOCK TABLE holdfast.offers").await.expect("nobody can look at an offer");
    let ask_for = |row: &str, patience_ms| {
        let (node, name) = (Arc::clone(&node), format!("row-{row}"));
        let mut request = request(place(&name, vec![seat(&format!("{row}-1"))]), Some(key(&name)));
        request.deadline = now() + Duration::from_millis(patience_ms);
        tokio::spawn(async move { node.execute(request).await })
    };
    let begun = ask_for("A", 1500);
    let busy = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while house.one(DATABASE, busy) != "t" {
        tokio::task::yield_now().await;
    }
    let waited = ask_for("B", 200).await.expect("no panic");
    assert!(matches!(waited, Err(LedgerError::Overloaded)), "{waited:?}");
    let begun = begun.await.expect("no panic");
    assert!(matches!(begun, Err(LedgerError::OutcomeUnknown(_))), "{begun:?}");
    owner.batch_execute("ROLLBACK").await.expect("all can look again");
    let reply = ask(&*node, place("carol", vec![seat("C-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    let holders = "SELECT string_agg(holder, ' ' ORDER BY holder) FROM holdfast.holds";
    assert_eq!(
        house.one(DATABASE, holders),
        "carol row-A",
        "who did not know is in, who was sent away is not"
    );
}

/// Locks are waited for, and then one looks: a transaction that still saw what was there before the wait would look in
/// vain. So it must not matter what the role's default is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_wants_one_view_a_transaction_is_not_heard() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    drop(nodes(settings(&url, Claiming::Batched), 1).await);
    for rule in [
        "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'repeatable read'",
        "CREATE FUNCTION holdfast.looks_again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF current_setting('transaction_isolation') <> 'read committed' THEN
                 RAISE EXCEPTION '% sees the past', current_setting('transaction_isolation');
             END IF;
             RETURN NEW;
         END $$",
        "CREATE TRIGGER looks_again BEFORE INSERT ON holdfast.holds
         FOR EACH ROW EXECUTE FUNCTION holdfast.looks_again()",
    ] {
        house.server.ask(DATABASE, rule).expect("a rule");
    }
    assert_eq!(house.one(DATABASE, "SHOW default_transaction_isolation"), "repeatable read");
    for claiming in EVERY_WAY {
        let nodes = nodes(settings(&house.emptied(DATABASE), claiming), 2).await;
        sell(&*nodes[0], hall(600)).await;
        let asks = (0..16).map(|at| {
            let node = &nodes[at % 2];
            async move { ask(&**node, place(&format!("buyer-{at}"), vec![seat("A-1")])).await }
        });
        let told = futures::future::join_all(asks).await;
        let won = told.iter().filter(|told| told.as_ref().is_ok_and(|reply| held(reply).is_some()));
        assert_eq!(won.count(), 1, "{claiming:?}: {told:?}");
    }
}

/// In transaction mode a client finds itself on another connection after every transaction.
#[test]
fn through_pgbouncer_every_story_is_told() {
    let house = House::quick();
    let bouncer = PgBouncer::start(&house.server).expect("a pgbouncer");
    for claiming in [Claiming::Batched, Claiming::Atomic] {
        tell_all(|| {
            house.emptied(DATABASE);
            Box::new(Live::postgres_by_transaction(bouncer.url_for(DATABASE), claiming, START))
        });
    }
}
