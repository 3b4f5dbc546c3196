//! Why a command could not do its work, and what its caller should do next.
//!
//! Every failure a person can meet is one of these: a sentence, the cause beneath it, and a way on. The exit
//! code says which sort it was, so that scripts need not read sentences.

use std::{error::Error, fmt, process::ExitCode};

use crate::term::Term;

/// How a command ended. The numbers are a promise: they stand in `--help` and scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    CheckFailed = 1,
    Usage = 2,
    Unreachable = 3,
    Refused = 4,
    Broken = 5,
    Undecided = 6,
    Interrupted = 130,
}

/// The table of exit codes, for the end of `--help`.
pub const EXIT_CODES: &str = "Exit codes:
    0  done
    1  the check ran and failed: not exactly one winner, a broken invariant, a missed target, a fault found
    2  the flags, settings or input file are wrong
    3  out of reach: no server answers, or the data folder is missing or in use
    4  the server refused: no key, wrong role, or the thing exists already
    5  something broke that should not have; the message says what
    6  the check ran and could not tell: a history that shows neither right nor wrong
  130  interrupted

Settings come from flags, then HOLDFAST_* variables, then a TOML file (--config).";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// What is wrong, without a full stop.
    what: String,
    /// What to do about it: an imperative sentence, without a full stop.
    next: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    fn new(exit: Exit, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { exit, what: what.into(), next: next.into(), source: None }
    }

    pub fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what, next)
    }

    pub fn unreachable(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, what, next)
    }

    pub fn refused(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Refused, what, next)
    }

    pub fn broken(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Broken, what, next)
    }

    pub fn interrupted(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Interrupted, what, next)
    }

    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// For people, on standard error.
    pub fn show(&self, term: &Term) -> String {
        let mut text = format!("{} {}", term.bad("error:"), self.what);
        for cause in self.causes() {
            text += &format!("\n  {} {cause}", term.dim("because:"));
        }
        text + &format!("\n  {} {}", term.accent("next:"), self.next)
    }

    /// For machines, on standard error.
    pub fn to_json(&self) -> serde_json::Value {
        let because: Vec<String> = self.causes().collect();
        serde_json::json!({"error": self.what, "because": because, "next": self.next, "exit": self.exit as u8})
    }

    fn causes(&self) -> impl Iterator<Item = String> {
        let first = self.source.as_deref().map(|source| source as &dyn Error);
        std::iter::successors(first, |&cause| cause.source()).map(ToString::to_string)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.next)
    }
}

impl Error for Failure {}
