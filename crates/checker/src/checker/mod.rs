//! The judge: can all of this be true of a shop that sells each thing once?
//!
//! Two ways of reading the same history. The plain ones look for a named wrong (a seat sold twice, a booking
//! lost, a confirm that came too late) and can point at the two or three operations that show it. Behind them
//! stands the general one: per unit, there must be an order of all operations that respects real time and in which
//! every answer is right ([`linear`]). What the plain readings have no name for, the general one still catches.
//!
//! ```text
//! history ─► lives: one life a hold ─► claims, answers, ending: named wrongs ─┐
//!                  └─► linear: an order that explains every answer, per unit ─┴─► verdict
//! ```
//! Everything is inferred from what clients were told. A certain claim begins when its yes has arrived and ends
//! when it could first have ended; a possible claim begins when it was asked for and ends when it had surely ended.
//! So a verdict of INVALID is never a matter of timing.

mod answers;
mod claims;
mod ending;
mod linear;
mod lives;
mod shrink;

use std::{collections::HashSet, fmt};

use crate::history::{Answer, History, Outcome, Reason};
use lives::Lives;

/// What the history amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Valid(Summary),
    /// At least one; of each unit and sort only the first.
    Invalid(Vec<Violation>, Summary),
    /// Neither shown right nor shown wrong.
    Unknown(Vec<Doubt>, Summary),
}

/// How much happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    pub operations: usize,
    pub unknown: usize,
    pub wins: usize,
    pub conflicts: usize,
    pub expiries: usize,
}

/// What a run must have seen to prove anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    pub win: bool,
    pub conflict: bool,
    pub expiry: bool,
}

impl Evidence {
    /// A win, a conflict and an expiry: without all three a promise was not put to the test.
    pub const ALL: Self = Self { win: true, conflict: true, expiry: true };
    /// For histories made by hand, which show one thing.
    pub const NONE: Self = Self { win: false, conflict: false, expiry: false };

    fn missing(self, seen: &Summary) -> Vec<&'static str> {
        let asked = [
            (self.win, seen.wins, "win"),
            (self.conflict, seen.conflicts, "conflict"),
            (self.expiry, seen.expiries, "expiry"),
        ];
        asked.into_iter().filter(|&(wanted, seen, _)| wanted && seen == 0).map(|(.., name)| name).collect()
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The run saw none of these, so it proves nothing.
    ProvesNothing(Vec<&'static str>),
    /// Best available was asked for and never answered, and nobody looked into the store: whatever was refused may have
    /// been refused because of it.
    UnknownClaims,
    /// The search for an order of this unit's operations was given up.
    TooMuchToSearch { unit: String },
}

/// A promise that was broken, and the fewest operations that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub anomaly: Anomaly,
    pub what: String,
    /// Indices into the history, in the order they began.
    pub operations: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Anomaly {
    /// A unit of capacity 1 is booked twice at once (I1).
    DoubleSale,
    /// More of a unit is claimed than there is (I2, I3).
    Oversell,
    /// A unit was given to another while its hold had not ended (I8).
    StolenHold,
    /// A hold was confirmed at or after its expiry (I8).
    LateConfirm,
    /// A hold was extended at or after its expiry (I8).
    LateExtend,
    /// A hold was called expired before its time (I8).
    EarlyExpiry,
    /// One hold became two bookings.
    BookedTwice,
    /// A refusal named a unit that nobody can have had (I5).
    FalseRefusal,
    /// An acknowledged hold is gone without having ended (I4).
    LostHold,
    /// An acknowledged booking is gone without having been cancelled (I4).
    LostBooking,
    /// An acknowledged release or cancel did not happen (I4).
    LostRelease,
    /// A hold nobody asked for, or that was refused (I5).
    PhantomHold,
    /// A booking nobody asked for, or that was refused (I5).
    PhantomBooking,
    /// A hold or booking has other lines than were asked for (I7).
    PartialHold,
    /// An answer that belongs to another holder (I17).
    CrossedAnswer,
    /// One key had two effects (I6).
    KeyTwice,
    /// A read does not show what was acknowledged before it began, or shows what nobody did (I4, I14).
    StaleRead,
    /// Journal numbers of a unit run against real time (I9).
    VersionDisorder,
    /// The store's sums are not the sums of its rows (I3).
    WrongSums,
    /// No order of the unit's operations explains every answer (I14).
    NotLinearizable,
}

/// Reads the whole history and says what it amounts to.
pub fn judge(history: &History, evidence: Evidence) -> Verdict {
    let lives = Lives::of(history);
    let mut violations = answers::check(history, &lives);
    let blind = lives.blind();
    violations.extend(claims::check(history, &lives, blind));
    violations.extend(ending::check(history, &lives));
    let summary = summary(history, &lives);
    let mut doubts: Vec<Doubt> = blind.then_some(Doubt::UnknownClaims).into_iter().collect();
    if violations.is_empty() && !blind {
        // The general reading is for what has no name; a named wrong needs no second proof.
        (violations, doubts) = linear::check(history, &lives);
    }
    if !violations.is_empty() {
        violations.sort_by_key(|violation| violation.anomaly);
        return Verdict::Invalid(violations, summary);
    }
    let missing = evidence.missing(&summary);
    if !missing.is_empty() {
        doubts.push(Doubt::ProvesNothing(missing));
    }
    match doubts.is_empty() {
        true => Verdict::Valid(summary),
        false => Verdict::Unknown(doubts, summary),
    }
}

fn summary(history: &History, lives: &Lives<'_>) -> Summary {
    let count =
        |of: &dyn Fn(&Outcome) -> bool| history.operations.iter().filter(|op| of(&op.outcome)).count();
    Summary {
        operations: history.operations.len(),
        unknown: count(&|outcome| *outcome == Outcome::Unknown),
        wins: wins(history),
        conflicts: count(&|outcome| matches!(outcome, Outcome::Fail(Reason::Taken(_)))),
        expiries: count(&|outcome| *outcome == Outcome::Fail(Reason::Expired))
            + claims::takeovers(history, lives),
    }
}

/// Holds that somebody was told of.
fn wins(history: &History) -> usize {
    let held = history.operations.iter().filter_map(|operation| match &operation.outcome {
        Outcome::Ok(Answer::Held { hold, again: false, .. }) => Some(*hold),
        _ => None,
    });
    held.collect::<HashSet<_>>().len()
}

impl Verdict {
    pub fn is_valid(&self) -> bool {
        matches!(self, Self::Valid(_))
    }

