//! Two traps about time. A statement that waited for somebody else's lock wakes up later than it began, and what it
//! then believes about the clock decides whether an expired hold can still be bought:
//! `now()` is when the transaction began, and a condition on `clock_timestamp()` is not looked at again when whoever
//! had the row left it as it was. And a clock that is set back leaves behind what it said while it was ahead.

use std::time::Duration;

use holdfast_engine::{
    ledger::{Ledger as _, Outcome, Reply},
    strategy::Claiming,
};
use tokio_postgres::{Client, NoTls};

use super::{
    EVERY_WAY,
    goods::{ask, confirm, hall, held, now, pay, place, refused, seat, sell},
    house::{House, nodes, settings},
};

const DATABASE: &str = "books";

/// A connection of somebody else's.
async fn somebody(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Waits until so many wait for a lock in this database.
async fn until_waiting(client: &Client, count: i64) {
    const WAITING: &str = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let began = now();
    loop {
        let row = client.query_one(WAITING, &[]).await.expect("an answer");
        if row.get::<_, i64>(0) >= count {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "nobody waits");
        tokio::task::yield_now().await;
    }
}

/// Waits, on PostgreSQL's clock, until every hold there is has expired.
async fn until_expired(client: &Client) {
    const LEFT: &str =
        "SELECT pg_sleep(greatest(0, extract(epoch FROM max(expires_at) - clock_timestamp())) + 0.005)
        FROM holdfast.holds";
    client.execute(LEFT, &[]).await.expect("it passes");
}

/// What somebody else may have when a confirm arrives: the offer as a whole, or the hold's row.
const THE_OFFER: &str =
    "BEGIN; SELECT pg_advisory_xact_lock(('x' || left(encode(sha256('hall'), 'hex'), 16))::bit(64)::bigint)";
const THE_ROW: &str = "BEGIN; SELECT 1 FROM holdfast.holds FOR UPDATE";

/// Every way of claiming waits for the offer; those that claim unit by unit wait for the row too.
fn waits() -> impl Iterator<Item = (Claiming, &'static str)> {
    let by_unit = EVERY_WAY.into_iter().filter(|claiming| *claiming != Claiming::Batched);
    EVERY_WAY.into_iter().map(|claiming| (claiming, THE_OFFER)).chain(by_unit.map(|way| (way, THE_ROW)))
}

/// The confirm begins in time, waits for a lock until the hold has expired, and goes on. It must be refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirm_that_waited_past_the_expiry_is_refused() {
    let house = House::quick();
    for (claiming, lock) in waits() {
        let url = house.emptied(DATABASE);
        let mut settings = settings(&url, claiming);
        settings.limits.tidy_every = None;
        let node = nodes(settings, 1).await.remove(0);
        // Long enough for a busy machine: a confirm that begins after the end waits for nobody.
        sell(&*node, hall(3)).await;
        let (owner, watcher) = (somebody(&url).await, somebody(&url).await);
        let reply = ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
        let hold = held(&reply).expect("a free seat");
        owner.batch_execute(lock).await.expect("the locks");
        let asked = tokio::spawn({
            let node = std::sync::Arc::clone(&node);
            async move { ask(&*node, confirm(hold)).await }
        });
        until_waiting(&watcher, 1).await;
        assert_eq!(house.one(DATABASE, "SELECT expires_at > clock_timestamp() FROM holdfast.holds"), "t");
        until_expired(&watcher).await;
        // Nothing was changed: the trap is that whoever waited sees the row it had already judged.
        owner.batch_execute("ROLLBACK").await.expect("the locks are given back");
        let reply = asked.await.expect("no panic").expect("an answer");
        assert_eq!(refused(&reply), Some("hold_expired"), "{claiming:?}: {reply:?}");
        assert_eq!(house.one(DATABASE, "SELECT count(*) FROM holdfast.bookings"), "0", "{claiming:?}");
        let reply = ask(&*node, place("bob", vec![seat("A-1")])).await.expect("an answer");
        assert!(held(&reply).is_some(), "{claiming:?}: {reply:?}");
    }
}

