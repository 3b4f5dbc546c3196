//! Answers against what else was said: of each hold, and of each key.

use std::collections::HashMap;

use super::{
    Anomaly, Violation,
    lives::{Act, Life, Lives},
};
use crate::history::{
    Answer, BookingRef, Call, Claim, History, HoldRef, HolderRef, Micros, Operation, Outcome, Reason, UnitRef,
};

/// Ended holds are remembered for a day; an hour less is surely within it.
const REMEMBERED: Micros = 23 * 3600 * 1_000_000;

pub(super) fn check(history: &History, lives: &Lives<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, operation) in history.operations.iter().enumerate() {
        violations.extend(check_answer(history, lives, at, operation));
    }
    for (hold, life) in (0..).zip(&lives.all) {
        violations.extend(check_life(history, hold, life));
    }
    violations.extend(keys_used_twice(history));
    for unit in 0..history.units.len() as UnitRef {
        violations.extend(versions_in_disorder(history, lives, unit));
    }
    violations
}

fn check_answer(history: &History, lives: &Lives<'_>, at: usize, operation: &Operation) -> Option<Violation> {
    let about = |hold: &HoldRef| lives.get(*hold).filter(|life| life.placing.is_some());
    match (&operation.call, &operation.outcome) {
        (Call::Hold { holder, claims, .. }, Outcome::Ok(Answer::Held { holder: of, claims: got, .. })) => {
            if holder != of {
                let what = format!("holder {holder} was given the answer of holder {of}");
                return Some(Violation::new(Anomaly::CrossedAnswer, what, vec![at]));
            }
            (!claims.is_empty() && !same_claims(claims, got)).then(|| {
                Violation::new(Anomaly::PartialHold, "the hold has other lines than were asked for", vec![at])
            })
        }
        (Call::Confirm { hold, .. }, Outcome::Ok(Answer::Confirmed { holder, .. })) => match about(hold) {
            None => {
                let what = format!("h{hold} was never placed and yet confirmed");
                Some(Violation::new(Anomaly::PhantomBooking, what, vec![at]))
            }
            Some(life) => booked_for_another(life, *hold, *holder, at),
        },
        (
            Call::Confirm { hold, .. } | Call::Extend { hold } | Call::Release { hold },
            Outcome::Fail(reason),
        ) => check_refused(history, about(hold)?, *hold, reason, at),
        _ => None,
    }
}

fn booked_for_another(life: &Life<'_>, hold: HoldRef, holder: HolderRef, at: usize) -> Option<Violation> {
    let placing = life.placing.as_ref().filter(|placing| placing.holder != holder)?;
    let what = format!("h{hold} of holder {} was booked for holder {holder}", placing.holder);
    Some(Violation::new(Anomaly::CrossedAnswer, what, vec![placing.act.op, at]))
}

/// A confirm must have come while the hold was one.
fn check_confirmed(history: &History, life: &Life<'_>, hold: HoldRef, act: &Act) -> Option<Violation> {
    let placing = life.placing.as_ref()?;
    if act.start >= life.last_possible_expiry().saturating_add(history.tolerance_us) {
        let extended = life.extends.iter().map(|(act, _)| act.op);
        let shown = extended.chain([placing.act.op, act.op]).collect();
        return Some(Violation::new(
            Anomaly::LateConfirm,
            format!("h{hold} had expired and was confirmed"),
            shown,
        ));
    }
    let released = life.releases.iter().find(|released| released.end < act.start)?;
    let what = format!("h{hold} had been released and was confirmed");
    Some(Violation::new(Anomaly::LostRelease, what, vec![placing.act.op, released.op, act.op]))
}

/// A no that speaks of what became of a hold must have had a reason.
fn check_refused(
    history: &History,
    life: &Life<'_>,
    hold: HoldRef,
    reason: &Reason,
    at: usize,
) -> Option<Violation> {
    let operation = &history.operations[at];
    let placing = life.placing.as_ref()?;
    let because = |wrong: bool, anomaly, what: &str| {
        wrong.then(|| Violation::new(anomaly, format!("h{hold} {what}"), vec![placing.act.op, at]))
    };
    match reason {
        Reason::Expired => {
            let expiry = life.expiry_by(operation.start)?;
            let early = placing.act.end <= operation.start && operation.end < expiry - history.tolerance_us;
            because(early, Anomaly::EarlyExpiry, "was called expired before its time")
        }
        Reason::Released => {
            let asked = life.releases.iter().any(|act| act.start <= operation.end);
            because(!asked, Anomaly::LostHold, "was called released, and nobody did")
        }
        Reason::AlreadyBooked => {
            let asked = life.confirms.iter().any(|(act, _)| act.start <= operation.end);
            because(!asked, Anomaly::PhantomBooking, "was called booked, and nobody did")
        }
        Reason::UnknownHold => {
            let ended = life.last_known_expiry()?;
            let lost = placing.act.end <= operation.start && operation.end < ended.saturating_add(REMEMBERED);
            because(lost, Anomaly::LostHold, "was acknowledged and is unknown")
        }
        Reason::Taken(_) | Reason::Other(_) => None,
    }
}

