//! What a ledger said, in the checker's words. Conformance's recorder says it in the same ones.

use holdfast_checker::{
    Outcome,
    history::{KeptState, Reason, UnitRef},
};
use holdfast_domain::{HoldState, InTheWay, Refusal};
use holdfast_engine::ledger::{LedgerError, Outcome as Came, Reply};

/// What a reply that is no yes amounts to. `unit` finds the number of what stood in the way.
pub fn reason(reply: &Result<Reply, LedgerError>, unit: impl Fn(&InTheWay) -> Option<UnitRef>) -> Outcome {
    let other = |code: &str| Outcome::Fail(Reason::Other(code.to_owned()));
    match reply {
        Ok(Reply::Refused(refusal)) => Outcome::Fail(match refusal {
            Refusal::UnitTaken(conflict) => taken(&conflict.conflicts, refusal, unit),
            Refusal::SoldOut { conflicts, .. } => taken(conflicts, refusal, unit),
            Refusal::HoldExpired => Reason::Expired,
            Refusal::HoldReleased => Reason::Released,
            Refusal::AlreadyBooked { .. } => Reason::AlreadyBooked,
            Refusal::UnknownHold => Reason::UnknownHold,
            refusal => Reason::Other(refusal.code().to_owned()),
        }),
        Err(LedgerError::OutcomeUnknown(_)) | Ok(Reply::Replayed(_) | Reply::Done(_)) => Outcome::Unknown,
        Ok(Reply::Open { .. }) => other("idempotency_in_flight"),
        Ok(Reply::KeyReused) => other("idempotency_key_reused"),
        Err(LedgerError::Overloaded) => other("overloaded"),
        Err(LedgerError::Unavailable(_)) => other("unavailable"),
        Err(LedgerError::Invalid(_)) => other("invalid_request"),
    }
}

/// Best-available that found nothing names no unit, and so says nothing about any.
fn taken(conflicts: &[InTheWay], refusal: &Refusal, unit: impl Fn(&InTheWay) -> Option<UnitRef>) -> Reason {
    let units: Vec<_> = conflicts.iter().filter_map(unit).collect();
    if units.is_empty() { Reason::Other(refusal.code().to_owned()) } else { Reason::Taken(units) }
}

/// The journal's number in an answer, where it carries one.
pub fn version(came: &Came) -> Option<u64> {
    match came {
        Came::Held { hold, .. } => Some(hold.hold.version.0),
        Came::Extended(view) | Came::Released(view) | Came::Left(view) | Came::Returned(view) => {
            Some(view.hold.version.0)
        }
        Came::Confirmed(view) | Came::Cancelled(view) => Some(view.booking.version.0),
        _ => None,
    }
}

/// What a hold had come to when the books were read at the end. One that waits for its money is still somebody's.
pub const fn kept_state(state: &HoldState) -> KeptState {
    match state {
        HoldState::Active | HoldState::Paying { .. } => KeptState::Active,
        HoldState::Booked { .. } => KeptState::Booked,
        HoldState::Released { .. } => KeptState::Released,
        HoldState::Expired { .. } => KeptState::Expired,
    }
}
