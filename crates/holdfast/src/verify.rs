//! `holdfast verify`: are the books what they claim to be?

use clap::Args;
use holdfast_engine::ledger::{
    embedded::{
        self,
        verify::{Broken, Report},
    },
    postgres,
};
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    node::{cannot_open, in_postgres},
    settings::{Books, BooksArgs},
    term::{self, Term, thousands},
};

/// Check every invariant and the journal's hash chain of the books
#[derive(Debug, Args)]
#[command(after_help = "Only reads, and may run beside a server. Exits with 1 and names what is broken.")]
pub struct VerifyArgs {
    #[command(flatten)]
    books: BooksArgs,
    /// For machines
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let books = args.books.books()?;
    let spinner = term::spinner("folding the journal from its first entry");
    let verified = match &books {
        Books::Folder(folder) => embedded::verify(folder).map_err(|fault| cannot_open(&fault)),
        Books::Postgres(to) => in_postgres(to, postgres::verify(to)),
    };
    spinner.finish_and_clear();
    let report = verified?;
    match args.json {
        true => println!("{:#}", as_json(&report)),
        false => show(&report, &books),
    }
    Ok(if report.is_clean() { Exit::Done } else { Exit::CheckFailed })
}

fn as_json(report: &Report) -> Value {
    let broken = |broken: &Broken| json!({"what": broken.what, "detail": broken.detail});
    json!({"ok": report.is_clean(), "entries": report.entries, "offers": report.offers, "holds": report.holds,
        "bookings": report.bookings, "answers": report.answers, "checkpoints": report.checkpoints,
        "entries_in_tables": report.shown, "broken": report.broken.iter().map(broken).collect::<Vec<_>>()})
}

fn show(report: &Report, books: &Books) {
    let term = Term::stdout();
    let line = |what: &str, count: u64| println!("  {:>12}  {what}", thousands(count));
    println!();
    line("journal entries, each chained to the one before", report.entries);
    if let Books::Folder(_) = books {
        line("of them in the tables for people", report.shown);
    }
    line("offers", report.offers as u64);
    line("holds", report.holds as u64);
    line("bookings", report.bookings as u64);
    line("kept answers to idempotency keys", report.answers as u64);
    if let Books::Folder(_) = books {
        line("checkpoints", report.checkpoints as u64);
    }
    println!();
    if report.is_clean() {
        println!("  {}\n", term.good("✓ everything adds up"));
        return;
    }
    for broken in &report.broken {
        println!("  {} {}  {}", term.bad("✗"), term.bold(broken.what), broken.detail);
    }
    let next = "keep a copy of the books as they are, and restore the last backup that verifies";
    println!("\n  {} {next}\n", term.accent("next:"));
}
