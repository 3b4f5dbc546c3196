//! A run of the lab as tables for a terminal: one a scenario, then how it happened, then what did not run.

use std::collections::BTreeMap;

use comfy_table::Cell;
use holdfast_lab::report::model::{Kind, Load, Report, Run, Verdict};

use crate::term::{self, Term, Tone, cell, latency, number, thousands};

/// What a narrow terminal can do without, the least important first. Who won what and what was seen always stand.
const DISPENSABLE: [&str; 8] = ["p99.9", "trips", "fsyncs", "asked", "no answer", "p50", "p99", "bookings/s"];

pub fn show(report: &Report) {
    let term = Term::stdout();
    headline(report, &term);
    for scenario in scenarios(report) {
        let runs: Vec<&Run> = report.runs.iter().filter(|run| run.scenario == scenario).collect();
        println!("  {}  {}", term.bold(scenario), term.dim(about(scenario)));
        println!("{}\n", rows(&runs, &term));
    }
    faults(report, &term);
    how_it_happened(report, &term);
    skipped(report, &term);
    shrunk(report, &term);
    verdict(report, &term);
}

fn headline(report: &Report, term: &Term) {
    let server = |name: &str, version: &Option<String>| {
        version.as_ref().map_or(format!("no {name}"), |version| format!("{name} {version}"))
    };
    let on = format!(
        "{} cores · {} · {}",
        report.machine.cores,
        server("PostgreSQL", &report.servers.postgres),
        server("Redis", &report.servers.redis)
    );
    println!("\n  {} seed {} · {on}\n", term.bold("holdfast lab"), report.seed);
}

/// In the order they ran. What broke on purpose has a table of its own.
fn scenarios(report: &Report) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for run in report.runs.iter().filter(|run| !run.scenario.starts_with("fault_")) {
        if !names.contains(&run.scenario.as_str()) {
            names.push(&run.scenario);
        }
    }
    names
}

fn about(scenario: &str) -> &'static str {
    match scenario {
        "one_seat" => "everybody wants the same seat at the same moment",
        "uncontended" => "a seat for everybody",
        "hot_stock" => "at least twice as many purchases as there is stock",
        "multi_seat" => "two or three seats at once, in opposing orders",
        "hold_think_pay" => "some pay in time, some leave, some come too late",
        "retry_storm" => "the same request five times at once, with one key",
        "open_uncontended" => "requests come at a rate, whether answered or not",
        _ => "arranged so that the mistake matters",
    }
}

fn rows(runs: &[&Run], term: &Term) -> comfy_table::Table {
    let mut table = term.table(&[
        "strategy",
        "buyers",
        "asked",
        "won",
        "refused",
        "no answer",
        "bookings/s",
        "p50",
        "p99",
        "p99.9",
        "trips",
        "fsyncs",
        "seen",
    ]);
    for run in runs {
        let per_booking = |figure: Option<f64>| figure.map_or("–".into(), |figure| format!("{figure:.1}"));
        let ms = |ms: f64| latency((ms * 1000.0) as u64);
        let buyers = match (run.load, run.rate_per_s) {
            (Load::Open, Some(rate)) => format!("{rate:.0}/s"),
            _ => thousands(run.buyers.into()),
        };
        table.add_row(vec![
            Cell::new(&run.strategy),
            number(buyers),
            number(thousands(run.attempts)),
            number(thousands(run.won)),
            number(thousands(run.refused)),
            number(thousands(run.unknown)),
            number(format!("{:.0}", run.goodput_per_s)),
            number(ms(run.p50_ms)),
            number(ms(run.p99_ms)),
            number(ms(run.p999_ms)),
            number(per_booking(run.round_trips_per_booking)),
            number(per_booking(run.fsyncs_per_booking)),
            seen(run),
        ]);
    }
    term::fit(&mut table, &DISPENSABLE);
    table
}

