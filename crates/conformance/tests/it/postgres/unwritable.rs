//! A PostgreSQL that answers every question and takes no writes: read-only, as a standby is, or full. The node says that it
//! cannot sell, keeps its copy of the books, and goes on by itself.

use holdfast_domain::OfferId;
use holdfast_engine::{
    ledger::{Ledger, LedgerError, postgres::PostgresLedger},
    strategy::Claiming,
};

use super::{
    goods::{DEADLINE, ask_as, hall, held, now, place, seat, sell},
    house::{House, nodes, settings},
};

const DATABASE: &str = "books";

/// It cannot sell, says so, and is read all the same, whatever the looks at the journal say.
async fn cannot_sell(node: &PostgresLedger) {
    for at in 1..=5 {
        let told = ask_as(node, &format!("refused {at}"), place("alice", vec![seat("A-1")])).await;
        assert!(matches!(told, Err(LedgerError::Unavailable(_))), "{told:?}");
        let seen = node.offer(&OfferId::new("hall").expect("an id")).await;
        assert!(seen.is_ok_and(|offer| offer.is_some()), "it can be read");
        assert!(!node.health().await.ready);
    }
}

async fn sells_again(node: &PostgresLedger) {
    let began = now();
    while !node.health().await.ready {
        assert!(began.elapsed() < 2 * DEADLINE, "{:?}", node.health().await);
        tokio::task::yield_now().await;
    }
    let reply = ask_as(node, "sold", place("bob", vec![seat("A-1")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
}

/// How often the books were read anew: each time it is said where the hall stands.
fn reloads(
    changes: &mut tokio::sync::broadcast::Receiver<std::sync::Arc<[holdfast_engine::ledger::Change]>>,
) -> usize {
    std::iter::from_fn(|| changes.try_recv().ok()).filter(|told| told[0].only_stands()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_it_is_not_ready_and_keeps_its_copy() {
    let house = House::quick();
    for claiming in [Claiming::Batched, Claiming::Atomic] {
        let node = nodes(settings(&house.emptied(DATABASE), claiming), 1).await.remove(0);
        sell(&*node, hall(600)).await;
        let mut changes = node.changes();
        house.server.set("default_transaction_read_only", "on").expect("read-only");
        while house.one(DATABASE, "SHOW transaction_read_only") != "on" {
            tokio::task::yield_now().await;
        }
        cannot_sell(&node).await;
        assert_eq!(reloads(&mut changes), 0, "{claiming:?}");
        house.server.set("default_transaction_read_only", "off").expect("writable");
        sells_again(&node).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_it_is_not_ready_and_reads_the_books_once() {
    let house = House::quick();
    let node = nodes(settings(&house.emptied(DATABASE), Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    let mut changes = node.changes();
    for rule in [
        "CREATE FUNCTION holdfast.is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'could not extend file: no space left on device' USING ERRCODE = 'disk_full';
         END $$",
        "CREATE TRIGGER is_full BEFORE INSERT ON holdfast.answers
         FOR EACH ROW EXECUTE FUNCTION holdfast.is_full()",
    ] {
        house.server.ask(DATABASE, rule).expect("a rule");
    }
    cannot_sell(&node).await;
    assert_eq!(reloads(&mut changes), 1, "what was decided on the copy was not written");
    house.server.ask(DATABASE, "DROP TRIGGER is_full ON holdfast.answers").expect("room");
    sells_again(&node).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_has_no_room_for_every_name_is_refused_at_the_start() {
    let house = House::quick();
    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    house.server.ask("postgres", latin).expect("a database");
    let opened = PostgresLedger::open(settings(&house.server.url_for("latin"), Claiming::Batched)).await;
    assert!(matches!(&opened, Err(LedgerError::Unavailable(why)) if why.contains("LATIN1")), "{opened:?}");
}
