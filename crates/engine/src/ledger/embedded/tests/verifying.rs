//! `verify` finds what somebody changed, and says what it is.

use std::path::Path;

use rusqlite::Connection;

use super::bench::{Bench, booking_id, confirm, hold_id, key, place, seat};
use crate::ledger::embedded::{EmbeddedLedger, Limits, Settings, Storage, StoreError, verify};

async fn sold(dir: &Path) {
    let bench = Bench::with(Storage::Dir(dir.to_owned()), Limits::default()).open_for_sale().await;
    for n in 1..=4 {
        bench
            .try_send(place(n, "alice", vec![seat(n as u32)]), Some(key(&format!("k{n}"), 1)))
            .await
            .unwrap();
    }
    bench.done(confirm(1, 1)).await;
    bench.done(confirm(2, 2)).await;
    bench.done(holdfast_domain::Command::Cancel { booking: booking_id(2) }).await;
    bench.done(holdfast_domain::Command::ReleaseHold { hold: hold_id(3) }).await;
    bench.ledger.shutdown().await;
}

#[tokio::test]
async fn sound_books_are_clean() {
    let dir = tempfile::tempdir().unwrap();
    sold(dir.path()).await;
    let report = verify(dir.path()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let counts = (report.entries, report.shown, report.offers, report.holds, report.bookings, report.answers);
    assert_eq!(counts, (10, 10, 2, 4, 2, 4));
}

#[tokio::test]
async fn every_change_is_noticed() {
    let tampering = [
        (
            "I11",
            "UPDATE batches SET payload = CAST(replace(payload, 'alice', 'alicf') AS BLOB) WHERE first_seq = 3",
        ),
        ("I11", "UPDATE batches SET hash = zeroblob(32) WHERE first_seq = 4"),
        ("I11", "DELETE FROM batches WHERE first_seq = 4"),
        ("tables", "DELETE FROM batches WHERE first_seq = (SELECT max(first_seq) FROM batches)"),
        ("tables", "UPDATE holds SET holder = 'mallory' WHERE seq = 3"),
        ("tables", "UPDATE holds SET state = 'active' WHERE state = 'booked'"),
        ("tables", "DELETE FROM hold_lines WHERE hold_seq = 4"),
        ("tables", "UPDATE hold_lines SET price = 1 WHERE hold_seq = 4"),
        ("tables", "DELETE FROM bookings WHERE state = 'confirmed'"),
        ("tables", "UPDATE offers SET name = 'Other' WHERE seq = 1"),
        ("tables", "UPDATE journal SET after = 'booked' WHERE seq = 3"),
        ("tables", "DELETE FROM journal WHERE seq = 5"),
        (
            "I6",
            "INSERT INTO answers (digest, scope, key, fingerprint, status, body, at_ms, seq)
                SELECT digest, scope, key, fingerprint, status, body, at_ms, seq FROM answers WHERE id = 1",
        ),
        ("answers", "UPDATE answers SET seq = 1000 WHERE id = 1"),
    ];
    for (what, sql) in tampering {
        let dir = tempfile::tempdir().unwrap();
        sold(dir.path()).await;
        let changed = Connection::open(dir.path().join("holdfast.db")).unwrap().execute(sql, []).unwrap();
        assert!(changed > 0, "{sql}");
        let report = verify(dir.path()).unwrap();
        assert!(report.broken.iter().any(|broken| broken.what == what), "{sql}: {:?}", report.broken);
    }
}

#[tokio::test]
async fn a_broken_chain_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    sold(dir.path()).await;
    let file = Connection::open(dir.path().join("holdfast.db")).unwrap();
    file.execute("UPDATE batches SET hash = zeroblob(32) WHERE first_seq = 4", []).unwrap();
    drop(file);
    let clock = std::sync::Arc::new(crate::clock::SystemClock::new());
    let settings = Settings::new(Storage::Dir(dir.path().to_owned()), clock, super::bench::render());
    let refused = EmbeddedLedger::open(settings).unwrap_err();
    assert!(matches!(&refused, StoreError::Corrupt(what) if what.contains("entry 4")), "{refused}");
    assert!(refused.to_string().contains("holdfast verify"), "{refused}");
}

#[test]
fn no_books_is_said_so() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(verify(dir.path()), Err(StoreError::NoBooks { .. })));
}

#[tokio::test]
async fn books_can_be_verified_while_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    for n in 1..=20 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
        let report = verify(dir.path()).unwrap();
        assert!(report.is_clean() && report.entries == n as u64 + 2, "{report:?}");
    }
}
