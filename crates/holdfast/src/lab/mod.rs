//! `holdfast lab`: every strategy side by side, the mistakes beside them, judged by the checker.
//!
//! Reads the command line, lets `holdfast-lab` run, and shows what came of it: a table for people, JSON and HTML for
//! whoever asks. The verdicts are not formed here; only the exit code is.

mod check;
mod table;

use std::{fs, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use holdfast_engine::{
    clock::{Clock, SystemClock},
    mint,
};
use holdfast_lab::{
    LabError, Options, Progress,
    report::{
        self,
        model::{Kind, Machine, Report, Run, Verdict},
    },
};
use indicatif::ProgressBar;
use tokio_util::sync::CancellationToken;

use crate::{
    failure::{Exit, Failure},
    machine, stop, term,
};

/// Run every strategy and the usual mistakes side by side: who breaks, who holds, how fast
#[derive(Debug, Clone, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "PostgreSQL and Redis are started privately where they are installed and not named; what cannot run \
    says why. On servers that are named, nothing is left behind. Exits with 1 when a strategy that the server runs \
    broke a promise. `naive` and the mistakes are there to break."
)]
pub struct LabArgs {
    #[command(subcommand)]
    command: Option<LabCommand>,
    /// Use this PostgreSQL (databases are made there and dropped) instead of a private one
    #[arg(long, value_name = "postgres://…")]
    ledger: Option<String>,
    /// Use this Redis, or several with commas (redlock needs three), instead of private ones
    #[arg(long, value_name = "redis://…")]
    gate: Option<String>,
    /// Who vouches for a gate at rediss://, as PEM
    #[arg(long, value_name = "FILE", requires = "gate")]
    gate_ca: Option<PathBuf>,
    /// Only these, mistakes included; all without it
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    strategies: Vec<String>,
    /// Only these scenarios, such as one_seat or fault_server_killed; all without it
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    scenarios: Vec<String>,
    /// How many buyers at once, one run each [default: 5,20,50,500; with --quick 20]
    #[arg(long, value_delimiter = ',', value_name = "N,N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    buyers: Vec<u32>,
    /// The schedule of requests; without it a random one, which is said
    #[arg(long)]
    seed: Option<u64>,
    /// Requests a second of the open loop
    #[arg(long, default_value_t = 200.0, value_name = "N", value_parser = rate)]
    rate: f64,
    /// Within a minute: few requests, nothing that waits for holds to expire, no faults, no costs
    #[arg(long)]
    quick: bool,
    /// How long all of it may take; rows shrink to keep to it, none is left out [default: 840; with --quick 50]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    within: Option<u64>,
    /// Write everything to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report with its pictures to this file: one page that opens from disk
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Draw the race that broke beside one that held, to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Keep the history of every run in this folder, to be checked again with `holdfast lab check`
    #[arg(long, value_name = "DIR")]
    histories: Option<PathBuf>,
}

#[derive(Debug, Clone, Subcommand)]
enum LabCommand {
    Check(check::CheckArgs),
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "must be a number".to_owned())?;
    if (1.0..=100_000.0).contains(&rate) { Ok(rate) } else { Err("must be from 1 to 100000".to_owned()) }
}

impl LabArgs {
    /// Whether errors, too, are to be read by a machine.
    pub fn wants_json(&self) -> bool {
        matches!(&self.command, Some(LabCommand::Check(args)) if args.json)
    }

    fn options(&self) -> Result<Options, Failure> {
        must_exist("strategy", &self.strategies, &Options::names())?;
        must_exist("scenario", &self.scenarios, &Options::every_scenario())?;
        let buyers = match (self.buyers.is_empty(), self.quick) {
            (false, _) => self.buyers.clone(),
            (true, true) => vec![20],
            (true, false) => vec![5, 20, 50, 500],
        };
        Ok(Options {
            ledger: self.ledger.clone(),
            gate: self.gate.clone(),
            gate_ca: self.gate_ca.clone(),
            strategies: self.strategies.clone(),
            scenarios: self.scenarios.clone(),
            buyers,
            seed: self.seed.unwrap_or_else(|| mint::random_bits() as u32 as u64),
            quick: self.quick,
            rate_per_s: self.rate,
            histories: self.histories.clone(),
            program: std::env::current_exe().ok(),
            within: Duration::from_secs(self.within.unwrap_or(if self.quick { 50 } else { 840 })),
        })
    }
}

fn must_exist(what: &str, given: &[String], names: &[impl AsRef<str>]) -> Result<(), Failure> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match given.iter().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let next = format!("choose from {}", names.join(", "));
            Err(Failure::usage(format!("there is no {what} {unknown:?}"), next))
        }
    }
}

pub fn run(args: &LabArgs) -> Result<Exit, Failure> {
    if let Some(LabCommand::Check(args)) = &args.command {
        return check::run(args);
    }
    let options = args.options()?;
    if let Some(folder) = &options.histories {
        fs::create_dir_all(folder).map_err(|fault| cannot_write(folder, fault))?;
    }
    let report = work(&options)?;
    write(args, &report)?;
    table::show(&report);
    Ok(if holds(&report) { Exit::Done } else { Exit::CheckFailed })
}

fn write(args: &LabArgs, report: &Report) -> Result<(), Failure> {
    let to = |path: &PathBuf, text: String| fs::write(path, text).map_err(|fault| cannot_write(path, fault));
    if let Some(path) = &args.json {
        to(path, serde_json::to_string_pretty(report).expect("a report is plain data") + "\n")?;
    }
    if let Some(path) = &args.html {
        to(path, report::html(report))?;
    }
    if let Some(path) = &args.svg {
        match report::svg(report) {
            Some(picture) => to(path, picture)?,
            None => eprintln!("{} is not written: no race of this run broke", path.display()),
        }
    }
    Ok(())
}

fn work(options: &Options) -> Result<Report, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|fault| {
        Failure::broken("the operating system gives no threads", "look at the limits of this user")
            .because(fault)
    })?;
    let started_at = SystemClock::new().now().to_string();
    let bar = Bar(term::progress(1, "opening the lab"));
    let came = runtime.block_on(async {
        let stop = CancellationToken::new();
        tokio::spawn(stop::on_signal(stop.clone()));
        holdfast_lab::run(options, &bar, stop.cancelled()).await
    });
    bar.0.finish_and_clear();
    let machine = Machine { cores: machine::cores() as u32, cpu: machine::cpu(), os: machine::kernel() };
    came.map(|report| Report { started_at, machine, ..report }).map_err(cannot_run)
}

/// Every strategy that the server runs kept its promises, in everything that ran.
fn holds(report: &Report) -> bool {
    let broke = |run: &Run| run.kind == Kind::Strategy && run.verdict == Verdict::Invalid;
    !report.runs.iter().any(broke)
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begins(&self, steps: u64) {
        self.0.set_length(steps);
    }

    fn step(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.inc(1);
    }
}

fn cannot_run(fault: LabError) -> Failure {
    match fault {
        LabError::Server(what) => {
            Failure::unreachable(what, "check the address, or leave it out to have a private one")
        }
        LabError::File { path, source } => cannot_write(&path, source),
        LabError::Stopped => Failure::interrupted(
            "the lab was stopped before it had seen everything",
            "run it again; with --quick it takes less than a minute",
        ),
    }
}

fn cannot_write(path: &std::path::Path, fault: std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be written", path.display()), "choose another place").because(fault)
}
