//! Draws the JSON of a run: `cargo run -p holdfast-lab --example draw < report.json > report.html`. With the argument
//! `svg` only its story, with `claims` the tables that docs/strategies.md quotes.

use std::{env, error::Error, io};

use holdfast_lab::report::{Report, claims, html, svg};

fn main() -> Result<(), Box<dyn Error>> {
    let report: Report = serde_json::from_reader(io::stdin().lock())?;
    match env::args().nth(1).as_deref() {
        Some("svg") => print!("{}", svg(&report).ok_or("no race of this report broke")?),
        Some("claims") => print!("{}", claims(&report)),
        _ => print!("{}", html(&report)),
    }
    Ok(())
}
