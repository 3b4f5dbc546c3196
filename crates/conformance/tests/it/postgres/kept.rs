//! An offer that somebody keeps: a node that vanished with its lock, or one that is busier than we are. Whatever concerns
//! other offers goes on, and what ran out is written down all the same.

use std::{fs, sync::Arc, time::Duration};

use holdfast_engine::{
    ledger::{BookingFilter, Ledger as _, LedgerError, Outcome, PageRequest, Reply, postgres::Settings},
    strategy::Claiming,
};
use holdfast_rigs::{FaultProxy, Mode};
use tokio_postgres::Client;

use super::{
    goods::{DEADLINE, ask, ask_as, confirm, fest, hall, held, now, place, request, seat, sell, ticket},
    house::{House, nodes, settings},
};

const DATABASE: &str = "books";
/// The lock under which every node settles what concerns the hall.
const KEEP_HALL: &str = "BEGIN; SELECT pg_advisory_xact_lock(
    ('x' || left(encode(sha256('hall'), 'hex'), 16))::bit(64)::bigint)";
const SOMEBODY_WAITS: &str = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

/// One batch at a time, so that what is asked while it waits goes together.
fn by_one_batch(url: &str) -> Settings {
    let mut settings = settings(url, Claiming::Batched);
    settings.limits.batches = 1;
    settings.limits.tidy_every = None;
    settings
}

/// Somebody else in the same database, who said this.
async fn somebody(url: &str, said: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client.batch_execute(said).await.expect("it is as they say");
    client
}

async fn until(house: &House, is_so: &str) {
    let began = now();
    while house.one(DATABASE, is_so) != "t" {
        assert!(began.elapsed() < 2 * DEADLINE, "never: {is_so}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offer_that_somebody_keeps_keeps_nobody_else_waiting() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = by_one_batch(&url);
    settings.connecting.lock_timeout = Duration::from_millis(300);
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(600)).await;
    sell(&*node, fest(100, 600)).await;
    let reply = ask(&*node, place("alice", vec![ticket()])).await.expect("an answer");
    let hold = held(&reply).expect("a ticket");
    let keeper = somebody(&url, KEEP_HALL).await;
    let seated = |holder, key| {
        let (node, mut request) = (Arc::clone(&node), request(place(holder, vec![seat(key)]), None));
        request.deadline = now() + Duration::from_secs(2);
        async move { node.execute(request).await }
    };
    let waiting = tokio::spawn(seated("bob", "A-1"));
    until(&house, SOMEBODY_WAITS).await;
    let (booked, seated) = tokio::join!(ask(&*node, confirm(hold)), seated("carol", "A-2"));
    assert!(matches!(booked, Ok(Reply::Done(Outcome::Confirmed(_)))), "{booked:?}");
    for told in [waiting.await.expect("no panic"), seated] {
        assert!(matches!(told, Err(LedgerError::Overloaded | LedgerError::OutcomeUnknown(_))), "{told:?}");
    }
    keeper.batch_execute("ROLLBACK").await.expect("the hall is free");
    let reply = ask(&*node, place("dave", vec![seat("A-3")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_late_is_not_tried_again() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = by_one_batch(&url);
    settings.connecting.lock_timeout = Duration::from_millis(100);
    settings.limits.attempts = 1_000;
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(600)).await;
    sell(&*node, fest(100, 600)).await;
    let seats = "BEGIN; SELECT 1 FROM holdfast.units WHERE offer_id = 'hall' FOR UPDATE";
    let _owner = somebody(&url, seats).await;
    let mut late = request(place("alice", vec![seat("A-1")]), None);
    late.deadline = now() + Duration::from_millis(300);
    node.execute(late).await.expect_err("nobody can have a seat");
    let reply = ask(&*node, place("bob", vec![ticket()])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
}

/// Its backend waits for the lock when the node's machine loses power, gets it, and answers nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_vanished_node_began_ends_by_itself() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let proxy = FaultProxy::start(house.server.address()).await.expect("a proxy");
    let mut settings = by_one_batch(&house.server.url_through(proxy.address(), DATABASE));
    settings.connecting.idle_timeout = Duration::from_millis(500);
    (settings.connecting.lock_timeout, settings.connecting.statement_timeout) = (2 * DEADLINE, 2 * DEADLINE);
    let vanishing = nodes(settings.clone(), 1).await.remove(0);
    settings.connecting.url.clone_from(&url);
    let survivor = nodes(settings, 1).await.remove(0);
    sell(&*survivor, hall(600)).await;
    vanishing.offer(&holdfast_domain::OfferId::new("hall").expect("an id")).await.expect("it has followed");
    let keeper = somebody(&url, KEEP_HALL).await;
    let unheard = tokio::spawn(async move { ask(&*vanishing, place("alice", vec![seat("A-1")])).await });
    until(&house, SOMEBODY_WAITS).await;
    proxy.set(Mode::Swallow);
    keeper.batch_execute("ROLLBACK").await.expect("the lock is passed on");
    until(&house, "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'idle in transaction'").await;
    let reply = ask(&*survivor, place("bob", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    unheard.abort();
}

/// Outside a transaction a statement has no limit but that somebody waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_waits_for_any_more_is_called_off() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = by_one_batch(&url);
    settings.connecting.statement_timeout = Duration::from_millis(200);
    let node = nodes(settings, 1).await.remove(0);
    let _owner = somebody(&url, "BEGIN; LOCK TABLE holdfast.bookings").await;
    let page = PageRequest { after: None, limit: 10 };
    node.bookings(BookingFilter::default(), page).await.expect_err("nobody can look");
    until(&house, &format!("SELECT NOT ({SOMEBODY_WAITS})")).await;
}

const RUN_OUT: &str = "SELECT bool_and(expires_at < clock_timestamp()) FROM holdfast.holds";

/// The sweep never has an offer that one batch after another has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ran_out_in_a_busy_offer_is_written_down_with_its_sales() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = settings(&url, Claiming::Batched);
    (settings.connecting.lock_timeout, settings.connecting.statement_timeout) = (DEADLINE, DEADLINE);
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(1)).await;
    let reply = ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    let keeper = somebody(&url, KEEP_HALL).await;
    until(&house, RUN_OUT).await;
    let sale = tokio::spawn(async move { ask(&*node, place("bob", vec![seat("B-1")])).await });
    until(&house, SOMEBODY_WAITS).await;
    keeper.batch_execute("ROLLBACK").await.expect("the hall is free");
    let reply = sale.await.expect("no panic").expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    let together = "SELECT count(*) FROM holdfast.journal sold JOIN holdfast.journal ended USING (xid)
                    WHERE sold.kind = 'hold_placed' AND ended.kind = 'hold_expired'";
    assert_eq!(house.one(DATABASE, together), "1");
}

/// A busy offer has more that ran out than is swept at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_offer_keeps_no_other_from_being_swept() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = settings(&url, Claiming::Batched);
    settings.limits.tidy_slice = 2;
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(1)).await;
    sell(&*node, fest(100, 1)).await;
    let seats = ["A-1", "A-2", "A-3"].map(|key| vec![seat(key)]);
    let keeper = somebody(&url, "SELECT 1").await;
    for asks in seats {
        assert!(held(&ask(&*node, place("alice", asks)).await.expect("an answer")).is_some());
    }
    keeper.batch_execute(KEEP_HALL).await.expect("the hall is busy");
    assert!(held(&ask(&*node, place("bob", vec![ticket()])).await.expect("an answer")).is_some());
    until(&house, RUN_OUT).await;
    until(&house, "SELECT count(*) = 1 FROM holdfast.holds WHERE offer_id = 'fest' AND state = 'expired'")
        .await;
    keeper.batch_execute("ROLLBACK").await.expect("the hall is free");
    until(&house, "SELECT bool_and(state = 'expired') FROM holdfast.holds").await;
}

