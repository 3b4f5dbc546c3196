//! Writes fail while the sale is on: nobody is told yes, nothing is lost, and the ledger comes back by itself.

use std::path::Path;

use rusqlite::Connection;

use super::bench::{Bench, hold_id, key, offer_id, place, seat, stock};
use crate::ledger::{
    Ledger, LedgerError, Reply,
    embedded::{Limits, Storage, verify},
};

/// Another program does something to the file.
fn meddle(dir: &Path, sql: &str) {
    let connection = Connection::open(dir.join("holdfast.db")).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    connection.execute_batch(sql).unwrap();
}

const BREAK_COMMITS: &str = "
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER orphan AFTER INSERT ON batches BEGIN INSERT INTO child VALUES (1); END;";

/// Waits until the ledger says that it is ready again.
async fn recovered(bench: &Bench) {
    while !bench.ledger.health().await.ready {
        // Every read goes through the writer, so this does not spin.
        drop(bench.ledger.offer(&offer_id("hall")).await);
    }
}

#[tokio::test]
async fn a_failed_commit_is_unknown_and_the_same_key_finds_out() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    bench.done(place(1, "alice", vec![seat(1)])).await;
    let mut changes = bench.ledger.changes();
    meddle(dir.path(), BREAK_COMMITS);
    let unknown = bench.try_send(place(2, "bob", vec![seat(2)]), Some(key("k", 1))).await;
    assert!(matches!(unknown, Err(LedgerError::OutcomeUnknown(_))), "{unknown:?}");
    recovered(&bench).await;
    let told = changes.try_recv().unwrap();
    assert!(told[0].only_stands(), "whoever watches learns that the books were read anew: {told:?}");
    assert!(bench.ledger.hold(hold_id(1)).await.unwrap().is_some());
    assert!(bench.ledger.hold(hold_id(2)).await.unwrap().is_none());
    meddle(dir.path(), "DROP TRIGGER orphan");
    let found_out = bench.try_send(place(2, "bob", vec![seat(2)]), Some(key("k", 1))).await;
    assert!(matches!(found_out, Ok(Reply::Done(_))), "{found_out:?}");
    bench.ledger.shutdown().await;
    assert!(verify(dir.path()).unwrap().is_clean());
}

#[tokio::test]
async fn a_full_disk_refuses_and_keeps_what_was_sold() {
    let dir = tempfile::tempdir().unwrap();
    let storage = || Storage::Dir(dir.path().to_owned());
    let limits = Limits { max_file_bytes: Some(400_000), ..Limits::default() };
    let bench = Bench::with(storage(), limits).open_for_sale().await;
    bench.done(holdfast_domain::Command::CreateOffer { offer: stock("drop", 100_000) }).await;
    let some = || holdfast_domain::Ask {
        offer: offer_id("drop"),
        pick: holdfast_domain::Pick::Unit { key: "GA".into(), qty: 1 },
    };
    let mut sold = 0;
    let why = loop {
        match bench.try_send(place(sold, &format!("buyer-{sold}"), vec![some()]), None).await {
            Ok(Reply::Done(_)) => sold += 1,
            Ok(other) => panic!("{other:?}"),
            Err(LedgerError::Unavailable(why)) => break why,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert!(why.contains("disk is full") && why.contains("free some space"), "{why}");
    assert!(sold > 100);
    // What was sold can still be seen as soon as the books are read again.
    let last = loop {
        match bench.ledger.hold(hold_id(sold - 1)).await {
            Ok(found) => break found,
            Err(LedgerError::Unavailable(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    };
    assert!(last.is_some());
    drop(bench);
    let bench = Bench::with(storage(), Limits::default());
    assert_eq!(bench.ledger.offer(&offer_id("drop")).await.unwrap().unwrap().counts.held, sold as u64);
    bench.done(place(sold, "alice", vec![some()])).await;
    bench.ledger.shutdown().await;
    assert!(verify(dir.path()).unwrap().is_clean());
}

#[tokio::test]
async fn tables_that_cannot_be_filled_do_not_stop_the_sale() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    meddle(
        dir.path(),
        "CREATE TRIGGER no BEFORE INSERT ON holds BEGIN SELECT raise(ABORT, 'not today'); END",
    );
    bench.done(place(1, "alice", vec![seat(1)])).await;
    let listing =
        bench.ledger.journal(Default::default(), crate::ledger::PageRequest { after: None, limit: 9 });
    assert!(matches!(listing.await, Err(LedgerError::Unavailable(why)) if why.contains("not today")));
    bench.done(place(2, "bob", vec![seat(2)])).await;
    let health = bench.ledger.health().await;
    assert!(health.ready && health.degraded[0].contains("not today"), "{health:?}");
    meddle(dir.path(), "DROP TRIGGER no");
    bench.ledger.shutdown().await;
    assert!(verify(dir.path()).unwrap().is_clean());
}
