//! What a server shows of the lab: the last races and reports, in memory, the oldest gone first.

use std::{collections::VecDeque, fmt};

use parking_lot::Mutex;

use crate::{
    race::MOST_LANES,
    report::{
        self, Page, Report,
        model::{Lane, Machine, Race, Servers},
    },
};

#[derive(Debug, Clone)]
pub struct Limits {
    /// Races kept.
    pub races: usize,
    /// Reports kept; they are larger.
    pub reports: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { races: 32, reports: 4 }
    }
}

#[derive(Debug, Default)]
pub struct Shelf {
    limits: Limits,
    races: Mutex<VecDeque<Kept>>,
    reports: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    label: Label,
    report: Report,
}

/// What stands on the back of something on the shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub id: String,
    /// RFC 3339.
    pub at: String,
    pub title: String,
    pub came: Came,
}

/// What a race came to, as far as its label says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    Well,
    /// More have it than there are of it.
    SoldWrongly,
    /// Nobody got it, and they were told that it is gone.
    TakenBefore,
}

impl Came {
    fn of(races: &[Race]) -> Self {
        match races {
            _ if races.iter().any(is_sold_wrongly) => Self::SoldWrongly,
            _ if races.iter().any(was_taken_before) => Self::TakenBefore,
            _ => Self::Well,
        }
    }
}

fn is_sold_wrongly(race: &Race) -> bool {
    race.violations
        .iter()
        .any(|found| ["double_sale", "stolen_hold", "oversell"].contains(&found.kind.as_str()))
}

fn was_taken_before(race: &Race) -> bool {
    let is_gone = |lane: &Lane| matches!(lane.words.as_str(), "unit_taken" | "sold_out");
    race.owners.is_empty() && race.lanes.iter().any(is_gone)
}

/// Why something is not kept.
#[derive(Debug, PartialEq, Eq)]
pub struct NotKept(pub String);

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotKept {}

impl Shelf {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Keeps races that belong to one picture, under the given id.
    pub fn keep_races(&self, id: String, at: String, races: Vec<Race>) -> Result<(), NotKept> {
        if races.is_empty() || races.iter().any(|race| race.lanes.len() > MOST_LANES) {
            return Err(NotKept(format!("A picture has a race or two of at most {MOST_LANES} lanes each.")));
        }
        let title = races.iter().map(title).collect::<Vec<_>>().join("; ");
        let label = Label { id, at, title, came: Came::of(&races) };
        put(&self.races, Kept { report: alone(&label, races), label }, self.limits.races);
        Ok(())
    }

    /// Keeps the report of a run of the lab.
    pub fn keep_report(&self, id: String, report: Report) {
        // Some of its runs are there to sell wrongly; the report says which did.
        let came = Came::Well;
        let title = format!("{} runs, seed {}", report.runs.len(), report.seed);
        let label = Label { id, at: report.started_at.clone(), title, came };
        put(&self.reports, Kept { label, report }, self.limits.reports);
    }

    /// The races, newest first.
    pub fn races(&self) -> Vec<Label> {
        labels(&self.races)
    }

    /// The reports, newest first.
    pub fn reports(&self) -> Vec<Label> {
        labels(&self.reports)
    }

    pub fn race(&self, id: &str, home: &str) -> Option<Page> {
        page(&self.races, id, home)
    }

    pub fn report(&self, id: &str, home: &str) -> Option<Page> {
        page(&self.reports, id, home)
    }
}

fn put(on: &Mutex<VecDeque<Kept>>, kept: Kept, most: usize) {
    let mut on = on.lock();
    on.push_front(kept);
    on.truncate(most);
}

fn labels(on: &Mutex<VecDeque<Kept>>) -> Vec<Label> {
    on.lock().iter().map(|kept| kept.label.clone()).collect()
}

fn page(on: &Mutex<VecDeque<Kept>>, id: &str, home: &str) -> Option<Page> {
    let report = on.lock().iter().find(|kept| kept.label.id == id).map(|kept| kept.report.clone())?;
    Some(report::page(&report, Some(home)))
}

/// A report of nothing but races.
fn alone(label: &Label, races: Vec<Race>) -> Report {
    Report { races, ..just_now(&label.at) }
}

/// The frame of a report that was not made by a run of the lab.
pub fn just_now(at: &str) -> Report {
    Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: at.to_owned(),
        machine: Machine::default(),
        servers: Servers::default(),
        ..Report::default()
    }
}

fn title(race: &Race) -> String {
    let Race { strategy, buyers, unit, owners, .. } = race;
    format!(
        "{strategy}: {buyers} buyers, {} of {unit}",
        match owners.len() {
            1 => "one owner".to_owned(),
            many => format!("{many} owners"),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::{Outcome, Violation};

    fn race(buyers: u32) -> Race {
        let (strategy, scenario, unit) = ("writer".into(), "one_seat".into(), "A-1".into());
        let (lanes, owners, violations) = (vec![], vec![], vec![]);
        Race { strategy, scenario, buyers, seed: 1, unit, lanes, owners, violations }
    }

    #[test]
    fn the_oldest_goes_first() {
        let shelf = Shelf::new(Limits { races: 2, reports: 1 });
        for buyers in 1..=3 {
            shelf.keep_races(buyers.to_string(), "now".into(), vec![race(buyers)]).unwrap();
        }
        let ids: Vec<String> = shelf.races().into_iter().map(|label| label.id).collect();
        assert_eq!(ids, ["3", "2"]);
        assert!(shelf.race("1", "/lab").is_none());
        let page = shelf.race("3", "/lab").unwrap();
        assert!(page.html.contains("href=\"/lab\"") && page.html.contains("\"buyers\":3"));
    }

    #[test]
    fn only_more_owners_than_there_are_units_is_sold_wrongly() {
        let lane = |words: &str| Lane {
            buyer: "b".into(),
            outcome: Outcome::Refused,
            start_us: 0,
            end_us: 1,
            phases: vec![],
            words: words.into(),
        };
        let found = |kind: &str| Violation {
            kind: kind.into(),
            unit: "A-1".into(),
            holders: vec![],
            from_us: 0,
            to_us: 1,
            words: String::new(),
        };
        let taken =
            Race { lanes: vec![lane("unit_taken")], violations: vec![found("false_refusal")], ..race(1) };
        assert_eq!(Came::of(&[taken]), Came::TakenBefore);
        assert_eq!(Came::of(&[Race { lanes: vec![lane("503 overloaded")], ..race(1) }]), Came::Well);
        assert_eq!(
            Came::of(&[race(1), Race { violations: vec![found("double_sale")], ..race(1) }]),
            Came::SoldWrongly
        );
    }

    #[test]
    fn nothing_is_no_picture() {
        assert!(Shelf::default().keep_races("1".into(), "now".into(), vec![]).is_err());
    }
}