/// Whoever loses has locks that others wait for, and makes no trip more than it needs while it has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_looks_its_key_up_once() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let mut settings = settings(&url, Claiming::Pessimistic);
    settings.limits.tidy_every = None;
    let node = nodes(settings, 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let owner =
        somebody(&url, "BEGIN; SELECT 1 FROM holdfast.units WHERE offer_id = 'hall' FOR UPDATE").await;
    house.server.set("log_statement", "all").expect("every statement is written down");
    let told = ["alice", "bob"].map(|holder| {
        let (node, place) = (Arc::clone(&node), place(holder, vec![seat("A-1")]));
        tokio::spawn(async move { ask_as(&*node, &format!("of {holder}"), place).await })
    });
    until(&house, "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").await;
    owner.batch_execute("ROLLBACK").await.expect("the seats are free");
    let told = futures::future::try_join_all(told).await.expect("no panic");
    let lost = |told: &&Result<Reply, LedgerError>| matches!(told, Ok(Reply::Refused(_)));
    assert_eq!(told.iter().filter(lost).count(), 1, "{told:?}");
    let log = fs::read_to_string(house.server.log()).expect("a log");
    assert_eq!(log.matches("AS asked(key)").count(), 2, "one look for each of the two");
}

/// Once, somebody who sells has what the migration wants and wants what it has, and PostgreSQL chose the migration.
const MEET_A_SALE: [&str; 3] = [
    "CREATE SEQUENCE public.begun",
    "CREATE FUNCTION public.meets_a_sale() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('public.begun') = 1 THEN
             RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected';
         END IF;
     END $$",
    "CREATE EVENT TRIGGER meets_a_sale ON ddl_command_start WHEN TAG IN ('CREATE SCHEMA')
     EXECUTE FUNCTION public.meets_a_sale()",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_gives_way_to_a_sale_tries_again() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    for rule in MEET_A_SALE {
        house.server.ask(DATABASE, rule).expect("a rule");
    }
    let node = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    assert_eq!(house.one(DATABASE, "SELECT last_value FROM public.begun"), "2");
}
