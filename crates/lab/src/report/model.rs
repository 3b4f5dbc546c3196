//! What a run of the lab found, as data. This is the JSON of `holdfast lab --json` and the only thing the pictures
//! are drawn from, so whoever reads a picture can find its numbers.
//!
//! Times within a race are microseconds since its start, times within a fault run milliseconds. What was not
//! measured is `null`, never a zero.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub seed: u64,
    pub version: String,
    /// RFC 3339.
    pub started_at: String,
    pub machine: Machine,
    pub servers: Servers,
    pub quick: bool,
    /// All of it, from finding the servers to leaving them.
    #[serde(default)]
    pub took_s: f64,
    pub runs: Vec<Run>,
    pub races: Vec<Race>,
    pub contention: Vec<ContentionPoint>,
    pub faults: Vec<Fault>,
    pub skipped: Vec<Skipped>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cores: u32,
    pub cpu: String,
    pub os: String,
}

/// The versions of the servers that were used, where they were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Servers {
    pub postgres: Option<String>,
    pub redis: Option<String>,
}

/// One strategy or mistake in one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub strategy: String,
    pub scenario: String,
    pub buyers: u32,
    pub attempts: u64,
    pub won: u64,
    pub refused: u64,
    pub unknown: u64,
    pub violations: u64,
    pub false_refusals: u64,
    pub goodput_per_s: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub kind: Kind,
    pub verdict: Verdict,
    /// Who refused the double sale that this strategy would have made.
    pub saved_by: Option<String>,
    /// The few operations that show what went wrong, one a line.
    pub counterexample: Vec<String>,
    pub attempts_per_success: Option<f64>,
    pub round_trips_per_booking: Option<f64>,
    pub fsyncs_per_booking: Option<f64>,
    pub cpu_ms_per_booking: Option<f64>,
    pub load: Load,
    /// Of an open loop.
    pub rate_per_s: Option<f64>,
    /// Time ran short, and the doors closed before everybody had come as often as planned.
    #[serde(default)]
    pub cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Meant to hold, and run by the server too.
    Strategy,
    Naive,
    /// Seen in real shops, built here to be seen failing.
    Mistake,
}

/// The checker's word on a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Valid,
    Invalid,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// The next request waits for the answer to the last.
    Closed,
    /// Requests come at a rate, whether answered or not.
    Open,
}

/// One race drawn as lanes, a buyer each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    pub strategy: String,
    pub scenario: String,
    pub buyers: u32,
    pub seed: u64,
    /// The unit that everybody wanted.
    pub unit: String,
    pub lanes: Vec<Lane>,
    pub owners: Vec<Owner>,
    pub violations: Vec<Violation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    pub buyer: String,
    pub outcome: Outcome,
    pub start_us: u64,
    pub end_us: u64,
    pub phases: Vec<Span>,
    /// What this buyer heard, for people.
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Won,
    Refused,
    Unknown,
}

/// What a buyer was doing, from when to when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub phase: Phase,
    pub start_us: u64,
    pub end_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// At a lock, in a queue, or before the retry.
    Wait,
    Read,
    Think,
    Write,
    Commit,
    /// Asked and not yet answered: what happens inside is not seen from here.
    Ask,
}

/// Who was told that the unit is theirs, and how long that stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub holder: String,
    pub from_us: u64,
    /// None: to the end of the race and beyond.
    pub to_us: Option<u64>,
}

/// Something that must not be, with the stretch of time that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// `double_sale`, `oversell`, `lost_booking`, …: the checker's names.
    pub kind: String,
    pub unit: String,
    pub holders: Vec<String>,
    pub from_us: u64,
    pub to_us: u64,
    pub words: String,
}

/// How a strategy kept selling at a number of buyers on one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContentionPoint {
    pub strategy: String,
    pub buyers: u32,
    pub goodput_per_s: f64,
}

/// One run with a fault in the middle, counted in bins of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub strategy: String,
    pub fault: String,
    pub from_ms: u64,
    pub to_ms: u64,
    pub verdict: Verdict,
    pub bins: Vec<Bin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    pub at_ms: u64,
    pub won: u64,
    pub refused: u64,
    pub failed: u64,
}

/// What did not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub strategy: String,
    pub scenario: String,
    pub why: String,
}
