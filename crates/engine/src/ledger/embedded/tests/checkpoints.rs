//! Checkpoint and tail give the state that the whole journal gives; a damaged checkpoint only costs time.

use holdfast_domain::{Command, Moment};
use rusqlite::Connection;

use super::bench::{Bench, confirm, hold_id, offer_id, place, seat};
use crate::ledger::{
    Ledger,
    embedded::{
        Limits, Storage, checkpoint,
        recovery::{self, Reading},
        verify,
    },
};

async fn sale_with_checkpoints(dir: &std::path::Path) {
    let limits = Limits { checkpoint_every: Some(7), ..Limits::default() };
    let bench = Bench::with(Storage::Dir(dir.to_owned()), limits).open_for_sale().await;
    for n in 1..=12 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
        bench.done(confirm(n, n)).await;
    }
    // Each read is a round, and each round a slice of upkeep: go on until the checkpoints have been written.
    let reader = open(dir);
    while checkpoint::newest(&reader).unwrap() == 0 {
        bench.ledger.offer(&offer_id("hall")).await.unwrap();
    }
    bench.done(place(13, "bob", vec![seat(13)])).await;
    bench.ledger.shutdown().await;
}

fn open(dir: &std::path::Path) -> Connection {
    Connection::open(dir.join("holdfast.db")).unwrap()
}

fn folded(from: &Connection) -> Reading {
    recovery_to(from, u64::MAX)
}

#[tokio::test]
async fn checkpoint_and_tail_are_the_whole_journal() {
    let dir = tempfile::tempdir().unwrap();
    sale_with_checkpoints(dir.path()).await;
    let from = open(dir.path());
    let headers = checkpoint::headers(&from).unwrap();
    assert!(!headers.is_empty());
    for header in &headers {
        let mut books = header.load(&from).unwrap();
        let until = recovery_to(&from, header.link.seq);
        assert_eq!(books.fold.parts(Moment::MIN), until.fold.parts(Moment::MIN));
        books.replay(&from, |_| false).unwrap();
        let whole = folded(&from);
        assert_eq!(
            (books.fold.parts(Moment::MIN), books.head, books.last_at),
            (whole.fold.parts(Moment::MIN), whole.head, whole.last_at)
        );
    }
    let report = verify(dir.path()).unwrap();
    assert!(report.is_clean() && report.checkpoints == headers.len(), "{report:?}");
}

fn recovery_to(from: &Connection, seq: u64) -> Reading {
    let mut books = Reading::from_the_beginning();
    books.replay(from, |at| at.seq >= seq).unwrap();
    books
}

#[tokio::test]
async fn a_damaged_checkpoint_is_passed_over_and_named() {
    let dir = tempfile::tempdir().unwrap();
    sale_with_checkpoints(dir.path()).await;
    let from = open(dir.path());
    from.execute_batch("UPDATE checkpoint_chunks SET payload = zeroblob(length(payload))").unwrap();
    let recovered = recovery::recover_until(&from, |_| false).unwrap();
    assert_eq!(recovered.fold.parts(Moment::MIN), folded(&from).fold.parts(Moment::MIN));
    let report = verify(dir.path()).unwrap();
    assert!(
        report.broken.iter().all(|broken| broken.what == "checkpoint") && !report.is_clean(),
        "{report:?}"
    );
}

#[tokio::test]
async fn old_checkpoints_make_room() {
    let dir = tempfile::tempdir().unwrap();
    sale_with_checkpoints(dir.path()).await;
    let reader = open(dir.path());
    let mut n = 100;
    for _ in 0..3 {
        let limits = Limits { checkpoint_every: Some(1), ..Limits::default() };
        let bench = Bench::with(Storage::Dir(dir.path().to_owned()), limits);
        let before = checkpoint::newest(&reader).unwrap();
        while checkpoint::newest(&reader).unwrap() == before {
            n += 1;
            bench.done(place(n, "carol", vec![seat(19)])).await;
            bench.done(Command::ReleaseHold { hold: hold_id(n) }).await;
        }
        bench.ledger.shutdown().await;
    }
    let count: i64 = reader.query_row("SELECT count(*) FROM checkpoints", [], |row| row.get(0)).unwrap();
    assert!(count <= 3, "{count}");
}
