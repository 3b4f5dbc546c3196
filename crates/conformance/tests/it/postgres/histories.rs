//! Concurrent histories before one node and before three, with every way of claiming, judged by the lab's checker.

use std::{fs, sync::Arc, time::Duration};

use holdfast_checker::{Evidence, judge};
use holdfast_conformance::histories::{
    Recorder, Stage,
    threads::{Crowd, FastClock},
    tolerate_the_slowest_commit,
};
use holdfast_engine::{
    ledger::{Ledger, postgres::Time},
    strategy::Claiming,
};

use super::{
    EVERY_WAY,
    house::{House, nodes, settings_with},
};
use crate::{
    histories::{check_entries, journal},
    size::{seed, setting},
};

const CUSTOMERS: u32 = 12;
const DATABASE: &str = "books";
/// From the reading of the clock to the commit, on a busy machine.
const COMMITTED_WITHIN_US: i64 = 200_000;

/// A hold lasts a second: long enough for many to expire.
const LONGER_THAN_HOLDS: Duration = Duration::from_secs(3);

/// Whose time it is: one that runs fast, so that a short run sees many holds expire, or PostgreSQL's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Fast,
    PostgreSql,
}

fn crowd(house: &House, claiming: Claiming, count: usize, whose: Whose) -> Crowd {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = Arc::new(runtime.expect("a runtime"));
    let stage = Arc::new(Stage::new());
    // What is decided in time is committed a little later, and somebody may look in between.
    let (clock, tolerance_us) = match whose {
        Whose::Fast => (FastClock::new(4), 4 * COMMITTED_WITHIN_US),
        Whose::PostgreSql => (FastClock::of_the_wall(), COMMITTED_WITHIN_US),
    };
    let clock = Arc::new(clock);
    let recorder = Arc::new(Recorder::new(Arc::clone(&stage), tolerance_us));
    let mut settings = settings_with(&house.emptied(DATABASE), claiming, recorder.render());
    if whose == Whose::Fast {
        settings.time = Time::Given(Arc::clone(&clock) as _);
    }
    let nodes = runtime.block_on(nodes(settings, count));
    let nodes = nodes.into_iter().map(|node| node as Arc<dyn Ledger>).collect();
    Crowd { nodes, clock, stage, recorder, runtime }
}

fn show(house: &House, claiming: Claiming, count: usize, whose: Whose, seed: u64) {
    let operations = setting("HOLDFAST_TEST_OPERATIONS", 8_000).div_ceil(10) as usize;
    let crowd = crowd(house, claiming, count, whose);
    crowd.open();
    crowd.run_for(LONGER_THAN_HOLDS, CUSTOMERS, operations / CUSTOMERS as usize, seed);
    let mut history = crowd.history().expect("the ending");
    tolerate_the_slowest_commit(&mut history);
    let verdict = judge(&history, Evidence::ALL);
    println!("{claiming:?}, {count} node(s), {whose:?} time: {verdict}");
    if !verdict.is_valid() {
        let kept = std::env::temp_dir().join(format!("holdfast-{claiming:?}-{count}-{seed}.json"));
        fs::write(&kept, history.to_json()).expect("the history is kept");
        panic!("{claiming:?} on {count}, kept in {}: {}", kept.display(), verdict.tell(&history));
    }
    check_entries(&journal(crowd.ledger(), &crowd.runtime), &history);
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(house.one(DATABASE, deadlocks), "0", "{claiming:?} on {count}: everybody locks in one order");
}

#[test]
fn a_crowd_before_one_node_is_linearizable_however_it_claims() {
    let (house, seed) = (House::quick(), seed("one node's history"));
    EVERY_WAY.into_iter().for_each(|claiming| show(&house, claiming, 1, Whose::Fast, seed));
}

#[test]
fn a_crowd_before_three_nodes_is_linearizable_however_they_claim() {
    let (house, seed) = (House::quick(), seed("three nodes' history"));
    EVERY_WAY.into_iter().for_each(|claiming| show(&house, claiming, 3, Whose::Fast, seed));
}

/// As in production: nobody's clock counts but PostgreSQL's.
#[test]
fn three_nodes_in_postgresqls_own_time_are_linearizable() {
    let (house, seed) = (House::quick(), seed("a history in PostgreSQL's time"));
    for claiming in [Claiming::Batched, Claiming::Atomic] {
        show(&house, claiming, 3, Whose::PostgreSql, seed);
    }
}
