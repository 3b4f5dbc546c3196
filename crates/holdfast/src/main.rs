//! The `holdfast` program: reads the command line and hands over to one file a subcommand.
//!
//! Nothing here decides about seats. A subcommand reads its settings, does its work through the server's or the
//! engine's public face, and reports to a person or, with `--json`, to a machine.

#![expect(unreachable_pub, reason = "a program has no outside: `pub` means for its other modules")]

mod bench;
mod completions;
mod config;
mod demo;
mod doctor;
mod export;
mod failure;
mod hint;
mod http;
mod import;
mod keys;
mod lab;
mod load;
mod machine;
mod migrate;
mod node;
mod payments;
mod place;
mod race;
mod room;
mod serve;
mod server_args;
mod settings;
mod stop;
mod stripe_simulator;
mod term;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

use crate::{
    failure::{EXIT_CODES, Exit, Failure},
    term::Term,
};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Sells each thing once: seats, slots and stock, from one binary with nothing else to install.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Serve(serve::ServeArgs),
    Race(race::RaceArgs),
    Verify(verify::VerifyArgs),
    Lab(lab::LabArgs),
    Bench(bench::BenchArgs),
    Keys(keys::KeysArgs),
    Migrate(migrate::MigrateArgs),
    Payments(payments::PaymentsArgs),
    Room(room::RoomArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    StripeSimulator(stripe_simulator::SimulatorArgs),
    Completions(completions::CompletionsArgs),
}

impl Command {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Serve(args) => serve::run(args),
            Self::Race(args) => race::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Lab(args) => lab::run(args),
            Self::Bench(args) => bench::run(args),
            Self::Keys(args) => keys::run(args),
            Self::Migrate(args) => migrate::run(args),
            Self::Payments(args) => payments::run(args),
            Self::Room(args) => room::run(args),
            Self::Import(args) => import::run(args),
            Self::Export(args) => export::run(args),
            Self::Doctor(args) => doctor::run(args),
            Self::Config(args) => config::run(args),
            Self::StripeSimulator(args) => stripe_simulator::run(args),
            Self::Completions(args) => completions::run(args),
        }
    }

    /// Whether errors, too, are to be read by a machine.
    fn wants_json(&self) -> bool {
        match self {
            Self::Race(args) => args.json,
            Self::Verify(args) => args.json,
            Self::Lab(args) => args.wants_json(),
            Self::Keys(args) => args.wants_json(),
            Self::Migrate(args) => args.json,
            Self::Payments(args) => args.wants_json(),
            Self::Room(args) => args.wants_json(),
            Self::Import(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Config(args) => args.json,
            Self::StripeSimulator(args) => args.json,
            Self::Demo(_) | Self::Serve(_) | Self::Bench(_) | Self::Export(_) | Self::Completions(_) => false,
        }
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    term::end_when_nobody_reads();
    machine::raise_open_files();
    match command.run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            match command.wants_json() {
                true => eprintln!("{}", failure.to_json()),
                false => eprintln!("{}", failure.show(&Term::stderr())),
            }
            failure.exit.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
