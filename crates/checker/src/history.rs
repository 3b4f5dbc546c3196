//! What the clients of a run saw, as data. Recorded by whoever drives a ledger, read by the
//! [`checker`](crate::checker), kept as JSON.
//!
//! Things are numbered: units by their place in [`History::units`], holds, bookings, holders and keys by whoever
//! records. All times are microseconds on one clock, the one the ledger decides by; where the recorder can only
//! read another, [`History::tolerance_us`] says how far the two may differ.

use std::fmt;

use serde::{Deserialize, Serialize};

pub type Micros = i64;
pub type UnitRef = u32;
pub type HoldRef = u32;
pub type BookingRef = u32;
pub type HolderRef = u32;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    #[serde(default)]
    pub tolerance_us: Micros,
    pub units: Vec<UnitInfo>,
    pub operations: Vec<Operation>,
    /// What the store held when all was over; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitInfo {
    pub name: String,
    pub capacity: u32,
}

/// One question and its answer. Of an operation whose outcome is unknown, `end` is when the process gave up
/// waiting: the effect may come later still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub process: u32,
    pub start: Micros,
    pub end: Micros,
    pub call: Call,
    pub outcome: Outcome,
    /// The journal's number in the answer, where it carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// Without claims: whatever is best available.
    Hold {
        holder: HolderRef,
        claims: Vec<Claim>,
        /// The caller's idempotency key. Operations with one key are one intention.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
        /// Where the caller names the hold, its name, so that it is known even if the outcome is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<HoldRef>,
    },
    Extend {
        hold: HoldRef,
    },
    Release {
        hold: HoldRef,
    },
    Confirm {
        hold: HoldRef,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
    },
    /// Of the booking that the hold became.
    Cancel {
        hold: HoldRef,
    },
    Read {
        unit: UnitRef,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub unit: UnitRef,
    pub qty: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok(Answer),
    Fail(Reason),
    /// No answer, or one that does not say: all of it happened or none, now or later.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    Held {
        hold: HoldRef,
        holder: HolderRef,
        claims: Vec<Claim>,
        expires_at: Micros,
        /// The holder had exactly this already.
        #[serde(default)]
        again: bool,
    },
    Extended {
        expires_at: Micros,
    },
    Released,
    Confirmed {
        booking: BookingRef,
        holder: HolderRef,
    },
    Cancelled,
    Seen {
        held: u32,
        booked: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Taken or sold out: these units were in the way.
    Taken(Vec<UnitRef>),
    Expired,
    Released,
    AlreadyBooked,
    UnknownHold,
    /// A no that says nothing about units or holds: a limit, a closed sale, too much load.
    Other(String),
}

/// What the store held at the end, read when nothing was running any more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    pub at: Micros,
    /// All holds that the store remembers; one that was asked for and is not among them never was.
    pub holds: Vec<KeptHold>,
    pub bookings: Vec<KeptBooking>,
    /// The store's own sums, by unit; empty where it keeps none.
    #[serde(default)]
    pub units: Vec<Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptHold {
    pub hold: HoldRef,
    pub claims: Vec<Claim>,
    pub expires_at: Micros,
    pub state: KeptState,
}

/// What a hold has become. An expired one that nobody has tidied away is still `active`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptState {
    Active,
    Booked,
    Released,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptBooking {
    pub booking: BookingRef,
    pub hold: HoldRef,
    pub claims: Vec<Claim>,
    pub cancelled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub held: u32,
    pub booked: u32,
}

/// A history that is no history: it refers to what it does not contain, or runs backwards.
#[derive(Debug)]
pub enum Malformed {
    Json(serde_json::Error),
    Operation { at: usize, what: &'static str },
    Ending(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "not a history: {error}"),
            Self::Operation { at, what } => write!(f, "operation {at} {what}"),
            Self::Ending(what) => write!(f, "the ending {what}"),
        }
    }
}

impl std::error::Error for Malformed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            Self::Operation { .. } | Self::Ending(_) => None,
        }
    }
}

