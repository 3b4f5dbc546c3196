//! The project's own chores. `cargo xtask test` is the one command a newcomer needs: it sets up what the tests
//! need and runs all of them.

mod setup;
mod steps;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  setup     only set up what the tests need
  test      set up what the tests need, then run all of them
  soak      the proofs at full size: 100,000 random sequences, 1,000 kills (about 15 minutes)
  stripe    only Stripe's own library for Node against the simulator
  browser   only the pages in Chromium; names of files in browser/ run those alone
  pictures  the pages of docs/screenshots, taken anew; words name looks and parts of names (pictures dark hall)
  api       only the schema-driven test of the HTTP API
  bench     the speed figures, from a release build (arguments are passed on)
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next();
    let rest: Vec<String> = arguments.collect();
    let done = match command.as_deref() {
        Some("setup") => setup::tools(),
        Some("test") => steps::test(),
        Some("soak") => steps::soak(),
        Some("stripe") => setup::tools().and_then(|()| steps::stripe()),
        Some("browser") => setup::tools().and_then(|()| steps::browser(&rest)),
        Some("pictures") => setup::tools().and_then(|()| steps::pictures(&rest)),
        Some("api") => steps::api(),
        Some("bench") => steps::bench(&rest),
        Some("help" | "--help" | "-h") | None => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Some(other) => {
            eprint!("there is no command {other:?}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("\nxtask: {fault:#}");
            ExitCode::FAILURE
        }
    }
}
