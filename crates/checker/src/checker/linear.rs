//! Per unit: is there an order of all operations that respects real time and explains every answer?
//!
//! The search is Wing and Gong's, with Lowe's memory of states that led nowhere: of all operations that had begun
//! before the first one still unexplained ended, pick one whose answer is right in the present state, and go on;
//! where none is left, go back. Three things keep it short on histories of millions of operations:
//!
//! - Time is part of the state, as early as it can be: the moment of an operation is the latest of its own start,
//!   its predecessor's moment and the expiries it depends on. Earlier is never worse, so moments need no search.
//! - A look (a refusal, a read) that is right in the present state is taken at once and never reconsidered,
//!   provided that no expiry lies between now and its start: it changes nothing, so it can stand in nobody's way.
//! - Candidates are tried in the order that the journal's numbers suggest, which is the true one of a sound ledger.

use std::collections::HashMap;

use super::{
    Anomaly, Doubt, Violation,
    lives::{Act, Lives, NEVER},
    shrink,
};
use crate::history::{Answer, Call, History, HoldRef, Micros, Operation, Outcome, Reason, UnitRef};

mod search;
mod unit;

pub(super) use search::{Found, search};
pub(super) use unit::Step;

/// A knot of concurrent operations may take this many tries before a unit is given up.
const TRIES_FOR_A_VERDICT: usize = 500_000;

/// One operation as one unit sees it.
#[derive(Debug, Clone)]
pub(super) struct Task {
    /// Its place in the history.
    pub(super) op: usize,
    pub(super) start: Micros,
    /// [`NEVER`] for what was never answered.
    pub(super) end: Micros,
    pub(super) step: Step,
    /// What was never answered may never have happened.
    pub(super) required: bool,
    /// Which to try first: by moment, and of one moment in this order.
    pub(super) rank: (Micros, u32),
}

/// What a unit went through.
#[derive(Debug, Clone)]
pub(super) struct Course {
    pub(super) capacity: u32,
    /// Quantities of the holds that the steps speak of.
    pub(super) quantities: Vec<u32>,
    pub(super) tasks: Vec<Task>,
}

pub(super) fn check(history: &History, lives: &Lives<'_>) -> (Vec<Violation>, Vec<Doubt>) {
    let (mut violations, mut doubts) = (Vec::new(), Vec::new());
    for (unit, course) in courses(history, lives) {
        let name = &history.units[unit as usize].name;
        match search(&course, TRIES_FOR_A_VERDICT) {
            Found::Order => {}
            Found::None => {
                let core = shrink::shrink(&course);
                let what = format!("{name}: no order of its operations explains every answer");
                violations.push(Violation::new(Anomaly::NotLinearizable, what, core));
            }
            Found::GaveUp => doubts.push(Doubt::TooMuchToSearch { unit: name.clone() }),
        }
    }
    (violations, doubts)
}

/// The courses of all units, one after the other, so that only one is in memory.
fn courses<'a>(
    history: &'a History,
    lives: &'a Lives<'_>,
) -> impl Iterator<Item = (UnitRef, Course)> + use<'a> {
    let looks = looks_by_unit(history, lives);
    let mut local: HashMap<HoldRef, u32> = HashMap::new();
    (0..).zip(looks).map(move |(unit, looks)| {
        local.clear();
        local.extend(lives.by_unit[unit as usize].iter().map(|(hold, _)| *hold).zip(0..));
        let mut tasks = Vec::with_capacity(looks.len() + local.len() * 2);
        for (hold, _, _) in lives.claimants(unit) {
            add_life(history, lives, hold, local[&hold], &mut tasks);
        }
        for op in looks {
            tasks.extend(look(&history.operations[op], op, unit, &local));
        }
        rank(history, &mut tasks);
        let quantities = lives.by_unit[unit as usize].iter().map(|(_, qty)| *qty).collect();
        (unit, Course { capacity: history.units[unit as usize].capacity, quantities, tasks })
    })
}

