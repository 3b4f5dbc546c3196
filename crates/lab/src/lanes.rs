//! A run as a picture has it: a lane for every buyer, the owners of what they wanted, and the checker's findings on the
//! same scale of time. Read from the history; nothing is judged here.

use std::collections::HashMap;

use holdfast_checker::{
    Call, History, Outcome, Verdict, Violation,
    history::{Answer, Micros, Operation, UnitRef},
};

use crate::{
    crowd::Recorded,
    report::model::{self, Lane, Owner, Race},
    shop::Steps,
};

/// Which run this is a picture of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Title<'a> {
    pub strategy: &'a str,
    pub scenario: &'a str,
    pub buyers: u32,
    pub seed: u64,
}

/// Lanes beyond this say nothing more to anybody.
const MOST_LANES: usize = 60;

pub(crate) fn race(title: Title<'_>, recorded: &Recorded, verdict: &Verdict) -> Race {
    let history = &recorded.history;
    let end = history.operations.iter().map(|op| op.end).max().unwrap_or(0);
    let unit = wanted(history, verdict);
    let steps: HashMap<u32, &Steps> = recorded.steps.iter().map(|(holder, steps)| (*holder, steps)).collect();
    let scale = Scale { zero: recorded.zero, end };
    let violations = verdict.violations().iter().map(|violation| scale.violation(history, unit, violation));
    Race {
        strategy: title.strategy.to_owned(),
        scenario: title.scenario.to_owned(),
        buyers: title.buyers,
        seed: title.seed,
        unit: history.units[unit as usize].name.clone(),
        lanes: scale.lanes(history, unit, &steps),
        owners: scale.owners(history, unit),
        violations: violations.collect(),
    }
}

/// The unit that something went wrong with, or the first.
fn wanted(history: &History, verdict: &Verdict) -> UnitRef {
    let shown = verdict.violations().first().and_then(|violation| violation.operations.first());
    let claims = shown.and_then(|at| match &history.operations[*at].call {
        Call::Hold { claims, .. } => claims.first(),
        _ => None,
    });
    claims.map_or(0, |claim| claim.unit)
}

struct Scale {
    /// When the race began, on the steps' clock; a history begins at nought.
    zero: Micros,
    end: Micros,
}

impl Scale {
    fn at(&self, at: Micros) -> u64 {
        at.max(0) as u64
    }

    /// Winners first, then in the order they came.
    fn lanes(&self, history: &History, unit: UnitRef, steps: &HashMap<u32, &Steps>) -> Vec<Lane> {
        let asks = history.operations.iter().filter_map(|op| match &op.call {
            Call::Hold { holder, claims, .. } if claims.iter().any(|claim| claim.unit == unit) => {
                Some((*holder, op))
            }
            _ => None,
        });
        let mut lanes: Vec<Lane> =
            asks.map(|(holder, op)| self.lane(history, holder, op, steps.get(&holder).copied())).collect();
        lanes.sort_by_key(|lane| (lane.outcome != model::Outcome::Won, lane.start_us));
        lanes.truncate(MOST_LANES);
        lanes.sort_by_key(|lane| lane.start_us);
        lanes
    }

    fn lane(&self, history: &History, holder: u32, op: &Operation, steps: Option<&Steps>) -> Lane {
        let phases = steps.map(|steps| steps.spans_from(self.zero)).unwrap_or_default();
        let end_us = phases.iter().map(|span| span.end_us).max().unwrap_or(0).max(self.at(op.end));
        let outcome = match &op.outcome {
            Outcome::Ok(_) => model::Outcome::Won,
            Outcome::Fail(_) => model::Outcome::Refused,
            Outcome::Unknown => model::Outcome::Unknown,
        };
        let told = op.tell(history);
        let words = told.split_once(" -> ").map_or(told.clone(), |(_, words)| words.to_owned());
        Lane { buyer: buyer(holder), outcome, start_us: self.at(op.start), end_us, phases, words }
    }

    /// From the moment somebody was told so, until it was given back or ran out unpaid.
    fn owners(&self, history: &History, unit: UnitRef) -> Vec<Owner> {
        let ends = |hold: u32, expires_at: Micros| {
            let mut to = Some(expires_at).filter(|at| *at < self.end);
            for op in &history.operations {
                match (&op.call, &op.outcome) {
                    (Call::Release { hold: h }, Outcome::Ok(Answer::Released)) if *h == hold => {
                        to = Some(op.end);
                    }
                    (Call::Confirm { hold: h, .. }, Outcome::Ok(_)) if *h == hold => return None,
                    _ => {}
                }
            }
            to
        };
        let told = history.operations.iter().filter_map(|op| match &op.outcome {
            Outcome::Ok(Answer::Held { hold, holder, claims, expires_at, again: false })
                if claims.iter().any(|claim| claim.unit == unit) =>
            {
                let to_us = ends(*hold, *expires_at).map(|at| self.at(at));
                Some(Owner { holder: buyer(*holder), from_us: self.at(op.end), to_us })
            }
            _ => None,
        });
        told.take(MOST_LANES).collect()
    }

    fn violation(&self, history: &History, unit: UnitRef, violation: &Violation) -> model::Violation {
        let shown = || violation.operations.iter().map(|at| &history.operations[*at]);
        let mut holders: Vec<String> = Vec::new();
        for op in shown() {
            let name = match (&op.call, &op.outcome) {
                (Call::Hold { holder, .. }, _) => buyer(*holder),
                (_, Outcome::Ok(Answer::Confirmed { holder, .. })) => buyer(*holder),
                _ => continue,
            };
            if !holders.contains(&name) {
                holders.push(name);
            }
        }
        // Both belong to it from when the second was told so.
        let from = shown().filter(|op| matches!(op.call, Call::Hold { .. })).map(|op| op.end).max();
        model::Violation {
            kind: snake(&format!("{:?}", violation.anomaly)),
            unit: history.units[unit as usize].name.clone(),
            holders,
            from_us: self.at(from.or_else(|| shown().map(|op| op.end).max()).unwrap_or(0)),
            to_us: self.at(self.end),
            words: violation.what.clone(),
        }
    }
}

pub(crate) fn buyer(holder: u32) -> String {
    format!("buyer-{holder}")
}

/// `DoubleSale` as `double_sale`.
pub(crate) fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
