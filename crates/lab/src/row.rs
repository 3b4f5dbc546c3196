//! One row of the report: what the history says in figures, what the checker says of it, and what it cost.

use holdfast_checker::{Anomaly, Evidence, History, Verdict};

use crate::{
    Scenario,
    figures::Figures,
    report::model::{self, Kind, Load, Run},
    schedule::Schedule,
};

/// One run to be: who, in what, how many.
#[derive(Debug)]
pub(crate) struct Plan {
    pub name: String,
    pub kind: Kind,
    pub scenario: String,
    pub buyers: u32,
    pub evidence: Evidence,
    pub schedule: Schedule,
}

/// What was measured beside the history, where it could be.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    pub cpu_ms: Option<f64>,
    pub saved_by: Option<String>,
}

/// Lanes are for races over one thing that fit a page; where none does, for the smallest.
pub(crate) fn pictured(plan: &Plan, smallest: u32) -> bool {
    let raced = plan.scenario == Scenario::OneSeat.as_str() || plan.scenario.starts_with("mistake_");
    raced && plan.buyers <= smallest.max(50)
}

pub(crate) fn run_of(
    plan: &Plan,
    cost: &Cost,
    history: &History,
    verdict: &Verdict,
    figures: &Figures,
) -> Run {
    let [p50_ms, p95_ms, p99_ms, p999_ms] = figures.latency_ms;
    let of = |anomaly| verdict.violations().iter().filter(|found| found.anomaly == anomaly).count() as u64;
    Run {
        strategy: plan.name.clone(),
        scenario: plan.scenario.clone(),
        buyers: plan.buyers,
        attempts: figures.attempts,
        won: figures.won,
        refused: figures.refused,
        unknown: figures.unknown,
        violations: verdict.violations().len() as u64,
        false_refusals: of(Anomaly::FalseRefusal),
        goodput_per_s: figures.goodput_per_s,
        p50_ms,
        p95_ms,
        p99_ms,
        p999_ms,
        kind: plan.kind,
        verdict: match verdict {
            Verdict::Valid(_) => model::Verdict::Valid,
            Verdict::Invalid(..) => model::Verdict::Invalid,
            Verdict::Unknown(..) => model::Verdict::Unknown,
        },
        saved_by: cost.saved_by.clone(),
        counterexample: counterexample(history, verdict),
        attempts_per_success: figures.attempts_per_success(),
        round_trips_per_booking: None,
        fsyncs_per_booking: None,
        cpu_ms_per_booking: cost.cpu_ms.and_then(|sum| figures.per_booking(sum)),
        load: if plan.schedule.rate_per_s.is_some() { Load::Open } else { Load::Closed },
        rate_per_s: plan.schedule.rate_per_s,
        cut: false,
    }
}

/// The first finding and the fewest operations that show it; of a doubt, the doubt.
fn counterexample(history: &History, verdict: &Verdict) -> Vec<String> {
    match verdict {
        Verdict::Valid(_) => Vec::new(),
        Verdict::Unknown(doubts, _) => doubts.iter().map(ToString::to_string).collect(),
        Verdict::Invalid(violations, _) => {
            let first = &violations[0];
            let shown = first.operations.iter().map(|at| history.operations[*at].tell(history));
            std::iter::once(first.to_string()).chain(shown).collect()
        }
    }
}