fn check_life(history: &History, hold: HoldRef, life: &Life<'_>) -> Vec<Violation> {
    let confirmed = life.confirms.iter().filter(|(act, _)| act.acknowledged());
    let late = confirmed.clone().filter_map(|(act, _)| check_confirmed(history, life, hold, act));
    let mut violations: Vec<_> = late.collect();
    violations.extend(late_extend(history, hold, life));
    let mut booked = confirmed.filter_map(|(act, booking)| Some((act.op, (*booking)?)));
    let first = booked.next();
    if let Some((first, booking)) = first
        && let Some((second, _)) = booked.find(|(_, other)| *other != booking)
    {
        let what = format!("h{hold} became two bookings");
        violations.push(Violation::new(Anomaly::BookedTwice, what, vec![first, second]));
    }
    violations
}

/// An extension must have come while the hold was one, by all the expiries it can have had until then.
fn late_extend(history: &History, hold: HoldRef, life: &Life<'_>) -> Option<Violation> {
    let placing = life.placing.as_ref()?;
    if life.extends.iter().any(|(act, _)| !act.acknowledged()) {
        return None;
    }
    let expiry_before = |act: &Act| {
        let others = life.extends.iter().filter(|(other, _)| other.op != act.op && other.start <= act.end);
        others.filter_map(|(_, expires_at)| *expires_at).chain(placing.expires_at).max()
    };
    let late =
        |act: &&Act| expiry_before(act).is_some_and(|expiry| act.start >= expiry + history.tolerance_us);
    let (late, _) = life.extends.iter().find(|(act, _)| late(&act))?;
    let what = format!("h{hold} had expired and was extended");
    Some(Violation::new(Anomaly::LateExtend, what, vec![placing.act.op, late.op]))
}

/// Whatever a key was answered first, it was answered every time.
fn keys_used_twice(history: &History) -> Option<Violation> {
    let mut first_effects: HashMap<u32, (usize, Effect)> = HashMap::new();
    for (at, operation) in history.operations.iter().enumerate() {
        let Some((key, effect)) = keyed_effect(operation) else { continue };
        let (first, known) = first_effects.entry(key).or_insert((at, effect));
        if *known != effect {
            let what = format!("key {key} had two effects");
            return Some(Violation::new(Anomaly::KeyTwice, what, vec![*first, at]));
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum Effect {
    Hold(HoldRef),
    Booking(BookingRef),
}

fn keyed_effect(operation: &Operation) -> Option<(u32, Effect)> {
    match (&operation.call, &operation.outcome) {
        (Call::Hold { key, .. }, Outcome::Ok(Answer::Held { hold, .. })) => {
            Some(((*key)?, Effect::Hold(*hold)))
        }
        (Call::Confirm { key, .. }, Outcome::Ok(Answer::Confirmed { booking, .. })) => {
            Some(((*key)?, Effect::Booking(*booking)))
        }
        _ => None,
    }
}

/// Of two holds on a unit, the one answered before the other was asked for has the smaller number.
fn versions_in_disorder(history: &History, lives: &Lives<'_>, unit: UnitRef) -> Option<Violation> {
    let mut placed: Vec<(Micros, Micros, u64, usize)> = lives
        .claimants(unit)
        .filter_map(|(.., life)| {
            let act = life.placing.as_ref()?.act;
            act.acknowledged().then_some((act.start, act.end, history.operations[act.op].version?, act.op))
        })
        .collect();
    placed.sort_unstable();
    let mut by_end = placed.clone();
    by_end.sort_unstable_by_key(|&(_, end, ..)| end);
    let (mut ended, mut newest): (usize, Option<(u64, usize)>) = (0, None);
    for (start, _, version, op) in placed {
        while ended < by_end.len() && by_end[ended].1 < start {
            newest = newest.max(Some((by_end[ended].2, by_end[ended].3)));
            ended += 1;
        }
        if let Some((earlier, other)) = newest.filter(|(earlier, _)| *earlier >= version) {
            let what = format!("version {version} was given out after {earlier}");
            return Some(Violation::new(Anomaly::VersionDisorder, what, vec![other, op]));
        }
    }
    None
}

pub(super) fn same_claims(one: &[Claim], other: &[Claim]) -> bool {
    if one == other {
        return true;
    }
    let sorted = |claims: &[Claim]| {
        let mut claims = claims.to_vec();
        claims.sort_unstable();
        claims
    };
    one.len() == other.len() && sorted(one) == sorted(other)
}
