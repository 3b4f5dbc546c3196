//! One suite that every ledger must pass, and the pure model beside it as the specification.
//!
//! ```text
//! stories/*.story ──► story ──────┐
//! random commands ──► sequences ──┼──► Subject: the model, the real ledgers
//!                                 │
//! many tasks at once ─► histories ┴──► holdfast-checker's checker
//! ```
//! [`story`] reads scripts that double as documentation; [`subject`] is the small port through which they, and
//! random command sequences, are put to anything that keeps books. Any difference between two subjects is a bug.
//!
//! Deliberately absent: switches in production code. What must break in order to be caught is broken here.

pub mod crash;
pub mod gated;
pub mod histories;
pub mod live;
pub mod model;
pub mod sequences;
pub mod story;
pub mod subject;
mod views;

/// When all stories and sequences begin: a Sunday evening in Berlin, 2026-11-15T18:00:00Z.
pub const fn story_start() -> holdfast_domain::Moment {
    holdfast_domain::Moment::from_s(1_794_765_600)
}
