//! Draws the JSON of a run: `cargo run -p holdfast-lab --example draw < report.json > report.html`, or with the
//! argument `svg` only its story.

use std::{env, error::Error, io};

use holdfast_lab::report::{Report, html, svg};

fn main() -> Result<(), Box<dyn Error>> {
    let report: Report = serde_json::from_reader(io::stdin().lock())?;
    match env::args().nth(1).as_deref() {
        Some("svg") => print!("{}", svg(&report).ok_or("no race of this report broke")?),
        _ => print!("{}", html(&report)),
    }
    Ok(())
}
