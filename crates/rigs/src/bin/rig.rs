//! A PostgreSQL and a Redis for as long as this runs: `cargo run -p holdfast-rigs --bin rig`. Says where they are and
//! ends them when its input ends. With `--pause` both are stopped (SIGSTOP). The tests start this to kill it.

use std::{io::Read, process::ExitCode};

use holdfast_rigs::{Postgres, Redis, Result};

fn main() -> ExitCode {
    match run(std::env::args().any(|word| word == "--pause")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("rig: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run(pause: bool) -> Result<()> {
    let (postgres, redis) = (Postgres::start()?, Redis::start()?);
    if pause {
        postgres.pause()?;
        redis.pause()?;
    }
    println!("{} in {}", postgres.url(), postgres.folder().display());
    println!("{} in {}", redis.url(), redis.folder().display());
    println!("ready; ends with its input (Ctrl-D)");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
