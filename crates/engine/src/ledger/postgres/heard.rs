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
    /// In microseconds: whoever hears often would lose a fraction of a millisecond each time, which may be half of it.
    now_us: i64,
    since: Instant,
    /// Whether it passes by itself: a script's time does not.
    runs: bool,
}

impl Heard {
    /// The time at which a copy begins: not before the latest entry, that may have been written by a later clock.
    pub(super) fn beginning(time: &Time, clock: Moment, latest: Option<Moment>) -> Self {
        let believed = latest.filter(|latest| latest.ms_since(clock) <= MOST_AHEAD_MS);
        let now = clock.max(believed.unwrap_or(clock));
        Self { now_us: micros(now), since: instant_now(), runs: matches!(time, Time::Database) }
    }

    /// About what time it is, nobody having been asked.
    pub(super) fn about_now(&self, time: &Time) -> Moment {
        match time {
            Time::Database => millis(self.now_us + self.since.elapsed().as_micros() as i64),
            Time::Given(given) => given.now().max(millis(self.now_us)),
        }
    }

    /// What time it is, PostgreSQL's clock having just shown `clock`.
    pub(super) fn exactly(&self, time: &Time, clock: Moment) -> Moment {
        match time {
            Time::Database => clock.max(millis(self.at_least_us(instant_now()))),
            Time::Given(given) => given.now().max(millis(self.now_us)),
        }
    }

    /// It is at least this late.
    pub(super) fn reach(&mut self, now: Moment) {
        if micros(now) > self.now_us {
            let since = instant_now();
            // An entry tells when it was decided, which was a while ago: what has passed since counts as well.
            *self = Self { now_us: micros(now).max(self.at_least_us(since)), since, ..*self };
        }
    }

    /// How late it is at least, whatever the clock says: seven eighths of what has passed count, so that an hour's difference
    /// is made good in eight.
    fn at_least_us(&self, at: Instant) -> i64 {
        let passed = if self.runs { at.duration_since(self.since) } else { Duration::ZERO };
        self.now_us + passed.as_micros() as i64 * 7 / 8
    }
}

const fn micros(moment: Moment) -> i64 {
    moment.ms().saturating_mul(1_000)
}

const fn millis(us: i64) -> Moment {
    Moment::from_ms(us.div_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ago(now: i64, ms: u64) -> Heard {
        Heard { now_us: now * 1_000, since: instant_now() - Duration::from_millis(ms), runs: true }
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
        for _ in 0..100 {
            heard.since -= Duration::from_millis(2);
            let now = heard.exactly(&Time::Database, Moment::from_ms(0));
            heard.reach(now);
        }
        assert!(heard.now_us >= 600_175_000, "seven eighths of 200 ms: {heard:?}");
    }

    #[test]
    fn an_entry_of_a_moment_ago_does_not_hold_the_time_back() {
        let mut heard = ago(600_000, 800);
        heard.reach(Moment::from_ms(600_100));
        assert!(heard.now_us >= 600_700_000, "{heard:?}");
    }

    #[test]
    fn a_given_time_does_not_pass_by_itself() {
        let mut heard = Heard { runs: false, ..ago(600_000, 800) };
        heard.reach(Moment::from_ms(600_100));
        assert_eq!(heard.now_us, 600_100_000);
    }

    #[test]
    fn a_copy_begins_no_earlier_than_the_latest_entry() {
        let begins = |latest| Heard::beginning(&Time::Database, Moment::from_ms(0), latest).now_us / 1_000;
        assert_eq!(begins(None), 0);
        assert_eq!(begins(Some(Moment::from_ms(60_000))), 60_000);
        assert_eq!(begins(Some(Moment::from_ms(MOST_AHEAD_MS + 1))), 0, "that clock was wrong");
    }
}
