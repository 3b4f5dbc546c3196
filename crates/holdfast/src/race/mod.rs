//! `holdfast race`: N buyers, one unit, one winner.
//!
//! Every buyer is another holder on a connection of its own, and all are let go at once. What the buyers heard is
//! reported, but whether anything was sold twice is read from the server's journal ([`judge`]): a race that
//! counted its own wins would only show that it can count.

mod judge;
mod picture;
mod run;

use std::{collections::BTreeMap, mem, path::PathBuf};

use clap::Args;
use holdfast_lab::race::Entrant;
use serde::Serialize;
use serde_json::json;

use self::{judge::Verdict, run::Course};
use crate::{
    failure::{Exit, Failure},
    http::{api::Api, escaped},
    load::{self, Latency},
    server_args::ServerArgs,
    term::{self, Term, thousands},
};

/// Let N buyers race for one unit of a running server, and check from its journal that one won
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Exits with 1 unless exactly one buyer won. Next to a running `holdfast demo` no flags are \
    needed: a free seat of its hall is chosen."
)]
pub struct RaceArgs {
    /// The offer; without it `hall`, or the first with free seats
    #[arg(long)]
    offer: Option<String>,
    /// The unit, such as A-12; without it a free one is chosen
    #[arg(long, requires = "offer")]
    unit: Option<String>,
    /// How many buyers
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    buyers: u32,
    #[command(flatten)]
    server: ServerArgs,
    /// Write the race's picture, one HTML file, every buyer a lane
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// For machines
    #[arg(long)]
    pub json: bool,
}

