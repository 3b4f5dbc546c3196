//! Following a journal that is longer, younger or older than a node expects.

use std::sync::Arc;

use holdfast_domain::Command;
use holdfast_engine::{
    ledger::{
        BookingFilter, Change, Ledger, PageRequest,
        postgres::{Connecting, verify},
    },
    strategy::Claiming,
};
use tokio::sync::broadcast;

use super::{
    goods::{DEADLINE, ask, fest, hall, held, insist, now, place, refused, seat, sell, ticket},
    house::{House, nodes, settings},
};

const DATABASE: &str = "books";
/// More entries than a node follows one by one.
const MANY: usize = 60_000;

/// A read that needs a level copy, often enough that one lucky look does not do.
async fn must_stay_level(node: &dyn Ledger) {
    for _ in 0..20 {
        let page = PageRequest { after: None, limit: 10 };
        node.bookings(BookingFilter::default(), page).await.expect("the copy is level");
    }
}

/// Waits until it is told where the offers stand, and not what became of them.
async fn until_loaded_anew(changes: &mut broadcast::Receiver<Arc<[Change]>>) {
    let anew = async { while !changes.recv().await.expect("news").iter().any(Change::only_stands) {} };
    tokio::time::timeout(2 * DEADLINE, anew).await.expect("the books are loaded anew");
}

