//! `holdfast serve`: the server, until it is told to stop.

use std::io::Write;

use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    failure::{Exit, Failure},
    node::Node,
    settings::{Flags, LogFormat, Settings},
    stop,
};

/// Serve from a data folder, or from PostgreSQL with any number of other nodes
#[derive(Debug, Args)]
#[command(
    after_help = "Prints `listening on http://ADDRESS` once it is ready; port 0 picks a free one. Ctrl-C or SIGTERM \
    stops it: answers under way are finished, then the books are closed."
)]
pub struct ServeArgs {
    #[command(flatten)]
    settings: Flags,
}

pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let raw = args.settings.gather()?;
    let settings = Settings::check(&raw)?;
    start_logging(&settings);
    // Before anything is opened: what is counted earlier is counted by nobody.
    holdfast_server::install_metrics();
    for stranger in &raw.strangers {
        warn!(variable = %stranger, "looks like a setting and is none; `holdfast config` lists them all");
    }
    runtime(&settings)?.block_on(serve(&settings))
}

pub fn runtime(settings: &Settings) -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = settings.threads {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().map_err(|fault| {
        Failure::broken(
            "the operating system gives no threads",
            "lower `threads`, or look at the limits of this user",
        )
        .because(fault)
    })
}

async fn serve(settings: &Settings) -> Result<Exit, Failure> {
    // First the port, then the books: a server that cannot listen should not load a million entries to find out.
    let listener =
        TcpListener::bind(settings.listen).await.map_err(|fault| cannot_listen(settings, fault))?;
    let node = Node::open(settings).await?;
    let address = listener.local_addr().map_err(|fault| cannot_listen(settings, fault))?;
    let shutdown = CancellationToken::new();
    let stopped = tokio::spawn(stop::on_signal(shutdown.clone()));
    announce(&format!("listening on http://{address}"));
    let gate = settings.gate.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    info!(%address, ledger = %settings.books, strategy = %settings.strategy, %gate, "ready");
    node.run(listener, shutdown).await;
    stopped.abort();
    info!("stopped; the books are closed");
    Ok(Exit::Done)
}

/// A line that whoever started this program can wait for.
fn announce(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody has to listen: a closed pipe is no reason not to serve.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn cannot_listen(settings: &Settings, fault: std::io::Error) -> Failure {
    let what = format!("cannot listen on {}", settings.listen);
    Failure::unreachable(what, "choose another with --listen, or stop what has it; port 0 picks a free one")
        .because(fault)
}

/// What PostgreSQL's client and its helpers say of ordinary work. Whoever wants to hear it names them in the filter.
const CHATTER: &str = "refinery_core=error,tokio_postgres=error,deadpool=error";

fn start_logging(settings: &Settings) {
    let filter = tracing_subscriber::EnvFilter::new(format!("{CHATTER},{}", settings.log));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match settings.log_format {
        LogFormat::Text => logs.with_ansi(crate::term::Term::stderr().is_coloured()).init(),
        LogFormat::Json => logs.json().init(),
    }
}
