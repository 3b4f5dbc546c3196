//! The suite on PostgreSQL, with every way of claiming: a private server, a database for each ledger.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU32, Ordering},
};

use holdfast_conformance::{live::Live, sequences::Pair};
use holdfast_engine::strategy::Claiming;
use holdfast_rigs::Postgres;

use crate::{
    sequences::run,
    size::{seed, setting},
    stories::{START, tell_all},
};

const EVERY_WAY: [Claiming; 6] = [
    Claiming::Batched,
    Claiming::Pessimistic,
    Claiming::Atomic,
    Claiming::Cas,
    Claiming::Unique,
    Claiming::Queue,
];

/// A server whose commits need not survive a power cut: what is tested here is what is decided.
fn server() -> Postgres {
    Postgres::options().setting("fsync", "off").start().expect("a private PostgreSQL")
}

fn fresh_database(server: &Postgres) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("books{}", MADE.fetch_add(1, Ordering::Relaxed));
    server.create_database(&name).expect("a database")
}

#[test]
fn postgresql_tells_every_story_however_it_claims() {
    let server = server();
    for claiming in EVERY_WAY {
        println!("{claiming:?}");
        tell_all(|| Box::new(Live::postgres(fresh_database(&server), claiming, START)));
    }
}

#[test]
fn model_and_postgresql_agree_on_random_sequences_however_it_claims() {
    let sequences = setting("HOLDFAST_TEST_SEQUENCES", 5_000).div_ceil(50);
    let seed = seed("random sequences on PostgreSQL");
    let server = server();
    for claiming in EVERY_WAY {
        let opened = RefCell::new(0);
        let told = run(seed, sequences, true, || {
            *opened.borrow_mut() += 1;
            Pair::postgres(fresh_database(&server), claiming)
        });
        let seen = told.unwrap_or_else(|difference| panic!("{claiming:?}: {difference}"));
        println!("{claiming:?}: {sequences} sequences, no difference: {seen:?}");
    }
}
