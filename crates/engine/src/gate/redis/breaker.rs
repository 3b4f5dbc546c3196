//! Leaves a server alone that does not answer.
//!
//! ```text
//!            failures in a row
//!   closed ───────────────────► open
//!     ▲                          │ a look at the server went well
//!     │ a request went well,     ▼
//!     │ or the next look    half open ──► open, when a request goes wrong
//!     └──────────────────────────┘
//! ```
//! While open, nobody waits for the server: only its keeper looks at it, now and then. Half open, a bounded number of
//! requests try at once. Where nobody tries, two good looks in a row are enough: a quiet node is not a node in trouble.
//! Closed and open are told to the herald, where there is one; half open is neither a loss nor a return.

use std::sync::Arc;

use holdfast_domain::Moment;
use parking_lot::Mutex;

use super::herald::Herald;
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct Breaker {
    state: Mutex<State>,
    herald: Option<Mutex<Herald>>,
    failures_to_open: u32,
    trials: u32,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { since: Moment },
    HalfOpen { trying: u32, since: Moment },
}

impl Breaker {
    /// Open: nobody has met the server yet.
    pub(super) fn new(failures_to_open: u32, trials: u32, clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::new(State::Open { since: clock.now() });
        Self { state, herald: None, failures_to_open, trials, clock }
    }

    #[must_use]
    pub(super) fn told_by(self, herald: Option<Herald>) -> Self {
        Self { herald: herald.map(Mutex::new), ..self }
    }

    fn tell(&self, state: &State) {
        match (&self.herald, state) {
            (None, _) | (_, State::HalfOpen { .. }) => {}
            (Some(herald), State::Closed { .. }) => herald.lock().is_there(),
            (Some(herald), State::Open { .. }) => herald.lock().is_gone(),
        }
    }

    /// Whether a request may go to the server now. Whoever may must report back.
    pub(super) fn admits(&self) -> bool {
        match &mut *self.state.lock() {
            State::Closed { .. } => true,
            State::Open { .. } => false,
            State::HalfOpen { trying, .. } if *trying < self.trials => {
                *trying += 1;
                true
            }
            State::HalfOpen { .. } => false,
        }
    }

    /// A straggler that was admitted before the breaker opened does not close it.
    pub(super) fn went_well(&self) {
        let mut state = self.state.lock();
        if !matches!(*state, State::Open { .. }) {
            *state = State::Closed { failures: 0 };
            self.tell(&state);
        }
    }

    pub(super) fn went_wrong(&self) {
        let mut state = self.state.lock();
        match &mut *state {
            State::Closed { failures } if *failures + 1 < self.failures_to_open => *failures += 1,
            State::Closed { .. } => *state = State::Open { since: self.clock.now() },
            State::HalfOpen { since, .. } => *state = State::Open { since: *since },
            State::Open { .. } => {}
        }
        self.tell(&state);
    }

    /// The connection is gone, or the server cannot be written to: there is nothing to try.
    pub(super) fn cut(&self) {
        let mut state = self.state.lock();
        *state = match &*state {
            State::Closed { .. } => State::Open { since: self.clock.now() },
            State::Open { since } | State::HalfOpen { since, .. } => State::Open { since: *since },
        };
        self.tell(&state);
    }

    /// The keeper's look at the server went well.
    pub(super) fn seen_well(&self) {
        let mut state = self.state.lock();
        match &*state {
            State::Open { since } => *state = State::HalfOpen { trying: 0, since: *since },
            State::HalfOpen { .. } => *state = State::Closed { failures: 0 },
            State::Closed { .. } => {}
        }
        self.tell(&state);
    }

    /// Since when the server has been out of reach.
    pub(super) fn trouble_since(&self) -> Option<Moment> {
        match *self.state.lock() {
            State::Closed { .. } => None,
            State::Open { since } | State::HalfOpen { since, .. } => Some(since),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(*self.state.lock(), State::Open { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn closed() -> Breaker {
        let breaker = Breaker::new(3, 2, Arc::new(ManualClock::at(Moment::from_s(1))));
        breaker.seen_well();
        breaker.went_well();
        breaker
    }

    #[test]
    fn opens_after_failures_in_a_row_only() {
        let breaker = closed();
        for _ in 0..5 {
            breaker.went_wrong();
            breaker.went_wrong();
            breaker.went_well();
        }
        assert!(breaker.admits());
        (0..3).for_each(|_| breaker.went_wrong());
        assert!(!breaker.admits());
        assert_eq!(breaker.trouble_since(), Some(Moment::from_s(1)));
    }

    #[test]
    fn half_open_lets_a_few_try_and_believes_the_first() {
        let breaker = closed();
        breaker.cut();
        assert!(!breaker.admits());
        breaker.seen_well();
        assert_eq!([breaker.admits(), breaker.admits(), breaker.admits()], [true, true, false]);
        breaker.went_wrong();
        breaker.went_well();
        assert!(!breaker.admits(), "one failed trial opens it again, and a straggler does not close it");
        breaker.seen_well();
        assert!(breaker.admits());
        breaker.went_well();
        assert!(breaker.admits() && breaker.trouble_since().is_none());
    }

    #[test]
    fn a_server_that_nobody_asks_is_no_trouble_once_it_was_seen_well_twice() {
        let breaker = Breaker::new(3, 2, Arc::new(ManualClock::at(Moment::from_s(1))));
        breaker.seen_well();
        assert!(breaker.trouble_since().is_some(), "once may be luck");
        breaker.cut();
        breaker.seen_well();
        assert!(breaker.trouble_since().is_some(), "not in a row");
        breaker.seen_well();
        assert_eq!(breaker.trouble_since(), None);
    }
}
