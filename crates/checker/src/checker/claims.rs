//! Units over time: was more claimed than there is, was somebody refused what nobody had, was a read true?

use super::{
    Anomaly, Violation,
    lives::{Life, Lives, NEVER, Stretch},
};
use crate::history::{Answer, Call, History, HoldRef, Micros, Outcome, Reason, UnitRef};

/// `blind`: somebody may hold nobody knows what, so no refusal or read can be shown false.
pub(super) fn check(history: &History, lives: &Lives<'_>, blind: bool) -> Vec<Violation> {
    let mut violations = Vec::new();
    for unit in 0..history.units.len() as UnitRef {
        violations.extend(oversold(history, lives, unit));
    }
    if !blind {
        violations.extend(Looks::of(history).check(history, lives));
    }
    violations
}

/// The first moment at which the certain claims on a unit exceed its capacity.
fn oversold(history: &History, lives: &Lives<'_>, unit: UnitRef) -> Option<Violation> {
    let capacity = u64::from(history.units[unit as usize].capacity);
    let mut edges: Vec<(Micros, bool, HoldRef, u32)> = Vec::new();
    for (hold, qty, life) in lives.claimants(unit) {
        if let Some(Stretch { from, to }) = life.certain(history.tolerance_us) {
            edges.extend([(from, true, hold, qty), (to, false, hold, qty)]);
        }
    }
    // `false` sorts first: what ends at a moment makes room for what begins at it.
    edges.sort_unstable();
    let mut claimed = 0;
    let mut holds: Vec<(u32, HoldRef)> = Vec::new();
    for (_, begins, hold, qty) in edges {
        if begins {
            holds.push((qty, hold));
            claimed += u64::from(qty);
        } else {
            holds.retain(|(_, other)| *other != hold);
            claimed -= u64::from(qty);
        }
        if claimed > capacity {
            return Some(too_many(history, lives, unit, holds));
        }
    }
    None
}

/// Names the wrong, with as few of the holds as exceed the capacity.
fn too_many(
    history: &History,
    lives: &Lives<'_>,
    unit: UnitRef,
    mut holds: Vec<(u32, HoldRef)>,
) -> Violation {
    let info = &history.units[unit as usize];
    holds.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    let enough = holds.iter().position(|(qty, _)| {
        sum += u64::from(*qty);
        sum > u64::from(info.capacity)
    });
    holds.truncate(enough.map_or(holds.len(), |at| at + 1));
    let shown: Vec<_> = holds.iter().map(|&(_, hold)| (hold, &lives.all[hold as usize])).collect();
    let operations = shown.iter().flat_map(|(_, life)| operations_of(life)).collect();
    let names = shown.iter().map(|(hold, _)| format!("h{hold}")).collect::<Vec<_>>().join(" and ");
    let booked = shown.iter().all(|(_, life)| life.confirmed().is_some());
    let (anomaly, what) = match (info.capacity, booked) {
        (1, true) => (Anomaly::DoubleSale, format!("{} is booked by {names} at once", info.name)),
        (1, false) => (Anomaly::StolenHold, format!("{} belongs to {names} at once", info.name)),
        (capacity, _) => {
            (Anomaly::Oversell, format!("{} has {capacity}; {names} claim {sum} of it at once", info.name))
        }
    };
    Violation::new(anomaly, what, operations)
}

fn operations_of(life: &Life<'_>) -> impl Iterator<Item = usize> {
    life.placing.iter().map(|placing| placing.act.op).chain(life.confirmed().map(|act| act.op))
}

/// How often a unit was taken over from a hold that had run out.
pub(super) fn takeovers(history: &History, lives: &Lives<'_>) -> usize {
    let over = |unit: UnitRef| {
        let mut placed: Vec<_> =
            lives.claimants(unit).filter_map(|(.., life)| Some((life.placing.as_ref()?, life))).collect();
        placed.sort_unstable_by_key(|(placing, _)| placing.act.start);
        let taken_over = |pair: &&[(&super::lives::Placing<'_>, &Life<'_>)]| {
            let (before, after) = (pair[0].1, pair[1].0);
            let expired = before.last_known_expiry().is_some_and(|expiry| expiry <= after.act.end);
            expired && after.act.acknowledged() && before.releases.is_empty() && before.confirms.is_empty()
        };
        placed.windows(2).filter(taken_over).count()
    };
    (0..history.units.len() as UnitRef).map(over).sum()
}

/// A sum that changes at moments: how much of a unit is claimed from when on.
struct Steps(Vec<(Micros, i64)>);

