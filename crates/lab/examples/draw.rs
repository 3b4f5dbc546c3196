//! Draws the JSON of a run: `cargo run -p holdfast-lab --example draw < report.json > report.html`.

use std::io;

use holdfast_lab::report::{Report, html};

fn main() -> Result<(), serde_json::Error> {
    let report: Report = serde_json::from_reader(io::stdin().lock())?;
    print!("{}", html(&report));
    Ok(())
}