/// Old entries over and over, written by the transaction that `xid` says.
fn fill(house: &House, xid: &str) {
    let again = format!(
        "INSERT INTO holdfast.journal (xid, chain, link, at, actor, kind, offer_id, offers, before, version, entry, hash)
         SELECT {xid}, 1, n, at, actor, kind, offer_id, offers, before, version, entry, hash
         FROM generate_series(1, {MANY}) n, LATERAL (SELECT * FROM holdfast.journal ORDER BY seq LIMIT 1) first"
    );
    house.server.ask(DATABASE, &again).expect("a long journal");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_long_transaction_holds_nobody_back() {
    let house = House::quick();
    let node = nodes(settings(&house.emptied(DATABASE), Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    // In another database, and it has written something: PostgreSQL counts it as open for everybody.
    let (mut other, connection) =
        tokio_postgres::connect(&house.server.url_for("postgres"), tokio_postgres::NoTls)
            .await
            .expect("a client");
    tokio::spawn(connection);
    let open = other.transaction().await.expect("a transaction");
    open.batch_execute("SELECT pg_current_xact_id()").await.expect("a number of its own");
    fill(&house, "pg_current_xact_id()::text::bigint");
    // Too many to be followed: they cost the copy once, and not at every look from now on.
    while node.bookings(BookingFilter::default(), PageRequest { after: None, limit: 1 }).await.is_err() {
        tokio::task::yield_now().await;
    }
    must_stay_level(&*node).await;
    let (reply, _) = insist(&*node, place("alice", vec![seat("A-1")])).await;
    assert!(held(&reply).is_some(), "{reply:?}");
    open.rollback().await.expect("the end of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_from_a_server_that_counted_further_is_followed() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let first = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    sell(&*first, hall(600)).await;
    drop(first);
    fill(&house, "1000000000");
    let restored = nodes(settings(&url, Claiming::Batched), 2).await;
    for (node, unit) in restored.iter().zip(["A-1", "A-2"]) {
        must_stay_level(&**node).await;
        let reply = ask(&**node, place("alice", vec![seat(unit)])).await.expect("an answer");
        assert!(held(&reply).is_some(), "{reply:?}");
    }
    // And each hears of the other.
    for (node, unit) in restored.iter().zip(["A-2", "A-1"]) {
        let reply = ask(&**node, place("bob", vec![seat(unit)])).await.expect("an answer");
        assert_eq!(refused(&reply), Some("unit_taken"));
    }
}

/// As after a failover to a standby that was behind, or with a backup in the place of the books.
const TAKE_BACK: &str = "
    DELETE FROM holdfast.journal WHERE kind = 'hold_placed';
    DELETE FROM holdfast.claims;
    DELETE FROM holdfast.holds;
    UPDATE holdfast.units SET held = 0;
    UPDATE holdfast.offers SET version = 1";

const TAKE_BACK_HALL: &str = "
    DELETE FROM holdfast.journal WHERE kind = 'hold_placed' AND offer_id = 'hall';
    DELETE FROM holdfast.claims WHERE offer_id = 'hall';
    DELETE FROM holdfast.holds WHERE offer_id = 'hall';
    UPDATE holdfast.units SET held = 0 WHERE offer_id = 'hall';
    UPDATE holdfast.offers SET version = 1 WHERE id = 'hall'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_knows_more_than_the_books_forgets_it() {
    let mut house = House::quick();
    let url = house.emptied(DATABASE);
    let node = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let reply = ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    house.server.ask(DATABASE, TAKE_BACK).expect("books of before");
    house.server.restart().expect("a new start");
    // Nobody writes meanwhile: what the node knows of the server's restart is all it has to go by.
    let reply = loop {
        match ask(&*node, place("bob", vec![seat("A-1")])).await {
            Ok(reply) => break reply,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert!(held(&reply).is_some(), "{reply:?}");
    drop(node);
    let report = verify(&Connecting::to(&url)).await.expect("a report");
    assert!(report.is_clean(), "{report:?}");
}

/// The books lost the holds in the hall, and another node went on from there before this one looked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_follow_does_not_go_on_from_what_was_lost() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let node = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    sell(&*node, fest(100, 600)).await;
    // One after another, so that all of them are one chain.
    let wishes = [ticket(), ticket(), ticket(), seat("A-1"), seat("A-2")];
    for (buyer, wish) in wishes.into_iter().enumerate() {
        let reply = ask(&*node, place(&format!("buyer-{buyer}"), vec![wish])).await.expect("an answer");
        assert!(held(&reply).is_some(), "{reply:?}");
    }
    house.server.ask(DATABASE, TAKE_BACK_HALL).expect("books of before");
    let other = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    let mut changes = node.changes();
    // An entry of both offers: the version it names of the hall is not the one that the first node knows.
    let reply = ask(&*other, place("bob", vec![seat("A-1"), ticket()])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    until_loaded_anew(&mut changes).await;
    let (reply, _) = insist(&*node, place("carol", vec![seat("A-2")])).await;
    assert!(held(&reply).is_some(), "{reply:?}");
    drop((node, other));
    let report = verify(&Connecting::to(&url)).await.expect("a report");
    assert!(report.is_clean(), "{report:?}");
}

/// The books forget the one hold there was, and then its release is told once more.
const FORGET_HOLD: &str = "DELETE FROM holdfast.holds";
const RELEASE_AGAIN: &str = "
    INSERT INTO holdfast.journal (chain, link, at, actor, kind, offer_id, offers, before, version, hold_id, entry, hash)
    SELECT chain, link + 1, at, actor, kind, offer_id, offers, ARRAY[version], version + 1, hold_id, entry, hash
    FROM holdfast.journal WHERE kind = 'hold_released';
    UPDATE holdfast.offers SET version = version + 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_nobody_thought_of_costs_the_copy_and_not_the_node() {
    let house = House::quick();
    let url = house.emptied(DATABASE);
    let first = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    sell(&*first, hall(600)).await;
    let reply = ask(&*first, place("alice", vec![seat("A-1")])).await.expect("an answer");
    let hold = held(&reply).expect("a free seat");
    ask(&*first, Command::ReleaseHold { hold }).await.expect("an answer");
    drop(first);
    house.server.ask(DATABASE, FORGET_HOLD).expect("a hold that nobody knows");
    let node = nodes(settings(&url, Claiming::Batched), 1).await.remove(0);
    let mut changes = node.changes();
    house.server.ask(DATABASE, RELEASE_AGAIN).expect("an entry that cannot be followed");
    until_loaded_anew(&mut changes).await;
    let began = now();
    while !node.health().await.ready {
        assert!(began.elapsed() < DEADLINE, "{:?}", node.health().await);
        tokio::task::yield_now().await;
    }
    must_stay_level(&*node).await;
    let reply = ask(&*node, place("bob", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
}
