//! The story of a report as one small SVG: a race that breaks beside one that holds. For a README or a slide, in the
//! reader's own light or dark; it moves nowhere and needs nothing.

use std::fmt::Write;

use super::{
    Report,
    model::{Lane, Outcome, Phase, Race},
};

const WIDTH: f64 = 880.0;
const PANEL: f64 = 420.0;
const TOP: f64 = 74.0;
const LANES: f64 = 240.0;
/// Lanes beyond these would be thinner than a line.
const MOST_LANES: usize = 60;

const STYLE: &str = "text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#565e6b}.name{font:700 15px ui-monospace,monospace;\
fill:#16191f}.yes{fill:#0b57c2}.bad{fill:#c0280f;font-weight:700}.big{font-weight:800;font-size:17px}.card{fill:#fff;\
stroke:#dfdfd9}.read{fill:#6ba3dc}.think{fill:#b9a36a}.wait{fill:#8a909b}.write{fill:#e08a00}.commit{fill:#0b57c2}\
.ask{fill:#8fa0b8}.won .ask{fill:#0b57c2}.end{fill:#0b57c2}.no{stroke:#878d97;stroke-width:1.3}.lost{fill:#8a5a00}\
.band{fill:#d53414;opacity:.14}.edge{stroke:#c0280f;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#a4adba}.name{fill:#e9ebef}.yes,.commit,.end,.won .ask{fill:#6cabff}\
.bad{fill:#ff7a5c}.card{fill:#161a21;stroke:#2a303a}.read{fill:#3f78b5}.think{fill:#8d7c4d}.write{fill:#f0a83a}\
.ask{fill:#64748d}.lost{fill:#f0bb55}.band{fill:#ff5a36;opacity:.22}.edge{stroke:#ff7a5c}}";

/// `None` where the report has no race that broke.
pub fn svg(report: &Report) -> Option<String> {
    let broken = report.races.iter().filter(|race| !race.violations.is_empty());
    let broken = broken.min_by_key(|race| (!race.strategy.starts_with("naive"), race.buyers.abs_diff(24)))?;
    let alike = |race: &&Race| race.violations.is_empty() && race.scenario == broken.scenario;
    let held = report.races.iter().filter(alike).min_by_key(|race| {
        let usual = ["batched", "writer"].iter().position(|name| *name == race.strategy).unwrap_or(2);
        (race.buyers.abs_diff(broken.buyers), usual)
    });
    let races: Vec<&Race> = [Some(broken), held].into_iter().flatten().collect();
    let label: Vec<String> = races.iter().map(|race| format!("{}: {}", race.strategy, owned(race))).collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} 362\" role=\"img\" aria-label=\"{}\"><style>{STYLE}</style>",
        escaped(&format!("One unit, {} buyers. {}.", broken.buyers, label.join("; ")))
    );
    for (at, race) in races.iter().enumerate() {
        panel(&mut text, race, at as f64 * (PANEL + 20.0) + 10.0);
    }
    text.push_str("</svg>\n");
    Some(text)
}

fn end_of(race: &Race) -> u64 {
    race.lanes.iter().map(|lane| lane.end_us).max().unwrap_or(1).max(1)
}

fn owned(race: &Race) -> String {
    match race.owners.len() {
        1 => "one owner".to_owned(),
        many => format!("{many} owners of one seat"),
    }
}

/// On a scale of its own, which the line below it tells: one may take ten times as long as the other.
fn panel(text: &mut String, race: &Race, left: f64) {
    let span_us = end_of(race);
    let x = |us: u64| left + 16.0 + (PANEL - 46.0) * us as f64 / span_us as f64;
    let tone = if race.violations.is_empty() { "yes" } else { "bad" };
    add(
        text,
        format_args!(
            "<rect class=\"card\" x=\"{left}\" y=\"1\" width=\"{PANEL}\" height=\"360\" rx=\"12\"/>"
        ),
    );
    add(
        text,
        format_args!(
            "<text class=\"name\" x=\"{}\" y=\"29\">{}</text>",
            left + 16.0,
            escaped(&race.strategy)
        ),
    );
    let right = left + PANEL - 16.0;
    add(
        text,
        format_args!(
            "<text class=\"{tone} big\" x=\"{right}\" y=\"29\" text-anchor=\"end\">{}</text>",
            owned(race)
        ),
    );
    let mut lanes: Vec<&Lane> = race.lanes.iter().collect();
    lanes.sort_by_key(|lane| (rank(lane.outcome), lane.end_us));
    lanes.truncate(MOST_LANES);
    let height = LANES / lanes.len().max(1) as f64;
    if let Some(from_us) = wrong_from(race) {
        band(text, x(from_us), x(end_of(race)), left + 110.0);
    }
    for (at, lane) in lanes.iter().enumerate() {
        lane_of(text, lane, TOP + at as f64 * height, height, &x);
    }
    let told = |outcome| race.lanes.iter().filter(|lane| lane.outcome == outcome).count();
    let sum = format!(
        "{} buyers: {} heard yes, {} no, within {:.1} ms",
        race.buyers,
        told(Outcome::Won),
        told(Outcome::Refused),
        end_of(race) as f64 / 1000.0
    );
    add(text, format_args!("<text x=\"{}\" y=\"342\">{sum}</text>", left + 16.0));
}