impl Steps {
    fn of(stretches: impl Iterator<Item = (Stretch, u32)>) -> Self {
        let mut edges: Vec<(Micros, i64)> = Vec::new();
        for (Stretch { from, to }, qty) in stretches {
            edges.push((from, i64::from(qty)));
            if to != NEVER {
                edges.push((to, -i64::from(qty)));
            }
        }
        edges.sort_unstable();
        let mut sum = 0;
        let mut steps: Vec<(Micros, i64)> = Vec::with_capacity(edges.len());
        for (at, change) in edges {
            sum += change;
            match steps.last_mut() {
                Some(last) if last.0 == at => last.1 = sum,
                _ => steps.push((at, sum)),
            }
        }
        Self(steps)
    }

    /// The values it takes from `start` to `end`, both included.
    fn during(&self, start: Micros, end: Micros) -> impl Iterator<Item = i64> {
        let first = self.0.partition_point(|&(at, _)| at <= start);
        let before = first.checked_sub(1).map_or(0, |at| self.0[at].1);
        let within = self.0[first..].iter().take_while(move |&&(at, _)| at <= end);
        std::iter::once(before).chain(within.map(|&(_, sum)| sum))
    }
}

/// What was said about units without claiming them: refusals and reads, by unit.
struct Looks(Vec<Vec<usize>>);

impl Looks {
    fn of(history: &History) -> Self {
        let mut by_unit = vec![Vec::new(); history.units.len()];
        for (at, operation) in history.operations.iter().enumerate() {
            match (&operation.call, &operation.outcome) {
                (Call::Hold { .. }, Outcome::Fail(Reason::Taken(units))) => {
                    units.iter().for_each(|unit| by_unit[*unit as usize].push(at));
                }
                (Call::Read { unit }, Outcome::Ok(_)) => by_unit[*unit as usize].push(at),
                _ => {}
            }
        }
        Self(by_unit)
    }

    fn check(&self, history: &History, lives: &Lives<'_>) -> Vec<Violation> {
        let looked_at = (0..).zip(&self.0).filter(|(_, looks)| !looks.is_empty());
        looked_at.flat_map(|(unit, looks)| check_unit(history, lives, unit, looks)).collect()
    }
}

/// Of each sort the first.
fn check_unit(history: &History, lives: &Lives<'_>, unit: UnitRef, looks: &[usize]) -> Vec<Violation> {
    let tolerance = history.tolerance_us;
    let possible = lives.claimants(unit).filter_map(|(_, qty, life)| Some((life.possible(tolerance)?, qty)));
    let possible = Steps::of(possible);
    let booked = lives.claimants(unit).filter_map(|(_, qty, life)| Some((life.certainly_booked()?, qty)));
    let booked = Steps::of(booked);
    let maybe_booked =
        lives.claimants(unit).filter_map(|(_, qty, life)| Some((life.possibly_booked()?, qty)));
    let maybe_booked = Steps::of(maybe_booked);

    let info = &history.units[unit as usize];
    let mut violations: Vec<Violation> = Vec::new();
    for &at in looks {
        let operation = &history.operations[at];
        let (start, end) = (operation.start, operation.end);
        let violation = match (&operation.call, &operation.outcome) {
            (Call::Hold { claims, .. }, _) => {
                let asked = claims.iter().find(|claim| claim.unit == unit).map_or(1, |claim| claim.qty);
                let most = possible.during(start, end).max().unwrap_or(0);
                (most + i64::from(asked) <= i64::from(info.capacity)).then(|| {
                    let what = format!(
                        "{} was refused, though at most {most} of it can have been claimed",
                        info.name
                    );
                    Violation::new(Anomaly::FalseRefusal, what, vec![at])
                })
            }
            (_, Outcome::Ok(Answer::Seen { booked: seen, .. })) => {
                let least = booked.during(start, end).min().unwrap_or(0);
                let most = maybe_booked.during(start, end).max().unwrap_or(0);
                (!(least..=most).contains(&i64::from(*seen))).then(|| {
                    let what = format!("{} was read as {seen} booked; it was {least} to {most}", info.name);
                    Violation::new(Anomaly::StaleRead, what, witnesses(lives, unit, at, start))
                })
            }
            _ => None,
        };
        if let Some(violation) = violation
            && !violations.iter().any(|known| known.anomaly == violation.anomaly)
        {
            violations.push(violation);
        }
    }
    violations
}

/// The read, and the acknowledged confirm before it that it should have shown.
fn witnesses(lives: &Lives<'_>, unit: UnitRef, read: usize, start: Micros) -> Vec<usize> {
    let confirmed =
        lives.claimants(unit).filter_map(|(.., life)| life.confirmed().filter(|act| act.end <= start));
    let last = confirmed.max_by_key(|act| act.end).map(|act| act.op);
    last.into_iter().chain([read]).collect()
}
