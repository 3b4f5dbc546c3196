//! `holdfast migrate`: brings the schema of a PostgreSQL up to date. `serve` does the same when it starts; this is for
//! those who want it done, and seen, before.

use clap::Args;
use holdfast_engine::ledger::postgres;
use serde_json::json;

use crate::{
    failure::{Exit, Failure},
    node::in_postgres,
    settings::{Books, BooksArgs},
    term::Term,
};

/// Bring the schema of a PostgreSQL ledger up to date
#[derive(Debug, Args)]
#[command(
    after_help = "Safe beside running nodes, of this version or the one before, and beside another migrate: they take \
    turns. `holdfast serve --ledger` does the same when it starts."
)]
pub struct MigrateArgs {
    #[command(flatten)]
    books: BooksArgs,
    /// For machines
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &MigrateArgs) -> Result<Exit, Failure> {
    let books = args.books.books()?;
    let Books::Postgres(connecting) = &books else {
        let what = format!(
            "the books in {books} need no migration: they are brought up to date when they are opened"
        );
        return Err(Failure::usage(what, "name a PostgreSQL with --ledger postgres://…"));
    };
    let applied = in_postgres(connecting, postgres::migrate(connecting))?;
    match args.json {
        true => println!("{:#}", json!({"ok": true, "applied": applied})),
        false => show(&applied),
    }
    Ok(Exit::Done)
}

fn show(applied: &[String]) {
    let term = Term::stdout();
    applied.iter().for_each(|name| println!("  {} {name}", term.good("+")));
    match applied.len() {
        0 => println!("The schema is up to date."),
        1 => println!("Applied one migration."),
        many => println!("Applied {many} migrations."),
    }
}
