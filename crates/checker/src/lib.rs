//! What happened, written down, and a judge who reads it.
//!
//! A [`history`] is a list of operations as the clients saw them: who asked what, from when to when, and what came
//! of it: yes, no, or nobody knows. The [`checker`] reads it together with the store's final content and says
//! whether all of it can be true of a shop that sells each thing once. It never looks at a ledger's counters, and
//! it shares no code with the domain: a judge who reasons like the accused would repeat the same mistake.

pub mod checker;
pub mod history;

pub use checker::{Anomaly, Doubt, Evidence, Verdict, Violation, judge};
pub use history::{Call, Claim, History, Operation, Outcome};