    pub fn summary(&self) -> &Summary {
        match self {
            Self::Valid(summary) | Self::Invalid(_, summary) | Self::Unknown(_, summary) => summary,
        }
    }

    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Invalid(violations, _) => violations,
            _ => &[],
        }
    }

    pub fn shows(&self, anomaly: Anomaly) -> bool {
        self.violations().iter().any(|violation| violation.anomaly == anomaly)
    }

    /// The verdict in words, with the operations of each violation.
    pub fn tell(&self, history: &History) -> String {
        let mut text = self.to_string();
        for violation in self.violations() {
            text += &format!("\n  {violation}");
            for &at in &violation.operations {
                text += &format!("\n    #{at} {}", history.operations[at].tell(history));
            }
        }
        text
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { operations, unknown, wins, conflicts, expiries } = self.summary();
        match self {
            Self::Valid(_) => f.write_str("VALID")?,
            Self::Invalid(violations, _) => write!(f, "INVALID ({} violations)", violations.len())?,
            Self::Unknown(doubts, _) => {
                f.write_str("UNKNOWN")?;
                doubts.iter().try_for_each(|doubt| write!(f, " ({doubt})"))?;
            }
        }
        write!(f, ": {operations} operations, {wins} wins, {conflicts} conflicts, ")?;
        write!(f, "{expiries} expiries, {unknown} without an answer")
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProvesNothing(missing) => write!(f, "proves nothing: no {}", missing.join(", no ")),
            Self::UnknownClaims => f.write_str("unknown claims: nobody knows what unanswered holds took"),
            Self::TooMuchToSearch { unit } => write!(f, "too much to search on {unit}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.anomaly, self.what)
    }
}

impl Violation {
    fn new(anomaly: Anomaly, what: impl Into<String>, mut operations: Vec<usize>) -> Self {
        operations.sort_unstable();
        operations.dedup();
        Self { anomaly, what: what.into(), operations }
    }
}
