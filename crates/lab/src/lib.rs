//! The lab: every way of not selling a thing twice, side by side, with what was seen of each.
//!
//! ```text
//! seed ─► schedule ─► buyers ─► shop: a strategy of the engine, or a mistake ─► history ─► holdfast-checker
//!                       │                                                                      │
//!                       └─ figures, lanes ──────────────► report: JSON, HTML, SVG ◄────────────┘
//! ```
//! A [`schedule`] is what buyers will ask, made of dice. A [`shop`] answers them: the engine's own pipeline, gate and
//! ledger ([`house`]), the same as servers of their own ([`served`]), or one of the ways in which real shops went wrong
//! ([`mistakes`]). Whatever was asked and answered is a history, and the verdict on it is the checker's: nothing here
//! counts its own wins. The [`report`] draws what it is given and judges nothing. Called by the binary; the server does not know this crate.

mod budget;
mod crowd;
mod dice;
mod faults;
mod figures;
mod house;
mod http;
mod lanes;
mod meters;
mod mistakes;
mod options;
pub mod process;
pub mod race;
pub mod report;
mod row;
mod run;
mod scenario;
mod schedule;
pub mod scratch;
mod served;
mod servers;
pub mod shelf;
mod shop;
pub mod spot;
mod told;
mod trips;
mod watch;

pub use dice::Dice;
pub use meters::cpu_time;
pub use options::Options;
pub use run::{LabError, Progress, run};
pub use scenario::Scenario;
pub use told::{kept_state, reason, version};