/// Everything that was done to one hold, or may have been.
fn add_life(history: &History, lives: &Lives<'_>, hold: HoldRef, local: u32, tasks: &mut Vec<Task>) {
    let life = &lives.all[hold as usize];
    let Some(placing) = &life.placing else { return };
    let tolerance = history.tolerance_us;
    let mut add = |act: &Act, step| {
        let required = act.acknowledged();
        tasks.push(Task { op: act.op, start: act.start, end: act.end, step, required, rank: (0, 0) });
    };
    // What is not known to have an expiry may expire at once, or never.
    let window = |expires_at: Option<Micros>, from: Micros| match expires_at {
        Some(at) => (at.saturating_sub(tolerance), at.saturating_add(tolerance)),
        None => (from, NEVER),
    };
    let (lo, hi) = window(placing.expires_at, placing.act.start);
    add(&placing.act, Step::Place { hold: local, lo, hi });
    life.agains.iter().for_each(|act| add(act, Step::Again { hold: local }));
    for (act, expires_at) in &life.extends {
        let (lo, hi) = window(*expires_at, act.start);
        add(act, Step::Extend { hold: local, lo, hi });
    }
    if placing.expires_at.is_none() || life.extends.iter().any(|(_, expires_at)| expires_at.is_none()) {
        add(&placing.act.unacknowledged(), Step::Lapse { hold: local });
    }
    life.releases.iter().for_each(|act| add(act, Step::Release { hold: local }));
    life.confirms.iter().for_each(|(act, _)| add(act, Step::Confirm { hold: local }));
    life.cancels.iter().for_each(|act| add(act, Step::Cancel { hold: local }));
}

/// Operations that changed nothing, by the units they say something about.
fn looks_by_unit(history: &History, lives: &Lives<'_>) -> Vec<Vec<usize>> {
    let mut looks = vec![Vec::new(); history.units.len()];
    for (at, operation) in history.operations.iter().enumerate() {
        let about_hold = match (&operation.call, &operation.outcome) {
            (Call::Hold { .. }, Outcome::Fail(Reason::Taken(units))) => {
                units.iter().for_each(|unit| looks[*unit as usize].push(at));
                None
            }
            (Call::Read { unit }, Outcome::Ok(_)) => {
                looks[*unit as usize].push(at);
                None
            }
            (
                Call::Extend { hold } | Call::Confirm { hold, .. } | Call::Release { hold },
                Outcome::Fail(_),
            ) => Some(hold),
            _ => None,
        };
        let life = about_hold.and_then(|hold| lives.get(*hold));
        let claims = life.and_then(|life| life.placing.as_ref()).map_or(&[][..], |placing| placing.claims);
        claims.iter().for_each(|claim| looks[claim.unit as usize].push(at));
    }
    looks
}

fn look(operation: &Operation, op: usize, unit: UnitRef, local: &HashMap<HoldRef, u32>) -> Option<Task> {
    let step = match (&operation.call, &operation.outcome) {
        (Call::Hold { claims, .. }, Outcome::Fail(Reason::Taken(_))) => {
            Step::Refused { qty: claims.iter().find(|claim| claim.unit == unit).map_or(1, |claim| claim.qty) }
        }
        (Call::Read { .. }, Outcome::Ok(Answer::Seen { held, booked })) => {
            Step::Read { held: *held, booked: *booked }
        }
        (
            Call::Extend { hold } | Call::Confirm { hold, .. } | Call::Release { hold },
            Outcome::Fail(reason),
        ) => {
            let hold = *local.get(hold)?;
            match reason {
                Reason::Expired => Step::FoundExpired { hold },
                Reason::Released => Step::FoundReleased { hold },
                Reason::AlreadyBooked => Step::FoundBooked { hold },
                Reason::UnknownHold | Reason::Taken(_) | Reason::Other(_) => return None,
            }
        }
        _ => return None,
    };
    Some(Task {
        op,
        start: operation.start,
        end: operation.end,
        step,
        required: true,
        rank: (operation.start, 0),
    })
}

/// Changes in the order of their journal numbers, no earlier than they began; without numbers, as they ended.
/// What was never answered comes last: most of it never happened.
fn rank(history: &History, tasks: &mut [Task]) {
    let version = |task: &Task| history.operations[task.op].version.unwrap_or(u64::MAX);
    let mut changes: Vec<usize> = (0..tasks.len()).filter(|&at| !tasks[at].step.is_look()).collect();
    changes.sort_unstable_by_key(|&at| (version(&tasks[at]), tasks[at].end));
    let mut moment = Micros::MIN;
    for (place, at) in (1..).zip(changes) {
        let task = &mut tasks[at];
        let estimate = match history.operations[task.op].version {
            // The latest first: what happened after all mostly did so while somebody waited for it.
            _ if !task.required => NEVER - task.start,
            Some(_) => {
                moment = moment.max(task.start);
                moment
            }
            // What the store alone tells of was most likely done by the time somebody gave up waiting for it.
            None => task.end.min(history.operations[task.op].end),
        };
        task.rank = (estimate, place);
    }
}
