//! Concurrent histories: many customers at once, everything they were told written down for the lab's checker.
//!
//! ```text
//! Customer ─► what to ask next ─► a ledger ─► Recorder ─► History ─► holdfast_checker::judge
//!                                  │ real: threads, disk, a clock that runs fast (threads)
//!                                  └ breakable: a small writer on virtual time, with a bug (breakable)
//! ```
//! The [`Stage`] is what is on sale: little of it, so that customers get in each other's way.

pub mod breakable;
mod customer;
mod recorder;
mod stage;
pub mod threads;

use holdfast_checker::{Call, History, Outcome};

pub use customer::{Customer, Dice};
pub use recorder::Recorder;
pub use stage::Stage;

/// What is decided in time is committed a little later, and somebody may look in between: for as long, at most, as the
/// slowest yes took that had to come in time. On a quiet machine that is less than the history tolerates anyway.
pub fn tolerate_the_slowest_commit(history: &mut History) {
    let in_time = |call: &Call| matches!(call, Call::Confirm { .. } | Call::Extend { .. });
    let yes = history.operations.iter().filter(|operation| matches!(operation.outcome, Outcome::Ok(_)));
    let slowest =
        yes.filter(|operation| in_time(&operation.call)).map(|operation| operation.end - operation.start);
    history.tolerance_us = history.tolerance_us.max(slowest.max().unwrap_or(0));
}
