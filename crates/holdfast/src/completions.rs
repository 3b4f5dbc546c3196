//! `holdfast completions`: what a shell needs to complete the rest.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{
    Cli,
    failure::{Exit, Failure},
};

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example: holdfast completions bash > ~/.local/share/bash-completion/completions/holdfast"
)]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    clap_complete::generate(args.shell, &mut Cli::command(), "holdfast", &mut std::io::stdout());
    Ok(Exit::Done)
}
