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

pub use customer::{Customer, Dice};
pub use recorder::Recorder;
pub use stage::Stage;
