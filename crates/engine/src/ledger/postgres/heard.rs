//! What time it is for the node's copy of the books: the latest that PostgreSQL's clock or an entry said, and how long ago
//! that was.
//!
//! This time never goes back, so that no decision is dated before an entry it builds on. After PostgreSQL's clock was set
//! back, the time goes on from the latest that was heard, at seven eighths of its usual speed, until the clock has caught
//! up. If it stood still instead, no hold would expire meanwhile, and nodes that had not heard the same latest time would
//! disagree about what has expired.

use std::time::{Duration, Instant};

use holdfast_domain::Moment;

use super::replica::Time;
use crate::ledger::embedded::instant_now;

/// An entry that lies further ahead of PostgreSQL's clock was written while that clock was wrong: whoever has it put
/// right and starts the nodes again has the right time.
const MOST_AHEAD_MS: i64 = 3_600_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    now: Moment,
    since: Instant,
}

impl Heard {
    /// The time at which a copy begins: not before the latest entry, that may have been written by a later clock.
    pub(super) fn beginning(clock: Moment, latest: Option<Moment>) -> Self {
        let believed = latest.filter(|latest| latest.ms_since(clock) <= MOST_AHEAD_MS);
        Self { now: clock.max(believed.unwrap_or(clock)), since: instant_now() }
    }

    /// About what time it is, nobody having been asked.
    pub(super) fn about_now(&self, time: &Time) -> Moment {
        match time {
            Time::Database => self.now.plus_ms(self.since.elapsed().as_millis() as i64),
            Time::Given(given) => given.now().max(self.now),
        }
    }

    /// What time it is, PostgreSQL's clock having just shown `clock`.
    pub(super) fn exactly(&self, time: &Time, clock: Moment) -> Moment {
        match time {
            Time::Database => clock.max(self.now.plus_ms(slower(self.since.elapsed()))),
            Time::Given(given) => given.now().max(self.now),
        }
    }

    /// It is at least this late. What does not advance the time leaves it running: whoever is told often would otherwise
    /// lose every fraction of a millisecond.
    pub(super) fn reach(&mut self, now: Moment) {
        if now > self.now {
            *self = Self { now, since: instant_now() };
        }
    }
}

/// Seven eighths of what has passed, in milliseconds: an hour's difference is made good in eight.
const fn slower(passed: Duration) -> i64 {
    (passed.as_millis() as i64) * 7 / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ago(now: i64, ms: u64) -> Heard {
        Heard { now: Moment::from_ms(now), since: instant_now() - Duration::from_millis(ms) }
    }

    #[test]
    fn a_clock_that_is_set_back_slows_the_time_and_does_not_stop_it() {
        let heard = ago(600_000, 8_000);
        let now = heard.exactly(&Time::Database, Moment::from_ms(1_000)).ms();
        assert!((607_000..608_000).contains(&now), "{now}");
        assert_eq!(heard.exactly(&Time::Database, Moment::from_ms(900_000)).ms(), 900_000);
    }

    #[test]
    fn it_goes_on_however_often_it_is_heard() {
        let mut heard = ago(600_000, 0);
        let began = instant_now();
        while began.elapsed() < Duration::from_millis(40) {
            let now = heard.exactly(&Time::Database, Moment::from_ms(0));
            heard.reach(now);
        }
        assert!(heard.now.ms() >= 600_015, "{heard:?}");
    }

    #[test]
    fn a_copy_begins_no_earlier_than_the_latest_entry() {
        let begins = |latest| Heard::beginning(Moment::from_ms(0), latest).now.ms();
        assert_eq!(begins(None), 0);
        assert_eq!(begins(Some(Moment::from_ms(60_000))), 60_000);
        assert_eq!(begins(Some(Moment::from_ms(MOST_AHEAD_MS + 1))), 0, "that clock was wrong");
    }
}
