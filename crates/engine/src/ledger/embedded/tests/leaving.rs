//! Holders who leave and come back, in the file: the tables for people, a restart, and books from before they could.

use std::path::Path;

use holdfast_domain::{Command, Hold, PayTerms};
use rusqlite::Connection;

use super::bench::{Bench, T0, booking_id, confirm, hold_id, place, seat};
use crate::ledger::{
    JournalFilter, Ledger, PageRequest,
    embedded::{Limits, Storage, verify},
};

fn leave(hold: u128) -> Command {
    Command::LeaveHold { hold: hold_id(hold), keep_s: 60 }
}

fn come_back(hold: u128) -> Command {
    Command::ReturnToHold { hold: hold_id(hold) }
}

fn pay(hold: u128) -> Command {
    let terms = PayTerms { pin_s: 120, grace_s: 0, look_s: 10 };
    Command::BeginPayment { booking: booking_id(hold), hold: hold_id(hold), method: None, terms }
}

async fn holds(bench: &Bench) -> Vec<Hold> {
    let mut holds = Vec::new();
    for n in 1..=7 {
        holds.push(bench.ledger.hold(hold_id(n)).await.unwrap().unwrap().hold);
    }
    holds
}

fn books(dir: &Path) -> Bench {
    Bench::with(Storage::Dir(dir.to_owned()), Limits::default())
}

fn is_clean(dir: &Path) {
    let report = verify(dir).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[tokio::test]
async fn the_tables_show_who_has_left_and_a_restart_forgets_none() {
    let dir = tempfile::tempdir().unwrap();
    let bench = books(dir.path()).open_for_sale().await;
    for n in 1..=7 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
        bench.done(leave(n)).await;
    }
    bench.clock.advance_ms(59_999);
    bench.done(come_back(2)).await;
    bench.done(Command::ExtendHold { hold: hold_id(3) }).await;
    bench.done(confirm(4, 4)).await;
    bench.done(pay(5)).await;
    bench.done(Command::ReleaseHold { hold: hold_id(6) }).await;
    bench.done(come_back(7)).await;
    bench.done(leave(7)).await;
    bench.clock.advance_ms(1);
    bench.done(place(20, "bob", vec![seat(1)])).await;
    let before = holds(&bench).await;
    let own_end = T0.plus_s(600);
    assert_eq!((before[1].expires_at, before[1].returns_to), (own_end, None));
    assert_eq!((before[6].expires_at, before[6].returns_to), (T0.plus_ms(119_999), Some(own_end)));
    assert!(before[..6].iter().all(|hold| hold.returns_to.is_none()), "{before:?}");
    let filter = JournalFilter { hold: Some(hold_id(2)), ..JournalFilter::default() };
    let entries = bench.ledger.journal(filter, PageRequest { after: None, limit: 10 }).await.unwrap().data;
    let kinds: Vec<_> = entries.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["hold_placed", "hold_left", "hold_returned"]);
    bench.ledger.shutdown().await;
    drop(bench);
    is_clean(dir.path());
    let bench = books(dir.path());
    bench.clock.advance_ms(60_000);
    assert_eq!(holds(&bench).await, before);
}

#[tokio::test]
async fn books_from_before_anybody_could_leave_are_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let bench = books(dir.path()).open_for_sale().await;
    bench.done(place(1, "alice", vec![seat(1)])).await;
    bench.ledger.shutdown().await;
    drop(bench);
    let file = Connection::open(dir.path().join("holdfast.db")).unwrap();
    file.execute_batch(include_str!("format_3.sql")).unwrap();
    file.execute_batch("ALTER TABLE holds DROP COLUMN returns_ms; PRAGMA user_version = 2;").unwrap();
    drop(file);
    let bench = books(dir.path());
    bench.done(leave(1)).await;
    bench.ledger.shutdown().await;
    is_clean(dir.path());
}
