//! The numbers of a run, read from its history and nothing else, so that anybody with the history can read them again.
//!
//! An attempt is one request for a hold. Won is how many holds somebody was told of; the same hold told twice, to a
//! request that was sent twice, is one. Latencies are those of all attempts, also of those that heard no: a percentile
//! is the smallest latency that so many of them do not exceed. Goodput is bookings (confirmed holds) a second, from the
//! first request to the last answer.

use std::collections::HashSet;

use holdfast_checker::{
    Call, History, Outcome,
    history::{Answer, Micros, Operation},
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figures {
    pub attempts: u64,
    pub won: u64,
    pub refused: u64,
    pub unknown: u64,
    pub booked: u64,
    pub goodput_per_s: f64,
    /// p50, p95, p99, p99.9 in milliseconds.
    pub latency_ms: [f64; 4],
}

impl Figures {
    pub(crate) fn of(history: &History) -> Self {
        let attempts: Vec<&Operation> =
            history.operations.iter().filter(|op| matches!(op.call, Call::Hold { .. })).collect();
        let won: HashSet<_> = attempts.iter().filter_map(|op| held(&op.outcome)).collect();
        let count = |of: &dyn Fn(&Outcome) -> bool| attempts.iter().filter(|op| of(&op.outcome)).count();
        let booked: HashSet<_> = history.operations.iter().filter_map(booking).collect();
        let mut took: Vec<Micros> = attempts.iter().map(|op| op.end - op.start).collect();
        took.sort_unstable();
        Self {
            attempts: attempts.len() as u64,
            won: won.len() as u64,
            refused: count(&|outcome| matches!(outcome, Outcome::Fail(_))) as u64,
            unknown: count(&|outcome| *outcome == Outcome::Unknown) as u64,
            booked: booked.len() as u64,
            goodput_per_s: per_second(booked.len() as u64, span(history)),
            latency_ms: [500, 950, 990, 999].map(|per_mille| percentile_ms(&took, per_mille)),
        }
    }

    pub(crate) fn attempts_per_success(&self) -> Option<f64> {
        (self.won > 0).then(|| rounded(self.attempts as f64 / self.won as f64))
    }

    pub(crate) fn per_booking(&self, sum: f64) -> Option<f64> {
        (self.booked > 0).then(|| rounded(sum / self.booked as f64))
    }
}

fn held(outcome: &Outcome) -> Option<u32> {
    match outcome {
        Outcome::Ok(Answer::Held { hold, again: false, .. }) => Some(*hold),
        _ => None,
    }
}

fn booking(operation: &Operation) -> Option<u32> {
    match &operation.outcome {
        Outcome::Ok(Answer::Confirmed { booking, .. }) => Some(*booking),
        _ => None,
    }
}

fn span(history: &History) -> Micros {
    let start = history.operations.iter().map(|op| op.start).min().unwrap_or(0);
    let end = history.operations.iter().map(|op| op.end).max().unwrap_or(0);
    end - start
}

fn per_second(count: u64, span: Micros) -> f64 {
    if span <= 0 { 0.0 } else { rounded(count as f64 * 1e6 / span as f64) }
}

/// The nearest rank.
fn percentile_ms(sorted: &[Micros], per_mille: usize) -> f64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(rank - 1).map_or(0.0, |us| *us as f64 / 1000.0)
}

/// Three decimals: more would be noise.
pub(crate) fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_were_measured() {
        let took: Vec<Micros> = (1..=100).map(|ms| ms * 1000).collect();
        assert_eq!([500, 950, 990, 999].map(|at| percentile_ms(&took, at)), [50.0, 95.0, 99.0, 100.0]);
        assert_eq!(percentile_ms(&[7000], 500), 7.0);
        assert_eq!(percentile_ms(&[], 999), 0.0);
    }
}