/// The control: the same wait with time enough left is a yes, so it was the expiry that refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirm_that_waited_and_is_in_time_is_a_booking() {
    let house = House::quick();
    for (claiming, lock) in waits() {
        let url = house.emptied(DATABASE);
        let node = nodes(settings(&url, claiming), 1).await.remove(0);
        sell(&*node, hall(600)).await;
        let (owner, watcher) = (somebody(&url).await, somebody(&url).await);
        let reply = ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
        let hold = held(&reply).expect("a free seat");
        owner.batch_execute(lock).await.expect("the locks");
        let asked = tokio::spawn({
            let node = std::sync::Arc::clone(&node);
            async move { ask(&*node, confirm(hold)).await }
        });
        until_waiting(&watcher, 1).await;
        owner.batch_execute("ROLLBACK").await.expect("the locks are given back");
        let reply = asked.await.expect("no panic").expect("an answer");
        assert!(matches!(reply, Reply::Done(Outcome::Confirmed(_))), "{claiming:?}: {reply:?}");
    }
}

/// Until the hold in the plain table is over.
const OUTLIVED: &str =
    "SELECT pg_sleep(greatest(0, extract(epoch FROM until - clock_timestamp())) + 0.005) FROM plain";

/// What both traps look like in plain SQL: each guard lets an expired hold be confirmed. This is why the ledger reads
/// the clock in a statement of its own, after the locks are held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_guards_that_look_right_confirm_an_expired_hold() {
    let house = House::quick();
    let url = house.emptied("plain");
    let (owner, buyer, watcher) = (somebody(&url).await, somebody(&url).await, somebody(&url).await);
    watcher.batch_execute("CREATE TABLE plain (state text, until timestamptz)").await.expect("a table");
    for (guard, confirmed) in [("now()", 1), ("clock_timestamp()", 1)] {
        let hold = "TRUNCATE plain;
            INSERT INTO plain VALUES ('held', clock_timestamp() + interval '2 s')";
        watcher.batch_execute(hold).await.expect("a hold");
        owner.batch_execute("BEGIN; SELECT 1 FROM plain FOR UPDATE").await.expect("the lock");
        let confirm = format!("UPDATE plain SET state = 'booked' WHERE state = 'held' AND until > {guard}");
        let (changed, ()) =
            tokio::join!(async { buyer.execute(&confirm, &[]).await.expect("an answer") }, async {
                until_waiting(&watcher, 1).await;
                watcher.execute(OUTLIVED, &[]).await.expect("it passes");
                owner.batch_execute("ROLLBACK").await.expect("the lock is given back");
            });
        assert_eq!(changed, confirmed, "{guard}");
    }
    // Locked first, then asked for the time in a statement of its own: refused.
    watcher
        .batch_execute(
            "TRUNCATE plain; INSERT INTO plain VALUES ('held', clock_timestamp() + interval '2 s')",
        )
        .await
        .expect("a hold");
    owner.batch_execute("BEGIN; SELECT 1 FROM plain FOR UPDATE").await.expect("the lock");
    let right = async {
        buyer.batch_execute("BEGIN; SELECT 1 FROM plain FOR UPDATE").await.expect("the lock, at last");
        let sql = "UPDATE plain SET state = 'booked' WHERE state = 'held' AND until > clock_timestamp()";
        let changed = buyer.execute(sql, &[]).await.expect("an answer");
        buyer.batch_execute("COMMIT").await.expect("a commit");
        changed
    };
    let (changed, ()) = tokio::join!(right, async {
        until_waiting(&watcher, 1).await;
        watcher.execute(OUTLIVED, &[]).await.expect("it passes");
        owner.batch_execute("ROLLBACK").await.expect("the lock is given back");
    });
    assert_eq!(changed, 0);
}

/// A lease by a clock that is set back afterwards would outlast it by as much as that clock was ahead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_from_before_the_clock_was_set_back_keeps_no_payment() {
    const LEASE: Duration = Duration::from_secs(60);
    let house = House::quick();
    let node = nodes(settings(&house.emptied(DATABASE), Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let reply = ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
    ask(&*node, pay(held(&reply).expect("a free seat"))).await.expect("an answer");
    let due = async || node.payments_due(9, LEASE).await.expect("payments").len();
    assert_eq!(due().await, 1);
    assert_eq!(due().await, 0, "somebody looks at it");
    let ahead = "UPDATE holdfast.payments SET leased_until = leased_until + interval '1 hour'";
    house.server.ask(DATABASE, ahead).expect("a lease by a clock that was ahead");
    assert_eq!(due().await, 1);
    assert_eq!(due().await, 0, "and somebody does again");
}
