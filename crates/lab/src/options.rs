//! What a run of the lab is asked for, and what that comes to: which rows, in which scenarios, at which sizes.

use std::{path::PathBuf, time::Duration};

use holdfast_engine::strategy::Strategy;

use crate::{
    Scenario,
    faults::Fault,
    mistakes::{self, Way},
    schedule::Size,
};

/// What to run, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// A PostgreSQL to use; without it a private one, where there is one to start.
    pub ledger: Option<String>,
    pub gate: Option<String>,
    /// Who vouches for a gate that is spoken to by TLS, where it is nobody that this machine trusts.
    pub gate_ca: Option<PathBuf>,
    /// As [`Options::names`] has them; empty for all.
    pub strategies: Vec<String>,
    /// As [`Options::every_scenario`] has them; empty for all.
    pub scenarios: Vec<String>,
    pub buyers: Vec<u32>,
    pub seed: u64,
    pub quick: bool,
    /// Requests a second of the open loop.
    pub rate_per_s: f64,
    /// Where every history is kept as JSON.
    pub histories: Option<PathBuf>,
    /// The program whose `serve` is killed in the middle of a sale.
    pub program: Option<PathBuf>,
    /// How long all of it may take. Rows shrink to keep to it; none is left out.
    pub within: Duration,
}

impl Options {
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.strategies.is_empty() || self.strategies.iter().any(|wanted| wanted == name)
    }

    fn sees(&self, scenario: &str) -> bool {
        self.scenarios.is_empty() || self.names_scenario(scenario)
    }

    fn names_scenario(&self, scenario: &str) -> bool {
        self.scenarios.iter().any(|wanted| wanted == scenario)
    }

    /// About two hundred purchases where nobody is in the way, or one for each who comes.
    pub(crate) fn size(&self, buyers: u32) -> Size {
        let (purchases, open_for) = if self.quick { (1, 300) } else { (200, 1500) };
        let visits = (purchases / buyers).clamp(1, 20);
        Size { visits, rate_per_s: self.rate_per_s, open_for: Duration::from_millis(open_for) }
    }

    /// At which size what runs once is run.
    pub(crate) fn middle(&self) -> u32 {
        let mut buyers = self.buyers.clone();
        buyers.sort_unstable();
        buyers.get(buyers.len().saturating_sub(1) / 2).copied().unwrap_or(20).min(50)
    }

    /// Everything that `scenarios` may name; `mistakes` are those of all mistakes.
    pub fn every_scenario() -> Vec<String> {
        let scenarios = Scenario::EVERY.iter().chain(Scenario::ONCE).map(|scenario| scenario.as_str());
        let faults = Fault::ALL.iter().map(|fault| fault.as_str());
        let mut names: Vec<String> = scenarios.chain(["mistakes"]).chain(faults).map(str::to_owned).collect();
        for way in mistakes::every() {
            let name = way.row();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Everything that `strategies` may name.
    pub fn names() -> Vec<&'static str> {
        let strategies = Strategy::ALL.iter().map(|strategy| strategy.as_str());
        let mistakes: Vec<_> = mistakes::every().iter().map(|way| way.name()).collect();
        ["naive"].into_iter().chain(strategies).chain(mistakes).collect()
    }

    /// The scenarios of every size, with their sizes.
    pub(crate) fn every(&self) -> Vec<(Scenario, u32)> {
        let wanted = Scenario::EVERY.iter().filter(|scenario| self.sees(scenario.as_str()));
        wanted.flat_map(|scenario| self.buyers.iter().map(|buyers| (*scenario, *buyers))).collect()
    }

    /// The scenarios of one size. In a hurry, those that wait for holds to expire are left out.
    pub(crate) fn once(&self) -> Vec<(Scenario, u32)> {
        let all = if self.quick { &Scenario::ONCE[..2] } else { Scenario::ONCE };
        let wanted = all.iter().filter(|scenario| self.sees(scenario.as_str()));
        wanted.map(|scenario| (*scenario, self.middle())).collect()
    }

    /// Costs are told in the rows of the scenarios that have every size.
    pub(crate) fn counts_costs(&self) -> bool {
        !self.quick && !self.every().is_empty()
    }

    pub(crate) fn mistakes(&self) -> Vec<Box<dyn Way>> {
        let sees = |way: &dyn Way| self.sees("mistakes") || self.names_scenario(&way.row());
        mistakes::every().into_iter().filter(|way| self.wants(way.name()) && sees(&**way)).collect()
    }

    /// In a hurry, only those that were named: each takes seconds.
    pub(crate) fn faults(&self) -> Vec<(Fault, Strategy)> {
        let seen = |fault: &Fault| match self.quick {
            true => self.names_scenario(fault.as_str()),
            false => self.sees(fault.as_str()),
        };
        let of = |fault: Fault| fault.strategies().iter().map(move |strategy| (fault, *strategy));
        let all = Fault::ALL.iter().copied().filter(seen).flat_map(of);
        all.filter(|(_, strategy)| self.wants(strategy.as_str())).collect()
    }
}
