//! The server's JSON, as far as a history needs it, in the checker's words.

use holdfast_checker::{
    Outcome,
    history::{Claim, HolderRef, KeptState, Micros, Reason, UnitRef},
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct List<T> {
    pub data: Vec<T>,
    pub next: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Hold {
    pub id: String,
    pub holder: String,
    pub state: String,
    pub lines: Vec<Line>,
    pub expires_at: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Booking {
    pub id: String,
    pub hold: String,
    pub holder: String,
    pub state: String,
    pub lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Line {
    unit: String,
    qty: u32,
}

/// An entry of the journal: only which hold it is about.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub hold: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Availability {
    pub version: String,
    pub units: Vec<Row>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pub state: SeatState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SeatState {
    Available,
    Held,
    Booked,
    Blocked,
}

#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    code: String,
    #[serde(default)]
    conflicts: Vec<InTheWay>,
}

#[derive(Debug, Deserialize)]
struct InTheWay {
    unit: String,
}

impl Problem {
    pub(super) fn outcome(self) -> Outcome {
        let units: Vec<UnitRef> = self.conflicts.iter().filter_map(|at| unit_ref(&at.unit)).collect();
        Outcome::Fail(match self.code.as_str() {
            "outcome_unknown" => return Outcome::Unknown,
            "unit_taken" | "sold_out" if !units.is_empty() => Reason::Taken(units),
            "hold_expired" => Reason::Expired,
            "hold_released" => Reason::Released,
            "already_booked" => Reason::AlreadyBooked,
            "unknown_hold" => Reason::UnknownHold,
            _ => Reason::Other(self.code),
        })
    }
}

pub(super) fn holder(number: HolderRef) -> String {
    format!("buyer-{number}")
}

pub(super) fn holder_ref(holder: &str) -> Option<HolderRef> {
    holder.strip_prefix("buyer-")?.parse().ok()
}

/// Seats are numbered from 1 on, in one row.
pub(super) fn seat(unit: UnitRef) -> String {
    format!("A-{}", unit + 1)
}

fn unit_ref(key: &str) -> Option<UnitRef> {
    key.strip_prefix("A-")?.parse::<UnitRef>().ok()?.checked_sub(1)
}

pub(super) fn claims(lines: &[Line]) -> Option<Vec<Claim>> {
    lines.iter().map(|line| Some(Claim { unit: unit_ref(&line.unit)?, qty: line.qty })).collect()
}

pub(super) fn micros(time: &str) -> Option<Micros> {
    time.parse().ok().map(jiff::Timestamp::as_microsecond)
}

pub(super) fn kept_state(state: &str) -> Option<KeptState> {
    match state {
        "active" | "paying" => Some(KeptState::Active),
        "booked" => Some(KeptState::Booked),
        "released" => Some(KeptState::Released),
        "expired" => Some(KeptState::Expired),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(problem: &str) -> Outcome {
        serde_json::from_str::<Problem>(problem).unwrap().outcome()
    }

    #[test]
    fn problems_are_read_as_what_they_say_of_units_and_holds() {
        let taken =
            r#"{"code":"unit_taken","status":409,"conflicts":[{"offer":"lab","unit":"A-3","state":"held"}]}"#;
        assert_eq!(outcome(taken), Outcome::Fail(Reason::Taken(vec![2])));
        assert_eq!(outcome(r#"{"code":"outcome_unknown"}"#), Outcome::Unknown);
        assert_eq!(outcome(r#"{"code":"hold_released"}"#), Outcome::Fail(Reason::Released));
        assert_eq!(outcome(r#"{"code":"overloaded"}"#), Outcome::Fail(Reason::Other("overloaded".into())));
    }

    #[test]
    fn times_and_seats_are_numbers() {
        assert_eq!(micros("1970-01-01T00:00:01.250Z"), Some(1_250_000));
        assert_eq!(
            (seat(0).as_str(), unit_ref("A-1"), unit_ref("A-0"), unit_ref("B-1")),
            ("A-1", Some(0), None, None)
        );
    }
}
