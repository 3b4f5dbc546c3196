//! Random command sequences: the model and the embedded ledger agree on every answer and on the books in the end.

use std::{cell::RefCell, thread};

use holdfast_conformance::sequences::{Answers, Move, Pair, a_move};
use holdfast_engine::ledger::embedded::Storage;
use proptest::{
    collection::vec,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};

use crate::size::{seed, setting};

/// Sequences that one pair is told before a fresh one takes its place: opening a ledger costs more than a sequence.
const SEQUENCES_PER_PAIR: u64 = 64;

/// A source of pairs that hands out the same one while all goes well.
struct Pairs<F> {
    current: RefCell<Option<Pair>>,
    fresh: F,
    seen: RefCell<Answers>,
}

impl<F: Fn() -> Pair> Pairs<F> {
    /// After a difference the pair is not used again, so shrinking begins every attempt with empty books.
    fn play(&self, moves: &[Move]) -> Result<(), TestCaseError> {
        let mut pair = self.current.borrow_mut().take().unwrap_or_else(&self.fresh);
        pair.play(moves).map_err(|difference| TestCaseError::fail(difference.to_string()))?;
        if pair.sequences() < SEQUENCES_PER_PAIR {
            self.current.replace(Some(pair));
            return Ok(());
        }
        self.retire(&pair);
        pair.compare_journals().map_err(|difference| TestCaseError::fail(difference.to_string()))
    }

    fn retire(&self, pair: &Pair) {
        let mut seen = self.seen.borrow_mut();
        pair.seen().iter().for_each(|(code, times)| *seen.entry(code).or_default() += times);
    }
}

/// Every answer there is must have been given, or the agreement proves nothing about it.
const EVERY_ANSWER: [&str; 32] = [
    "held",
    "held again",
    "extended",
    "released",
    "left",
    "returned",
    "confirmed",
    "cancelled",
    "tidied",
    "payment begun",
    "payment changed",
    "payment unchanged",
    "open",
    "not_cancellable",
    "done",
    "replayed",
    "idempotency_key_reused",
    "unknown_offer",
    "unknown_unit",
    "unknown_hold",
    "unknown_booking",
    "invalid_time",
    "invalid_request",
    "offer_exists",
    "hold_released",
    "hold_expired",
    "already_booked",
    "not_on_sale",
    "limit_reached",
    "sold_out",
    "unit_taken",
    "unit_blocked",
];

fn must_have_seen_everything(seen: &Answers) {
    let missing: Vec<_> = EVERY_ANSWER.iter().filter(|code| !seen.contains_key(*code)).collect();
    assert!(missing.is_empty(), "proves nothing about {missing:?}: {seen:?}");
}

pub(crate) fn run(
    seed: u64,
    cases: u64,
    with_restarts: bool,
    fresh: impl Fn() -> Pair,
) -> Result<Answers, String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases: cases as u32, failure_persistence: None, ..Config::default() };
    let pairs = Pairs { current: RefCell::new(None), fresh, seen: RefCell::default() };
    let moves = vec(a_move(with_restarts), 1..40);
    let told = TestRunner::new_with_rng(config, rng).run(&moves, |moves| pairs.play(&moves));
    told.map_err(|failure| format!("seed {seed}: {failure}"))?;
    pairs.current.borrow().iter().for_each(|pair| pairs.retire(pair));
    Ok(pairs.seen.into_inner())
}

#[test]
fn model_and_embedded_ledger_agree_on_random_sequences() {
    let sequences = setting("HOLDFAST_TEST_SEQUENCES", 5_000);
    let seed = seed("random sequences");
    // One thread for each of two cores; each has its own ledgers and its own half of the sequences.
    let half = |half| {
        let seed = seed.wrapping_mul(2).wrapping_add(half);
        move || run(seed, sequences.div_ceil(2), false, || Pair::new(Storage::Memory))
    };
    let (one, other) = thread::scope(|scope| {
        let (one, other) = (scope.spawn(half(0)), scope.spawn(half(1)));
        (one.join().expect("no panic"), other.join().expect("no panic"))
    });
    let mut seen = one.unwrap_or_else(|difference| panic!("{difference}"));
    for (code, times) in other.unwrap_or_else(|difference| panic!("{difference}")) {
        *seen.entry(code).or_default() += times;
    }
    println!("{sequences} sequences, no difference: {seen:?}");
    if sequences >= 1_000 {
        must_have_seen_everything(&seen);
    }
}

#[test]
fn they_agree_across_restarts_on_disk() {
    let sequences = setting("HOLDFAST_TEST_SEQUENCES", 5_000).div_ceil(50);
    let seed = seed("random sequences on disk");
    let folder = tempfile::tempdir().expect("a folder");
    let opened = RefCell::new(0);
    let told = run(seed, sequences, true, || {
        *opened.borrow_mut() += 1;
        Pair::new(Storage::Dir(folder.path().join(opened.borrow().to_string())))
    });
    told.unwrap_or_else(|difference| panic!("{difference}"));
    println!("{sequences} sequences with restarts, no difference");
}

/// The control: two that differ by a millisecond are told apart, by few moves.
#[test]
fn a_ledger_whose_clock_is_a_millisecond_ahead_is_told_apart() {
    let told = run(1, 100, false, || Pair::apart(Storage::Memory, 1));
    let difference = told.expect_err("a difference");
    assert!(difference.contains("model:") && difference.contains("ledger:"), "{difference}");
}