/// What was seen, in a few words. What is meant to break and did not is never called safe.
fn seen(run: &Run) -> Cell {
    match (run.verdict, run.kind) {
        (Verdict::Valid, Kind::Strategy) => cell("✓ held", Tone::Good),
        (Verdict::Valid, _) if run.saved_by.is_some() => cell("saved by its index", Tone::Doubtful),
        (Verdict::Valid, _) => cell("none seen", Tone::Plain),
        (Verdict::Unknown, _) => cell("? proves nothing", Tone::Doubtful),
        (Verdict::Invalid, _) => {
            let name = run.counterexample.first().and_then(|line| line.split_once(':'));
            cell(format!("✗ {}", name.map_or("broken", |(name, _)| name)), Tone::Bad)
        }
    }
}

fn faults(report: &Report, term: &Term) {
    if report.faults.is_empty() {
        return;
    }
    println!("  {}  {}", term.bold("faults"), term.dim("in the middle of a sale"));
    let mut table = term.table(&["strategy", "fault", "won", "refused", "failed", "seen"]);
    for fault in &report.faults {
        let sum =
            |of: fn(&holdfast_lab::report::model::Bin) -> u64| thousands(fault.bins.iter().map(of).sum());
        let seen = match fault.verdict {
            Verdict::Valid => cell("✓ held", Tone::Good),
            Verdict::Unknown => cell("? proves nothing", Tone::Doubtful),
            Verdict::Invalid => cell("✗ broken", Tone::Bad),
        };
        table.add_row(vec![
            Cell::new(&fault.strategy),
            Cell::new(&fault.fault),
            number(sum(|bin| bin.won)),
            number(sum(|bin| bin.refused)),
            number(sum(|bin| bin.failed)),
            seen,
        ]);
    }
    println!("{table}\n");
}

/// The fewest operations that show it, of naive and of whatever should have held.
fn how_it_happened(report: &Report, term: &Term) {
    let broke = |run: &&Run| run.verdict == Verdict::Invalid;
    let naive = report.runs.iter().filter(broke).find(|run| run.kind == Kind::Naive);
    let strategies = report.runs.iter().filter(broke).filter(|run| run.kind == Kind::Strategy);
    for run in naive.into_iter().chain(strategies) {
        println!("  {} {} with {} buyers", term.bold(&run.strategy), run.scenario, run.buyers);
        run.counterexample.iter().for_each(|line| println!("    {line}"));
        println!();
    }
}

/// One line a reason.
fn skipped(report: &Report, term: &Term) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skipped in &report.skipped {
        let names = by_reason.entry(&skipped.why).or_default();
        if !names.contains(&skipped.strategy.as_str()) {
            names.push(&skipped.strategy);
        }
    }
    for (why, names) in by_reason {
        println!("  {} {}: {why}", term.warn("not run:"), names.join(", "));
    }
}

/// What time was short for. Such rows saw fewer buyers, and nothing else is wrong with them.
fn shrunk(report: &Report, term: &Term) {
    let cut: Vec<String> = report
        .runs
        .iter()
        .filter(|run| run.cut)
        .map(|run| format!("{} {} {}", run.strategy, run.scenario, run.buyers))
        .collect();
    if !cut.is_empty() {
        println!("  {} {}; more with --within", term.warn("shortened to keep to the time:"), cut.join(", "));
    }
}

fn verdict(report: &Report, term: &Term) {
    let strategies = report.runs.iter().filter(|run| run.kind == Kind::Strategy);
    let said = |verdict| strategies.clone().filter(|run| run.verdict == verdict).count();
    let (held, broken, unclear) = (said(Verdict::Valid), said(Verdict::Invalid), said(Verdict::Unknown));
    let ran = held + broken + unclear;
    let meant_to = report.runs.iter().filter(|run| run.kind != Kind::Strategy);
    let showed = meant_to.filter(|run| run.verdict == Verdict::Invalid).count();
    match broken {
        _ if ran == 0 => {}
        0 => println!("  {} in {held} runs", term.good("✓ every strategy of the server held")),
        _ => println!("  {}", term.bad(format!("✗ {broken} of {ran} runs of the server's strategies broke"))),
    }
    if unclear > 0 {
        let runs = if unclear == 1 { "run" } else { "runs" };
        println!("  {}", term.warn(format!("? {unclear} {runs} saw too little to prove anything")));
    }
    println!("  {}", term.dim(format!("{showed} runs of naive and the mistakes showed their failure")));
    println!("  {}\n", term.dim(format!("in {:.0} s", report.took_s)));
}