impl History {
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a history is plain data")
    }

    pub fn from_json(text: &str) -> Result<Self, Malformed> {
        let history: Self = serde_json::from_str(text).map_err(Malformed::Json)?;
        history.check().map(|()| history)
    }

    /// The same on a scale that begins with the first question, which is easier to read.
    #[must_use]
    pub fn from_its_beginning(mut self) -> Self {
        let zero = self.operations.iter().map(|operation| operation.start).min().unwrap_or(0);
        for operation in &mut self.operations {
            operation.start -= zero;
            operation.end -= zero;
            if let Outcome::Ok(Answer::Held { expires_at, .. } | Answer::Extended { expires_at }) =
                &mut operation.outcome
            {
                *expires_at -= zero;
            }
        }
        if let Some(ending) = &mut self.ending {
            ending.at -= zero;
            ending.holds.iter_mut().for_each(|kept| kept.expires_at -= zero);
        }
        self
    }

    /// What the checker relies on, of a history that came from outside.
    fn check(&self) -> Result<(), Malformed> {
        let known = |claims: &[Claim]| claims.iter().all(|claim| (claim.unit as usize) < self.units.len());
        // Numbers are used as indices: one far beyond the history's length would ask for memory, not for truth.
        let most = u32::try_from(self.operations.len().saturating_mul(16) + 1024).unwrap_or(u32::MAX);
        for (at, operation) in self.operations.iter().enumerate() {
            let fault = |what| Err(Malformed::Operation { at, what });
            if operation.end < operation.start {
                return fault("ends before it starts");
            }
            if operation.numbers().into_iter().flatten().any(|number| number > most) {
                return fault("has a number far beyond the history's length");
            }
            let units_known = match (&operation.call, &operation.outcome) {
                (Call::Read { unit }, _) => (*unit as usize) < self.units.len(),
                (Call::Hold { claims, .. }, Outcome::Ok(Answer::Held { claims: got, .. })) => {
                    known(claims) && known(got)
                }
                (Call::Hold { claims, .. }, Outcome::Fail(Reason::Taken(units))) => {
                    known(claims) && units.iter().all(|unit| (*unit as usize) < self.units.len())
                }
                (Call::Hold { claims, .. }, _) => known(claims),
                _ => true,
            };
            if !units_known {
                return fault("names a unit that is not listed");
            }
        }
        let kept = self.ending.iter().flat_map(|ending| {
            let held = ending.holds.iter().map(|kept| &kept.claims);
            held.chain(ending.bookings.iter().map(|kept| &kept.claims))
        });
        match kept.into_iter().all(|claims| known(claims)) {
            true => Ok(()),
            false => Err(Malformed::Ending("names a unit that is not listed")),
        }
    }
}

impl Operation {
    fn numbers(&self) -> [Option<u32>; 3] {
        let asked = match self.call {
            Call::Hold { hold, key, .. } => [hold, key],
            Call::Confirm { hold, key } => [Some(hold), key],
            Call::Extend { hold } | Call::Release { hold } | Call::Cancel { hold } => [Some(hold), None],
            Call::Read { .. } => [None, None],
        };
        let answered = match self.outcome {
            Outcome::Ok(Answer::Held { hold, .. }) => Some(hold),
            Outcome::Ok(Answer::Confirmed { booking, .. }) => Some(booking),
            _ => None,
        };
        [asked[0], asked[1], answered]
    }

    pub fn is_unknown(&self) -> bool {
        self.outcome == Outcome::Unknown
    }

    /// One line for a person: who, when, what, and what came of it.
    pub fn tell(&self, history: &History) -> String {
        let name = |unit: &UnitRef| history.units[*unit as usize].name.as_str();
        let claims = |claims: &[Claim]| {
            let one = |claim: &Claim| match claim.qty {
                1 => name(&claim.unit).to_owned(),
                qty => format!("{}*{qty}", name(&claim.unit)),
            };
            claims.iter().map(one).collect::<Vec<_>>().join(" ")
        };
        let call = match &self.call {
            Call::Hold { holder, claims: asked, .. } if asked.is_empty() => {
                format!("holder {holder}: hold the best")
            }
            Call::Hold { holder, claims: asked, .. } => format!("holder {holder}: hold {}", claims(asked)),
            Call::Extend { hold } => format!("extend h{hold}"),
            Call::Release { hold } => format!("release h{hold}"),
            Call::Confirm { hold, .. } => format!("confirm h{hold}"),
            Call::Cancel { hold } => format!("cancel the booking of h{hold}"),
            Call::Read { unit } => format!("read {}", name(unit)),
        };
        let outcome = match &self.outcome {
            Outcome::Ok(Answer::Held { hold, holder, claims: got, expires_at, again }) => format!(
                "h{hold} of holder {holder}: {} until {}{}",
                claims(got),
                seconds(*expires_at),
                if *again { ", held already" } else { "" }
            ),
            Outcome::Ok(Answer::Extended { expires_at }) => format!("until {}", seconds(*expires_at)),
            Outcome::Ok(Answer::Released) => "released".to_owned(),
            Outcome::Ok(Answer::Confirmed { booking, holder }) => {
                format!("booking {booking} of holder {holder}")
            }
            Outcome::Ok(Answer::Cancelled) => "cancelled".to_owned(),
            Outcome::Ok(Answer::Seen { held, booked }) => format!("{held} held, {booked} booked"),
            Outcome::Fail(Reason::Taken(units)) => {
                format!("no: taken {}", units.iter().map(name).collect::<Vec<_>>().join(" "))
            }
            Outcome::Fail(Reason::Other(code)) => format!("no: {code}"),
            Outcome::Fail(reason) => format!("no: {reason:?}"),
            Outcome::Unknown => "no answer".to_owned(),
        };
        format!("[{} .. {}] p{} {call} -> {outcome}", seconds(self.start), seconds(self.end), self.process)
    }
}

/// Microseconds as seconds with six decimals.
fn seconds(at: Micros) -> String {
    let sign = if at < 0 { "-" } else { "" };
    format!("{sign}{}.{:06}s", at.unsigned_abs() / 1_000_000, at.unsigned_abs() % 1_000_000)
}
