//! The process dies: at every point between two commits, and in the middle of writing one.
//!
//! A crash is a copy of the files taken while the ledger runs; a torn write is a copy whose log ends early.

use std::{fs, path::Path};

use holdfast_domain::Command;

use super::bench::{Bench, booking_id, confirm, hold_id, key, place, seat};
use crate::ledger::{
    Ledger, Reply,
    embedded::{Limits, Storage, verify},
};

/// What a machine would find in the folder if the process died now.
fn crash(from: &Path, to: &Path) {
    for file in ["holdfast.db", "holdfast.db-wal"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

/// A small sale, a command at a time. Each is acknowledged before the next is sent.
fn sale() -> Vec<Command> {
    let mut commands = Vec::new();
    for n in 1..=6 {
        commands.push(place(n, "alice", vec![seat(n as u32), seat(n as u32 + 10)]));
        match n % 3 {
            0 => commands.push(Command::ReleaseHold { hold: hold_id(n) }),
            1 => commands.push(Command::ExtendHold { hold: hold_id(n) }),
            _ => commands.push(confirm(n, n)),
        }
    }
    commands.push(Command::Cancel { booking: booking_id(2) });
    commands
}

#[tokio::test]
async fn every_acknowledged_command_survives_a_crash_right_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    let mut entries = 2;
    for command in sale() {
        bench.done(command).await;
        entries += 1;
        let wreck = tempfile::tempdir().unwrap();
        crash(dir.path(), wreck.path());
        let report = verify(wreck.path()).unwrap();
        assert_eq!((report.entries, &report.broken[..]), (entries, &[][..]));
        let found = Bench::with(Storage::Dir(wreck.path().to_owned()), Limits::default());
        let hall = super::bench::offer_id("hall");
        let (expected, found) = (bench.ledger.offer(&hall).await, found.ledger.offer(&hall).await);
        assert_eq!(expected.unwrap(), found.unwrap());
    }
}

#[tokio::test]
async fn a_torn_log_loses_only_what_was_never_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    let log_bytes = || fs::metadata(dir.path().join("holdfast.db-wal")).unwrap().len();
    let mut acknowledged = vec![(log_bytes(), 2)];
    for (n, command) in sale().into_iter().enumerate() {
        bench.done(command).await;
        acknowledged.push((log_bytes(), n as u64 + 3));
    }
    let length = log_bytes();
    // Every frame of the log, cut in its header, in its page, and just short of its end.
    for end in
        (32..=length).step_by(4096 + 24).flat_map(|frame| [frame, frame + 10, frame + 2000, frame + 4119])
    {
        let wreck = tempfile::tempdir().unwrap();
        crash(dir.path(), wreck.path());
        let log = fs::OpenOptions::new().write(true).open(wreck.path().join("holdfast.db-wal")).unwrap();
        log.set_len(end.min(length)).unwrap();
        let Ok(report) = verify(wreck.path()) else {
            // Cut before the tables were even made; nothing had been promised.
            assert!(end < acknowledged[0].0);
            continue;
        };
        let promised =
            acknowledged.iter().rev().find(|(bytes, _)| *bytes <= end).map_or(0, |(_, entries)| *entries);
        assert!(report.entries >= promised, "{} of {promised} entries at {end}", report.entries);
        assert!(report.is_clean(), "{:?}", report.broken);
    }
}

#[tokio::test]
async fn a_key_answered_before_a_crash_is_answered_alike_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    let ask = |n| place(n, "alice", vec![seat(1)]);
    assert!(matches!(bench.try_send(ask(1), Some(key("k", 1))).await, Ok(Reply::Done(_))));
    let Ok(Reply::Replayed(before)) = bench.try_send(ask(2), Some(key("k", 1))).await else {
        panic!("replayed")
    };
    let wreck = tempfile::tempdir().unwrap();
    crash(dir.path(), wreck.path());
    let found = Bench::with(Storage::Dir(wreck.path().to_owned()), Limits::default());
    assert_eq!(found.try_send(ask(3), Some(key("k", 1))).await.unwrap(), Reply::Replayed(before));
    assert_eq!(found.try_send(ask(4), Some(key("k", 2))).await.unwrap(), Reply::KeyReused);
}