/// When the worst of what was found began.
fn wrong_from(race: &Race) -> Option<u64> {
    let worst = race.violations.first()?;
    race.violations.iter().filter(|found| found.kind == worst.kind).map(|found| found.from_us).min()
}

/// Its name stands before it where there is room, else behind its edge.
fn band(text: &mut String, from: f64, to: f64, room: f64) {
    let (top, bottom, wide) = (TOP - 4.0, TOP + LANES - 4.0, to - from);
    add(
        text,
        format_args!(
            "<rect class=\"band\" x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{LANES}\"/>"
        ),
    );
    add(text, format_args!("<path class=\"edge\" d=\"M{from:.1} {}V{bottom}\"/>", TOP - 20.0));
    let (at, anchor) = if from > room { (from - 6.0, "end") } else { (from + 6.0, "start") };
    let y = TOP - 10.0;
    add(
        text,
        format_args!(
            "<text class=\"bad\" x=\"{at:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">sold again</text>"
        ),
    );
}

const fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Won => 0,
        Outcome::Unknown => 1,
        Outcome::Refused => 2,
    }
}

fn lane_of(text: &mut String, lane: &Lane, top: f64, height: f64, x: &impl Fn(u64) -> f64) {
    let middle = top + height / 2.0;
    text.push_str(if lane.outcome == Outcome::Won { "<g class=\"won\">" } else { "<g>" });
    for span in &lane.phases {
        let (class, thick) = match span.phase {
            Phase::Wait => ("wait", 0.2),
            Phase::Read => ("read", 0.8),
            Phase::Think => ("think", 0.2),
            Phase::Write => ("write", 0.8),
            Phase::Commit => ("commit", 0.8),
            Phase::Ask => ("ask", 0.8),
        };
        let (from, tall) = (x(span.start_us), height * thick);
        let wide = (x(span.end_us) - from).max(1.0);
        add(
            text,
            format_args!(
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\" rx=\"1\"/>",
                middle - tall / 2.0
            ),
        );
    }
    let (end, size) = (x(lane.end_us) + 5.0, (height * 0.3).min(4.0));
    match lane.outcome {
        Outcome::Won => add(
            text,
            format_args!("<circle class=\"end\" cx=\"{end:.1}\" cy=\"{middle:.1}\" r=\"{size:.1}\"/>"),
        ),
        Outcome::Refused => add(
            text,
            format_args!(
                "<path class=\"no\" d=\"M{0:.1} {2:.1}L{1:.1} {3:.1}M{0:.1} {3:.1}L{1:.1} {2:.1}\"/>",
                end - size,
                end + size,
                middle - size,
                middle + size
            ),
        ),
        Outcome::Unknown => {
            add(text, format_args!("<text class=\"lost\" x=\"{end:.1}\" y=\"{:.1}\">?</text>", middle + 4.0))
        }
    }
    text.push_str("</g>");
}

fn add(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes everything");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::{Owner, Violation};

    fn race(strategy: &str, owners: usize) -> Race {
        let lane = |outcome| Lane {
            buyer: "b".into(),
            outcome,
            start_us: 0,
            end_us: 900,
            phases: vec![],
            words: String::new(),
        };
        let owner = Owner { holder: "b".into(), from_us: 900, to_us: None };
        let (kind, unit, words) = ("double_sale".into(), "A-1".into(), String::new());
        let found = Violation { kind, unit, holders: vec![], from_us: 400, to_us: 900, words };
        Race {
            strategy: strategy.into(),
            scenario: "one_seat".into(),
            buyers: 20,
            seed: 1,
            unit: "A-1".into(),
            lanes: vec![lane(Outcome::Won), lane(Outcome::Refused), lane(Outcome::Unknown)],
            owners: vec![owner; owners],
            violations: if owners > 1 { vec![found] } else { vec![] },
        }
    }

    #[test]
    fn what_broke_stands_beside_what_held() {
        let races = vec![race("writer", 1), race("<naive>", 7), race("batched", 1)];
        let text = svg(&Report { races, ..Report::default() }).unwrap();
        assert!(
            text.contains("7 owners of one seat") && text.contains("batched") && !text.contains("writer")
        );
        assert!(text.contains("&lt;naive>") && text.matches("class=\"band\"").count() == 1);
        assert_eq!(svg(&Report { races: vec![race("writer", 1)], ..Report::default() }), None);
    }
}
