//! What was measured, on what, and how it compares with what was hoped for.

use std::{io, path::Path, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    load::{Latency, Tally},
    machine,
    term::{self, Term, number},
};

#[derive(Debug)]
pub struct Bench {
    pub at: String,
    pub quick: bool,
    pub connections: u64,
    pub machine: Machine,
    pub figures: Vec<Figure>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    pub cores: usize,
    pub cpu: String,
    pub kernel: String,
    pub filesystem: String,
    pub fsync_us: u64,
}

impl Machine {
    /// This one, with the disk under `folder`.
    pub fn look(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            cores: machine::cores(),
            cpu: machine::cpu(),
            kernel: machine::kernel(),
            filesystem: machine::filesystem(folder).unwrap_or_else(|| "unknown".into()),
            fsync_us: machine::fsync_latency(folder)?.as_micros() as u64,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Worth knowing, and nothing was promised.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Ratio,
    Times,
    Percent,
    Bytes,
    Seconds,
    PerSecond,
}

#[derive(Debug, Clone)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: Unit,
    pub target: Target,
    /// The raw figures in a few words, for people.
    pub note: String,
    /// Everything, for machines.
    pub raw: Value,
}

impl Figure {
    pub fn is_met(&self) -> bool {
        match self.target {
            Target::AtLeast(least) => self.value >= least,
            Target::AtMost(most) => self.value <= most,
            Target::None => true,
        }
    }

    fn to_json(&self) -> Value {
        let (least, most) = match self.target {
            Target::AtLeast(least) => (Some(least), None),
            Target::AtMost(most) => (None, Some(most)),
            Target::None => (None, None),
        };
        json!({"name": self.name, "value": self.value, "unit": format!("{:?}", self.unit).to_lowercase(),
            "at_least": least, "at_most": most, "met": self.is_met(), "note": self.note, "raw": self.raw})
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Ratio => format!("{value:.2}"),
            Self::Times => format!("{value:.1} ×"),
            Self::Percent => format!("{value:.0} %"),
            Self::Bytes => term::size(value.max(0.0) as u64),
            Self::Seconds => format!("{value:.2} s"),
            Self::PerSecond => per_second(value),
        }
    }
}

impl Bench {
    pub fn to_json(&self) -> Value {
        json!({"version": env!("CARGO_PKG_VERSION"), "commit": env!("HOLDFAST_COMMIT"), "at": self.at,
            "quick": self.quick, "connections": self.connections, "optimised": !cfg!(debug_assertions),
            "machine": self.machine, "figures": self.figures.iter().map(Figure::to_json).collect::<Vec<_>>()})
    }

    pub fn show(&self) {
        let term = Term::stdout();
        let Machine { cores, cpu, kernel, filesystem, fsync_us } = &self.machine;
        let sync = term::latency(*fsync_us);
        println!("\n  {} {} ({})", term.bold("Holdfast"), env!("CARGO_PKG_VERSION"), env!("HOLDFAST_COMMIT"));
        println!(
            "  {cores} cores, {cpu} · {kernel} · {filesystem}, fsync {sync} · {} connections",
            self.connections
        );
        if cfg!(debug_assertions) {
            println!(
                "  {}",
                term.warn("not optimised: build with --release for figures that mean something")
            );
        }
        if self.quick {
            println!("  {}", term.warn("a quick run: rough figures"));
        }
        let mut table = term.table(&["", "Figure", "Measured", "Target", "Raw"]);
        for figure in &self.figures {
            let mark = match (figure.target, figure.is_met()) {
                (Target::None, _) => " ",
                (_, true) => "✓",
                (_, false) => "✗",
            };
            let target = match figure.target {
                Target::AtLeast(least) => format!("≥ {}", figure.unit.show(least)),
                Target::AtMost(most) => format!("≤ {}", figure.unit.show(most)),
                Target::None => String::new(),
            };
            let measured = number(figure.unit.show(figure.value));
            table.add_row([
                mark.into(),
                figure.name.into(),
                measured,
                number(target),
                figure.note.as_str().into(),
            ]);
        }
        println!("\n{table}\n");
        let missed: Vec<&str> =
            self.figures.iter().filter(|figure| !figure.is_met()).map(|figure| figure.name).collect();
        match missed.as_slice() {
            [] => println!("  {}\n", term.good("every target is met")),
            _ => println!("  {}\n", term.bad(format!("missed: {}", missed.join(", ")))),
        }
    }
}

/// The rounds of one scenario, with the status that counts.
#[derive(Debug)]
pub struct Series<'a> {
    pub name: &'static str,
    pub status: u16,
    pub rounds: &'a [Tally],
}

impl Series<'_> {
    fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.rounds.iter().for_each(|round| total.add(round));
        total
    }

    /// Answers a second over all rounds.
    pub fn rate(&self) -> f64 {
        self.total().rate(self.status)
    }

    pub fn latency(&self) -> Latency {
        self.total().latency
    }

    /// The middle one of the rounds' ratios to another's.
    pub fn ratio_to(&self, other: &Self) -> f64 {
        let rounds = self.rounds.iter().zip(other.rounds);
        median(rounds.map(|(own, others)| own.rate(self.status) / others.rate(other.status)).collect())
    }

    pub fn to_json(&self) -> Value {
        let total = self.total();
        let rates: Vec<f64> = self.rounds.iter().map(|round| round.rate(self.status).round()).collect();
        let cpu_us = |used: Duration| used.as_micros() as f64 / total.with_status(self.status).max(1) as f64;
        json!({"scenario": self.name, "server_cpu_us_each": cpu_us(total.server_cpu),
            "generator_cpu_us_each": cpu_us(total.own_cpu), "per_second": self.rate().round(), "rounds": rates, "statuses": total.statuses,
            "lost_connections": total.lost, "latency_us": total.latency.summary()})
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `36,120/s`.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", term::thousands(rate.max(0.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_direction() {
        let figure = |value, target| Figure {
            name: "x",
            value,
            unit: Unit::Ratio,
            target,
            note: String::new(),
            raw: Value::Null,
        };
        assert!(figure(0.6, Target::AtLeast(0.6)).is_met());
        assert!(!figure(0.59, Target::AtLeast(0.6)).is_met());
        assert!(!figure(2.1, Target::AtMost(2.0)).is_met());
        assert!(figure(9.0, Target::None).is_met());
        assert!(!figure(f64::NAN, Target::AtLeast(0.6)).is_met(), "nothing measured is no success");
    }

    #[test]
    fn the_middle_round_speaks() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert!(median(vec![]).is_nan());
    }
}
