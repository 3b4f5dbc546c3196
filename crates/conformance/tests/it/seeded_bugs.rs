//! A checker that has never caught a bug proves nothing. Each of these is put into a sound writer and must be caught,
//! by its name where it has one; without any of them the same runs are valid.

use std::collections::BTreeSet;

use holdfast_checker::{Anomaly, Evidence, judge};
use holdfast_conformance::histories::breakable::{Bug, run};

use crate::size::setting;

const OPERATIONS: usize = 10_000;
const SEEDS: u64 = 2;

#[test]
fn without_a_bug_every_run_is_valid() {
    for seed in 0..setting("HOLDFAST_TEST_CONTROLS", 10) {
        let history = run(None, OPERATIONS, seed);
        let verdict = judge(&history, Evidence::ALL);
        assert!(verdict.is_valid(), "seed {seed}: {}", verdict.tell(&history));
    }
}

/// What must be seen of each bug; other anomalies may follow from it.
fn telltale(bug: Bug) -> &'static [Anomaly] {
    match bug {
        Bug::SkipsTheRecheck | Bug::LetsTwoWritersIn => &[Anomaly::DoubleSale, Anomaly::StolenHold],
        Bug::AnswersBeforeTheCommit | Bug::LosesAWrite => &[Anomaly::LostHold],
        Bug::RefusesOnAnUnwrittenYes => &[Anomaly::FalseRefusal, Anomaly::NotLinearizable],
        Bug::ExpiresOnlyWhenSwept => &[Anomaly::FalseRefusal],
        Bug::ReplaysTheLastBatchTwice => &[Anomaly::FalseRefusal, Anomaly::PhantomHold],
        Bug::ConfirmsTheExpired => &[Anomaly::LateConfirm],
        Bug::RevivesTheExpired => &[Anomaly::LateExtend],
        Bug::TakesTheUnexpired => &[Anomaly::StolenHold],
        Bug::LetsTheClockGoBack => &[Anomaly::LateConfirm, Anomaly::FalseRefusal],
        Bug::DropsALine => &[Anomaly::PartialHold, Anomaly::StolenHold],
        Bug::TakesLinesOneByOne => &[Anomaly::PartialHold],
        Bug::ForgetsTheRelease | Bug::ForgetsTheCancel => &[Anomaly::FalseRefusal],
        Bug::AddsBackBlindly => &[Anomaly::Oversell],
        Bug::BooksTwice => &[Anomaly::BookedTwice],
        Bug::SharesKeysBetweenCallers | Bug::SwapsAnswers => &[Anomaly::CrossedAnswer],
        Bug::ForgetsKeys => &[Anomaly::KeyTwice],
        Bug::ReadsAStaleCopy => &[Anomaly::StaleRead],
    }
}

/// What is wrong with how the bug showed, if anything is.
fn uncaught(bug: Bug, seed: u64) -> Option<String> {
    let history = run(Some(bug), OPERATIONS, seed);
    let verdict = judge(&history, Evidence::NONE);
    let seen: BTreeSet<_> = verdict.violations().iter().map(|violation| violation.anomaly).collect();
    println!("{bug:?}, seed {seed}: {seen:?}");
    let by_name = telltale(bug).iter().any(|anomaly| seen.contains(anomaly));
    (!by_name).then(|| format!("{bug:?}, seed {seed}: {verdict}, {seen:?}"))
}

#[test]
fn every_seeded_bug_is_caught() {
    const { assert!(Bug::ALL.len() >= 20, "fewer prove too little") };
    let runs = Bug::ALL.into_iter().flat_map(|bug| (0..SEEDS).map(move |seed| (bug, seed)));
    let uncaught: Vec<_> = runs.filter_map(|(bug, seed)| uncaught(bug, seed)).collect();
    assert!(uncaught.is_empty(), "{uncaught:#?}");
}

/// The control that the whole proof rests on: take the protection away, and the double sale is seen.
#[test]
fn without_the_recheck_a_seat_is_sold_twice() {
    let history = run(Some(Bug::SkipsTheRecheck), OPERATIONS, 1);
    let verdict = judge(&history, Evidence::NONE);
    assert!(verdict.shows(Anomaly::DoubleSale), "{verdict}");
}
