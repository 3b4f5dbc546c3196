//! `holdfast lab check`: a history judged again, whoever recorded it.

use std::{fs, path::PathBuf};

use clap::Args;
use holdfast_checker::{Evidence, History, Verdict, judge};
use serde_json::json;

use crate::{
    failure::{Exit, Failure},
    load::stopwatch,
    term::{self, Term, thousands},
};

/// Judge a recorded history again: VALID, INVALID with the fewest operations that show why, or UNKNOWN
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Exits with 0 when VALID, with 1 when INVALID, with 6 when UNKNOWN: it shows neither."
)]
pub struct CheckArgs {
    /// A history as `holdfast lab --histories` keeps them
    file: PathBuf,
    /// For machines
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let path = args.file.display();
    let next = "name a file that `holdfast lab --histories DIR` has written";
    let spinner = term::spinner("reading and judging");
    let began = stopwatch();
    let text = fs::read_to_string(&args.file)
        .map_err(|fault| Failure::usage(format!("{path} cannot be read"), next).because(fault))?;
    let history = History::from_json(&text)
        .map_err(|fault| Failure::usage(format!("{path} is no history"), next).because(fault))?;
    drop(text);
    // What a history must have seen depends on what it was recorded for; what it shows does not.
    let verdict = judge(&history, Evidence { win: true, ..Evidence::NONE });
    let took = began.elapsed();
    spinner.finish_and_clear();
    match args.json {
        true => println!("{:#}", as_json(&history, &verdict, took.as_secs_f64())),
        false => show(&history, &verdict, took.as_secs_f64()),
    }
    Ok(exit(&verdict))
}

fn exit(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Valid(_) => Exit::Done,
        Verdict::Invalid(..) => Exit::CheckFailed,
        Verdict::Unknown(..) => Exit::Undecided,
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Valid(_) => "valid",
        Verdict::Invalid(..) => "invalid",
        Verdict::Unknown(..) => "unknown",
    }
}

fn as_json(history: &History, verdict: &Verdict, seconds: f64) -> serde_json::Value {
    let violation = |found: &holdfast_checker::Violation| {
        let operations: Vec<_> =
            found.operations.iter().map(|at| history.operations[*at].tell(history)).collect();
        json!({"kind": format!("{:?}", found.anomaly), "what": found.what, "operations": operations})
    };
    let violations: Vec<_> = verdict.violations().iter().map(violation).collect();
    json!({"verdict": word(verdict), "operations": history.operations.len(), "seconds": seconds,
        "violations": violations})
}

fn show(history: &History, verdict: &Verdict, seconds: f64) {
    let term = Term::stdout();
    let told = verdict.tell(history);
    let (headline, rest) = told.split_once('\n').unwrap_or((&told, ""));
    let headline = match verdict {
        Verdict::Valid(_) => term.good(headline),
        Verdict::Invalid(..) => term.bad(headline),
        Verdict::Unknown(..) => term.warn(headline),
    };
    println!("\n  {headline}");
    if !rest.is_empty() {
        println!("{rest}");
    }
    let operations = thousands(history.operations.len() as u64);
    println!("\n  {}\n", term.dim(format!("{operations} operations read and judged in {seconds:.2} s")));
}
