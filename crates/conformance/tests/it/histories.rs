//! Concurrent histories of the embedded ledger on a real disk, judged by the lab's checker.

use std::{collections::HashMap, path::Path, sync::Arc};

use holdfast_checker::{Evidence, history::KeptState, judge};
use holdfast_conformance::histories::{
    Recorder, Stage,
    threads::{Crowd, FastClock},
};
use holdfast_engine::{
    clock::Clock,
    ledger::{
        JournalFilter, JournalRecord, Ledger, PageRequest,
        embedded::{EmbeddedLedger, Settings, Storage},
    },
};
use tokio::runtime::Runtime;

use crate::size::{seed, setting};

const CUSTOMERS: u32 = 16;

fn crowd(folder: &Path, clock: FastClock, recorder: Arc<Recorder>, stage: Arc<Stage>) -> Crowd {
    let clock = Arc::new(clock);
    let runtime =
        Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime"));
    let settings = Settings::new(
        Storage::Dir(folder.to_owned()),
        Arc::clone(&clock) as Arc<dyn Clock>,
        recorder.render(),
    );
    let ledger: Arc<dyn Ledger> = Arc::new(EmbeddedLedger::open(settings).expect("the ledger opens"));
    Crowd { nodes: vec![ledger], clock, stage, recorder, runtime }
}

pub(crate) fn journal(ledger: &dyn Ledger, runtime: &Runtime) -> Vec<JournalRecord> {
    let (mut records, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { after, limit: 1000 };
        let page = runtime.block_on(ledger.journal(JournalFilter::default(), page)).expect("the journal");
        records.extend(page.data);
        match page.next {
            Some(next) => after = Some(next),
            None => return records,
        }
    }
}

#[test]
fn a_crowd_on_a_real_disk_is_linearizable_and_loses_nothing() {
    let operations = setting("HOLDFAST_TEST_OPERATIONS", 8_000);
    let seed = seed("concurrent history");
    let folder = tempfile::tempdir().expect("a folder");
    let stage = Arc::new(Stage::new());
    let recorder = Arc::new(Recorder::new(Arc::clone(&stage), 0));
    let crowd = crowd(folder.path(), FastClock::new(20), recorder, stage);
    crowd.open();
    crowd.run(CUSTOMERS, operations as usize / CUSTOMERS as usize, seed);

    let history = crowd.history().expect("the ending");
    let verdict = judge(&history, Evidence::ALL);
    println!("{verdict}");
    assert!(verdict.is_valid(), "{}", verdict.tell(&history));
    check_journal(&crowd, &history);
    check_reopened(folder.path(), crowd, &history);
}

fn check_journal(crowd: &Crowd, history: &holdfast_checker::History) {
    let records = journal(crowd.ledger(), &crowd.runtime);
    for (at, record) in (1..).zip(&records) {
        assert_eq!(record.seq, at, "numbered from 1 without gaps");
    }
    check_entries(&records, history);
}

/// One entry per transition, in an order that is the history's own: no more and no fewer than was acknowledged.
pub(crate) fn check_entries(records: &[JournalRecord], history: &holdfast_checker::History) {
    let count = |kind: &str| records.iter().filter(|record| record.kind == kind).count();
    let ending = history.ending.as_ref().expect("an ending");
    let wins = judge(history, Evidence::NONE).summary().wins;
    assert_eq!(count("hold_placed"), wins, "one entry for every acknowledged hold");
    assert_eq!(count("booking_confirmed"), ending.bookings.len(), "one for every booking");
    assert_eq!(count("booking_cancelled"), ending.bookings.iter().filter(|kept| kept.cancelled).count());
    let ended = count("hold_released") + count("hold_expired") + count("booking_confirmed");
    let active = ending.holds.iter().filter(|kept| kept.state == KeptState::Active).count();
    assert_eq!(ended + active, wins, "a hold ends once");
    check_folding(records);
}

/// Folds the entries' own words: each begins in the state that the one before it left.
fn check_folding(records: &[JournalRecord]) {
    let mut states: HashMap<&str, &str> = HashMap::new();
    for record in records {
        let Some(hold) = record.hold.as_deref() else { continue };
        let (Some(before), Some(after)) = (record.before.as_deref(), record.after.as_deref()) else {
            continue;
        };
        if let Some(left) = states.insert(hold, after) {
            assert_eq!(before, left, "entry {} of {hold}", record.seq);
        }
    }
}

/// What is folded from disk is what was in memory.
fn check_reopened(folder: &Path, crowd: Crowd, history: &holdfast_checker::History) {
    let records = journal(crowd.ledger(), &crowd.runtime);
    let Crowd { nodes, clock, stage, recorder, .. } = crowd;
    let later = FastClock::after(&clock);
    drop(nodes);
    let reopened = self::crowd(folder, later, recorder, stage);
    let ending = reopened.ending().expect("the ending");
    let before = history.ending.as_ref().expect("an ending");
    assert_eq!(ending.bookings, before.bookings);
    let found = journal(reopened.ledger(), &reopened.runtime);
    assert_eq!(found[..records.len()], records[..]);
}
