//! How long a run of the lab may take in all, shared out among its rows.
//!
//! What has a length of its own (a fault, a mistake, the counting of round trips) keeps it. Every other row is given a
//! few times its fair share, because most need far less than theirs; what it does not use is there for those that follow.
//! When time runs short rows shrink, down to everybody coming once. None is left out.

use std::time::Duration;

use tokio::time::Instant;

/// How often its fair share a row may take.
const GREED: u32 = 6;
/// What is kept for each row to come.
const LEAST: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct Budget {
    ends: Instant,
    rows: u32,
    fixed: Duration,
}

impl Budget {
    /// For that many rows, beside what takes `fixed` in all.
    pub(crate) fn until(ends: Instant, rows: u32, fixed: Duration) -> Self {
        Self { ends, rows, fixed }
    }

    /// How long the next row may go on letting buyers in.
    pub(crate) fn row(&mut self) -> Duration {
        self.rows = self.rows.saturating_sub(1);
        let left = self.ends.saturating_duration_since(Instant::now());
        share(left.saturating_sub(self.fixed), self.rows)
    }

    /// Something of a length of its own begins.
    pub(crate) fn begin_fixed(&mut self, takes: Duration) {
        self.fixed = self.fixed.saturating_sub(takes);
    }
}

fn share(left: Duration, others: u32) -> Duration {
    let fair = left / (others + 1);
    let spare = left.saturating_sub(LEAST * others);
    (fair * GREED).min(spare).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Total time, the shortest row and the last one, when a row uses that part of what it is given.
    fn spend(within: Duration, rows: u32, part: f64) -> (Duration, Duration, Duration) {
        let (mut left, mut shortest, mut last) = (within, within, within);
        for others in (0..rows).rev() {
            last = share(left, others);
            shortest = shortest.min(last);
            left = left.saturating_sub(last.mul_f64(part));
        }
        (within - left, shortest, last)
    }

    #[test]
    fn greedy_rows_never_take_more_than_there_is() {
        for rows in [1, 90, 300] {
            let within = Duration::from_secs(700);
            let (spent, shortest, _) = spend(within, rows, 1.0);
            assert!(spent <= within && shortest >= LEAST, "{rows}: {spent:?} {shortest:?}");
        }
    }

    #[test]
    fn rows_that_need_little_leave_the_rest_to_others() {
        let (_, shortest, last) = spend(Duration::from_secs(700), 270, 0.1);
        assert!(shortest >= Duration::from_secs(5) && last >= shortest * 2, "{shortest:?} {last:?}");
    }
}
