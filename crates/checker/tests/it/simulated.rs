//! Histories by the thousand: those of an honest shop are valid, and a lie told in one of them is found.

use holdfast_checker::{
    Call, Evidence, History, Operation, Outcome, Verdict,
    history::{Answer, Reason},
    judge,
};

use crate::shop::{Dice, Setting, history};

fn small(seed: u64, with_versions: bool, lost_one_in: u64) -> Setting {
    Setting {
        operations: 120,
        processes: 6,
        units: vec![1, 1, 4],
        ttl_us: 700,
        with_versions,
        lost_one_in,
        seed,
    }
}

#[track_caller]
fn must_be_valid(history: &History, seed: u64) {
    let verdict = judge(history, Evidence::NONE);
    assert!(verdict.is_valid(), "seed {seed}: {}", verdict.tell(history));
}

#[test]
fn an_honest_shop_is_found_honest() {
    for seed in 0..1500 {
        must_be_valid(&history(&small(seed, seed % 2 == 0, 0)), seed);
    }
}

#[test]
fn lost_answers_do_not_make_it_a_liar() {
    for seed in 0..700 {
        let history = history(&small(seed, seed % 2 == 0, 25));
        let verdict = judge(&history, Evidence::NONE);
        assert!(!matches!(verdict, Verdict::Invalid(..)), "seed {seed}: {}", verdict.tell(&history));
    }
}

/// Makes the first answer from `from` on that `turn` can turn into something else a lie.
fn lie(history: &mut History, from: usize, turn: impl Fn(&Operation) -> Option<Answer>) -> bool {
    let mut later = history.operations[from..].iter_mut();
    let lie = later.find_map(|operation| turn(operation).map(|answer| (operation, answer)));
    lie.is_some_and(|(operation, answer)| {
        operation.version = None;
        operation.outcome = Outcome::Ok(answer);
        true
    })
}

/// How many of the histories with a lie in them are found out, and how many there are.
fn found_out(turn: impl Fn(&Operation) -> Option<Answer>) -> (usize, usize) {
    let (mut found, mut told) = (0, 0);
    for seed in 0..400 {
        let mut history = history(&small(seed, seed % 2 == 0, 0));
        if lie(&mut history, Dice(seed).below(100) as usize, &turn) {
            told += 1;
            found += usize::from(matches!(judge(&history, Evidence::NONE), Verdict::Invalid(..)));
        }
    }
    assert!(told > 200, "only {told} lies");
    (found, told)
}

#[test]
fn a_read_of_what_never_was_is_found_out() {
    let (found, told) = found_out(|operation| match operation.outcome {
        Outcome::Ok(Answer::Seen { held, booked }) => Some(Answer::Seen { held, booked: booked + 7 }),
        _ => None,
    });
    assert_eq!(found, told);
}

#[test]
fn a_read_that_misses_what_is_there_is_found_out() {
    let (found, told) = found_out(|operation| match operation.outcome {
        Outcome::Ok(Answer::Seen { held, booked: booked @ 1.. }) => {
            Some(Answer::Seen { held, booked: booked - 1 })
        }
        _ => None,
    });
    // One that raced with the confirm or the cancel may be true after all.
    assert!(found * 100 > told * 75, "{found} of {told}");
}

#[test]
fn a_hold_granted_twice_is_found_out() {
    let (found, told) = found_out(|operation| match (&operation.call, &operation.outcome) {
        (Call::Hold { holder, claims, .. }, Outcome::Fail(Reason::Taken(_))) => Some(Answer::Held {
            hold: 400,
            holder: *holder,
            claims: claims.clone(),
            expires_at: operation.end + 100_000,
            again: false,
        }),
        _ => None,
    });
    assert!(found * 100 > told * 95, "{found} of {told}");
}

/// For `holdfast lab check`, where somebody asks for the file.
fn keep(name: &str, history: &History) {
    if let Some(folder) = std::env::var_os("HOLDFAST_TEST_KEEP") {
        let file = std::path::Path::new(&folder).join(format!("{}.json", name.replace([' ', ','], "-")));
        std::fs::write(file, history.to_json()).expect("a folder that can be written to");
    }
}

/// `HOLDFAST_TEST_HISTORY` operations, judged against the clock.
fn judge_large(name: &str, units: Vec<u32>, with_versions: bool) {
    let operations =
        std::env::var("HOLDFAST_TEST_HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let (processes, ttl_us, lost_one_in) = (200, 400, 0);
    let history =
        history(&Setting { operations, processes, units, ttl_us, with_versions, lost_one_in, seed: 1 });
    #[expect(clippy::disallowed_methods, reason = "a measurement, not a decision")]
    let begun = std::time::Instant::now();
    let verdict = judge(&history, Evidence::ALL);
    println!("{name}: {operations} operations judged in {:?}: {verdict}", begun.elapsed());
    keep(name, &history);
    assert!(verdict.is_valid(), "{}", verdict.tell(&history));
}

#[test]
fn a_million_operations_on_many_seats_and_two_lines_of_stock() {
    let mut units = vec![1; 2_000];
    units.extend([50, 500]);
    judge_large("hall and fest", units, true);
}

#[test]
fn a_million_operations_on_one_seat() {
    judge_large("one seat", vec![1], true);
    judge_large("one seat, no versions", vec![1], false);
}

#[test]
fn a_million_operations_on_one_line_of_stock() {
    judge_large("one line of stock", vec![100], true);
}
