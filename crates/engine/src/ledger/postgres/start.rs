//! Whether a request was begun or given up.
//!
//! ```text
//! waits ─┬─► begun     it may take effect, whether or not anybody still waits for it;
//!   ▲    │     │       all of it rolled back, it waits again
//!   └────┼─────┘
//!        └─► given up  it never will
//! ```
//! Whoever comes first settles it for good, so that a caller who is told "nothing happened" is told the truth.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

#[derive(Debug, Clone, Default)]
pub(super) struct Start(Arc<AtomicU8>);

impl Start {
    /// Whether it may be carried out. Ask before anything of it can take effect.
    #[must_use]
    pub(super) fn begin(&self) -> bool {
        self.settle(BEGUN)
    }

    /// Nothing of it has taken effect, and nothing will until it begins anew.
    pub(super) fn put_back(&self) {
        // One that was given up stays so.
        let _ = self.0.compare_exchange(BEGUN, WAITS, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether it is certain that nothing of it will ever take effect.
    #[must_use]
    pub(super) fn give_up(&self) -> bool {
        self.settle(GIVEN_UP)
    }

    fn settle(&self, to: u8) -> bool {
        let before = self.0.compare_exchange(WAITS, to, Ordering::AcqRel, Ordering::Acquire);
        before.is_ok() || before == Err(to)
    }
}

#[cfg(test)]
mod tests {
    use super::Start;

    #[test]
    fn what_is_begun_is_not_given_up_and_what_is_given_up_never_begins() {
        let (begun, given_up) = (Start::default(), Start::default());
        assert!(begun.begin() && begun.clone().begin(), "it may take several attempts");
        assert!(!begun.give_up());
        assert!(given_up.give_up());
        given_up.put_back();
        assert!(!given_up.begin());
        begun.put_back();
        assert!(begun.give_up(), "rolled back, it waits like any other");
    }
}
