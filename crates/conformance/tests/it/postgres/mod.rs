//! Everything that is shown of the PostgreSQL ledger, on private servers: the suite with every way of claiming, crowds
//! before one node and before three, what PostgreSQL itself refuses, and what happens when it is hurt.

mod faults;
mod gated;
pub(crate) mod goods;
mod histories;
pub(crate) mod house;
mod journal;
mod kept;
mod nodes;
mod plans;
mod refuses;
mod rooms;
mod seeded_bugs;
mod tls;
mod traps;
mod unwritable;

use std::thread;

use holdfast_conformance::{live::Live, sequences::Pair};
use holdfast_engine::strategy::Claiming;

use crate::{
    sequences::run,
    size::{seed, setting},
    stories::{START, tell_all},
};
use house::House;

const EVERY_WAY: [Claiming; 6] = [
    Claiming::Batched,
    Claiming::Pessimistic,
    Claiming::Atomic,
    Claiming::Cas,
    Claiming::Unique,
    Claiming::Queue,
];

/// Half of the ways on each of two threads: most of the time goes by waiting for the server.
fn with_every_way(show: impl Fn(Claiming) + Sync) {
    let show = &show;
    let (some, others) = EVERY_WAY.split_at(3);
    thread::scope(|scope| {
        for ways in [some, others] {
            scope.spawn(move || ways.iter().copied().for_each(show));
        }
    });
}

#[test]
fn postgresql_tells_every_story_however_it_claims() {
    let house = House::quick();
    with_every_way(|claiming| {
        let name = format!("{claiming:?}").to_lowercase();
        tell_all(|| Box::new(Live::postgres(house.emptied(&name), claiming, START)));
        println!("{claiming:?}: every story");
    });
}

#[test]
fn model_and_postgresql_agree_on_random_sequences_however_it_claims() {
    let sequences = setting("HOLDFAST_TEST_SEQUENCES", 5_000).div_ceil(100);
    let seed = seed("random sequences on PostgreSQL");
    let house = House::quick();
    with_every_way(|claiming| {
        let name = format!("{claiming:?}").to_lowercase();
        let told = run(seed, sequences, true, || Pair::postgres(house.emptied(&name), claiming));
        let seen = told.unwrap_or_else(|difference| panic!("{claiming:?}: {difference}"));
        println!("{claiming:?}: {sequences} sequences, no difference: {seen:?}");
    });
}
