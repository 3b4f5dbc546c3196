//! `holdfast bench`: the speed figures, side by side with what they are to be compared with.
//!
//! Servers run as processes of their own on the real disk; the load generator shares the machine with them, as
//! the targets assume. Whatever forms a ratio takes turns in short rounds, and the ratio is the middle one of
//! the rounds. Raw figures, machine and commit go beside every ratio, into the table and into the JSON.

mod callers;
mod child;
mod instead;
mod live_map;
mod many;
mod overload;
mod pgbench;
mod report;
mod restart;
mod scale;
mod scratch_databases;
mod speed;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum, builder::PossibleValue};
use holdfast_engine::{
    clock::{Clock, SystemClock},
    mint,
};

use self::report::{Bench, Figure};
use crate::{
    failure::{Exit, Failure},
    load::{self, Rounds},
    machine,
};

/// Measure the speed figures, side by side with what they are compared with
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exits with 1 when a target is missed. The figures assume that nothing else runs.")]
pub struct BenchArgs {
    /// Write everything to this file as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A short run, to see that it works; its figures are rough
    #[arg(long)]
    quick: bool,
    /// Only these groups of figures
    #[arg(long, value_delimiter = ',', value_name = "GROUP,GROUP")]
    only: Vec<Group>,
    /// Connections of the load generator [default: 128; 512 on PostgreSQL, whose batches they fill]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=4096))]
    connections: Option<u64>,
    /// Measure PostgreSQL instead, on this server (databases are made there and dropped), beside pgbench
    #[arg(long, value_name = "URL")]
    ledger: Option<String>,
    /// And with this Redis as the gate; with three or more of them, comma between, `redlock` as well
    #[arg(long, value_name = "URL,URL", requires = "ledger")]
    gate: Option<String>,
    /// Who vouches for a gate at rediss://, as PEM
    #[arg(long, value_name = "FILE", requires = "gate")]
    gate_ca: Option<PathBuf>,
    /// Where to keep the books meanwhile: a real disk [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// Durable holds, refusals and the usual alternative
    Speed,
    /// Time to ready with a long journal
    Restart,
    /// A million units: speed and memory
    Scale,
    /// Live-map viewers and the size of the compact status
    LiveMap,
    /// Ten times as many callers as there is room for
    Overload,
    /// With --gate: refusals on a hot seat
    Refusals,
    /// With --ledger: every strategy, one after another
    Strategies,
}

impl Group {
    const EMBEDDED: &[Self] = &[Self::Speed, Self::Restart, Self::Scale, Self::LiveMap, Self::Overload];
    const ON_SERVERS: &[Self] = &[Self::Speed, Self::Refusals, Self::Strategies];

    /// What is measured: all that this ledger has figures for, or those of them that are wanted.
    fn chosen(args: &BenchArgs) -> Result<Vec<Self>, Failure> {
        let all = if args.ledger.is_some() { Self::ON_SERVERS } else { Self::EMBEDDED };
        if args.only.iter().any(|wanted| !all.contains(wanted)) {
            let names: Vec<_> = all.iter().filter_map(Self::to_possible_value).collect();
            let names: Vec<_> = names.iter().map(PossibleValue::get_name).collect();
            let next = format!("with this ledger there are {}", names.join(", "));
            return Err(Failure::usage("--only names a group that this ledger has no figures for", next));
        }
        let wanted = |group: &Self| args.only.is_empty() || args.only.contains(group);
        Ok(all.iter().copied().filter(wanted).collect())
    }
}

impl BenchArgs {
    fn connections(&self) -> u64 {
        self.connections.unwrap_or(if self.ledger.is_some() { 512 } else { 128 })
    }
}

/// How much work a run does.
#[derive(Debug, Clone)]
struct Plan {
    connections: u64,
    rounds: Rounds,
    /// Journal entries before the restart.
    events: u64,
    viewers: usize,
    /// Temporary, on the disk that is measured.
    folder: PathBuf,
}

impl Plan {
    fn new(args: &BenchArgs, folder: &Path) -> Self {
        let (warm_up, counted, stretch_ms, events) =
            if args.quick { (1, 3, 400, 100_000) } else { (2, 9, 1_000, 1_000_000) };
        Self {
            connections: args.connections(),
            rounds: Rounds { warm_up, counted, stretch: Duration::from_millis(stretch_ms) },
            events,
            viewers: 2_000,
            folder: folder.to_owned(),
        }
    }

    /// A fresh data folder.
    fn data(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let groups = Group::chosen(args)?;
    let folder = Scratch::make(args.dir.as_deref())?;
    let plan = Plan::new(args, &folder.0);
    let machine = report::Machine::look(&folder.0).map_err(|fault| cannot_use(&folder.0, fault))?;
    let gate = args.gate.clone().map(|addresses| many::Gate { addresses, authority: args.gate_ca.clone() });
    let servers = args.ledger.clone().map(|ledger| many::Servers { ledger, gate });
    let figures = load::on_own_thread(async move {
        match servers {
            Some(servers) => many::measure(&plan, &servers, &groups).await,
            None => measure(&plan, &groups).await,
        }
    })?;
    let bench = Bench {
        at: SystemClock::new().now().to_string(),
        quick: args.quick,
        connections: args.connections(),
        machine,
        figures,
    };
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => println!("{:#}", bench.to_json()),
        Some(path) => {
            fs::write(path, format!("{:#}\n", bench.to_json())).map_err(|fault| cannot_use(path, fault))?;
            bench.show();
        }
        None => bench.show(),
    }
    Ok(if bench.figures.iter().all(Figure::is_met) { Exit::Done } else { Exit::CheckFailed })
}

async fn measure(plan: &Plan, groups: &[Group]) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for group in groups {
        figures.extend(match group {
            Group::Speed => speed::measure(plan).await?,
            Group::Restart => restart::measure(plan).await?,
            Group::Scale => scale::measure(plan).await?,
            Group::LiveMap => live_map::measure(plan).await?,
            Group::Overload => overload::measure(plan).await?,
            Group::Refusals | Group::Strategies => unreachable!("not on the embedded ledger"),
        });
    }
    Ok(figures)
}

/// A folder for the books of the servers, removed with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn make(dir: Option<&Path>) -> Result<Self, Failure> {
        let temporary = std::env::temp_dir();
        // A disk in memory would make every durable write look free.
        let in_memory = machine::filesystem(&temporary).is_some_and(|kind| machine::is_memory(&kind));
        let parent = dir.map_or(if in_memory { PathBuf::from(".") } else { temporary }, Path::to_owned);
        let folder = parent.join(format!("holdfast-bench-{:x}", mint::random_bits()));
        fs::create_dir_all(&folder).map_err(|fault| cannot_use(&folder, fault))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cannot_use(path: &Path, fault: io::Error) -> Failure {
    Failure::usage(format!("{} cannot be used", path.display()), "choose another with --dir or --json")
        .because(fault)
}

/// The server went away, or was never as it should be, while it was measured.
fn interrupted(fault: io::Error) -> Failure {
    Failure::broken("the measurement was cut short", "look above for what the server said, and try again")
        .because(fault)
}