/// What the buyers heard.
#[derive(Debug, Default)]
pub struct Heard {
    pub winners: Vec<Winner>,
    /// Refusals by code.
    pub refused: BTreeMap<String, u64>,
    /// No answer, even on asking again with the same key.
    pub unknown: u64,
    /// Answers that are neither a win nor a refusal, by what they were.
    pub errors: BTreeMap<String, u64>,
    pub latency: Latency,
    pub elapsed_ms: u64,
    /// Every buyer, for the picture.
    pub entrants: Vec<Entrant>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Winner {
    pub holder: String,
    pub hold: String,
}

pub fn run(args: &RaceArgs) -> Result<Exit, Failure> {
    let access = args.server.access()?;
    let args = args.clone();
    load::on_own_thread(async move {
        let mut api = access.api();
        let course = Course::choose(&mut api, args.offer.as_deref(), args.unit.as_deref()).await?;
        let mut heard = run::race(&access, &course, args.buyers).await?;
        let verdict = judge::journal(&mut api, &course).await?;
        let race = picture::drawn(&course, mem::take(&mut heard.entrants));
        let link = picture::post(&mut api, &race).await;
        if let Some(path) = &args.html {
            picture::write(path, &race)?;
        }
        match args.json {
            true => println!("{:#}", as_json(&args, &course, &heard, verdict.as_ref(), link)),
            false => show(&args, &course, &heard, verdict.as_ref(), link),
        }
        Ok(if passed(&heard, verdict.as_ref()) { Exit::Done } else { Exit::CheckFailed })
    })
}

fn passed(heard: &Heard, verdict: Option<&Verdict>) -> bool {
    let clean = verdict.is_none_or(|verdict| verdict.double_bookings == 0);
    heard.winners.len() == 1 && heard.unknown == 0 && clean
}

fn show(args: &RaceArgs, course: &Course, heard: &Heard, verdict: Option<&Verdict>, link: Option<String>) {
    let term = Term::stdout();
    let sum = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
    let line = |good: bool, count: String, what: &str, more: String| {
        let count = format!("{count:>9}");
        let count = if good { term.good(count) } else { term.bad(count) };
        println!("  {count}  {what:<16} {}", term.dim(more));
    };
    println!("\n  {} buyers, one unit: {}\n", thousands(args.buyers.into()), term.bold(course.to_string()));
    let won = heard.winners.len() as u64;
    line(won == 1, thousands(won), "won", winner_line(heard));
    line(true, thousands(sum(&heard.refused)), "refused", listed(&heard.refused));
    line(heard.unknown == 0, thousands(heard.unknown), "unknown", String::new());
    line(heard.errors.is_empty(), thousands(sum(&heard.errors)), "errors", listed(&heard.errors));
    match verdict {
        Some(Verdict { entries, double_bookings: double }) => {
            let read = format!(
                "checked from the journal of this unit, {}",
                term::count(*entries as u64, "entry", "entries")
            );
            line(*double == 0, thousands(*double), "double bookings", read);
        }
        None => {
            let why = "not checked: reading the journal needs a key with the role admin";
            line(false, "?".into(), "double bookings", why.into());
        }
    }
    println!("\n  {}", timing(heard));
    let file = args.html.as_ref().map(|path| path.display().to_string());
    for place in link.into_iter().chain(file) {
        println!("  its picture: {}", term.accent(place));
    }
    println!();
    if let Some(next) = way_on(course, heard) {
        println!("  {} {next}\n", term.accent("next:"));
    }
}

/// Where not exactly one won, or nobody can tell, what to do about it.
fn way_on(course: &Course, heard: &Heard) -> Option<String> {
    match (heard.winners.len(), heard.unknown) {
        (0, _) => Some(format!("nobody won: {}", course.why_nobody())),
        (1, 0) => None,
        (1, unknown) => {
            Some(format!("{unknown} never heard an answer: look at the server's log, and race again"))
        }
        (won, _) => {
            Some(format!("{won} won, and one may: keep the books, and run `holdfast verify` on them"))
        }
    }
}

fn timing(heard: &Heard) -> String {
    let latency = heard.latency.summary();
    let shown =
        [("p50", latency.p50_us), ("p90", latency.p90_us), ("p99", latency.p99_us), ("max", latency.max_us)]
            .map(|(name, us)| format!("{name} {}", term::latency(us)));
    format!("answers took {} · all within {} ms", shown.join(" · "), heard.elapsed_ms)
}

/// The first few by name; more are hinted at.
fn winner_line(heard: &Heard) -> String {
    const NAMED: usize = 3;
    let named = heard.winners.iter().map(|winner| format!("{} with {}", winner.holder, winner.hold));
    let more = (heard.winners.len() > NAMED).then(|| "…".to_owned());
    named.take(NAMED).chain(more).collect::<Vec<_>>().join(", ")
}

fn listed(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(what, count)| format!("{what} {}", thousands(*count))).collect::<Vec<_>>().join(", ")
}

fn as_json(
    args: &RaceArgs,
    course: &Course,
    heard: &Heard,
    verdict: Option<&Verdict>,
    link: Option<String>,
) -> serde_json::Value {
    json!({
        "offer": course.offer, "unit": course.unit, "buyers": args.buyers,
        "won": heard.winners.len(), "refused": heard.refused.values().sum::<u64>(), "unknown": heard.unknown,
        "errors": heard.errors.values().sum::<u64>(),
        "double_bookings": verdict.map(|verdict| verdict.double_bookings),
        "journal_entries": verdict.map(|verdict| verdict.entries),
        "winners": heard.winners, "refusals": heard.refused, "error_kinds": heard.errors,
        "latency_us": heard.latency.summary(), "elapsed_ms": heard.elapsed_ms, "picture": link,
        "ok": passed(heard, verdict),
    })
}

/// The availability route of an offer.
fn availability_path(offer: &str) -> String {
    format!("/v1/offers/{}/availability", escaped(offer))
}

/// What the offers route says of an offer, as far as a race cares.
async fn offers(api: &mut Api) -> Result<Vec<Listed>, Failure> {
    api.list("/v1/offers").await
}

#[derive(Debug, Clone, serde::Deserialize)]
struct Listed {
    id: String,
    kind: String,
}
