//! Where `import` and `export` work: a running server, a data folder that no server is running on, or a PostgreSQL.

use std::path::PathBuf;

use clap::Args;
use holdfast_engine::mint;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    failure::Failure,
    http::{Target, api::Api},
    node::Node,
    serve,
    server_args::ServerArgs,
    settings::{Flags, Settings},
};

#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Work on this data folder instead of a running server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data: Option<PathBuf>,
    /// Work on this PostgreSQL instead of a running server; other nodes may be running on it
    #[arg(long, value_name = "postgres://…", conflicts_with_all = ["url", "data"])]
    ledger: Option<String>,
}

impl PlaceArgs {
    /// Refuses a folder that is not there: to read from it would be to make an empty one.
    pub fn must_exist(&self) -> Result<(), Failure> {
        match &self.data {
            Some(folder) if !folder.is_dir() => {
                let what = format!("there is no folder {}", folder.display());
                Err(Failure::unreachable(what, "name the folder that `holdfast serve --data` was given"))
            }
            _ => Ok(()),
        }
    }

    /// The books to work on, as a setting. With the strategy that needs no gate: what is done here makes offers and
    /// reads, and neither is asked of a gate.
    fn books(&self) -> Option<[(&'static str, String); 2]> {
        let folder = self.data.as_ref().map(|folder| ("data", folder.display().to_string()));
        let (place, strategy) = match (folder, &self.ledger) {
            (Some(folder), _) => (folder, "writer"),
            (None, ledger) => (("ledger", ledger.clone()?), "batched"),
        };
        Some([place, ("strategy", strategy.to_owned())])
    }

    /// Does `work` through the API of the place. Where a server would listen is nothing to it: nobody else is to reach
    /// what this command runs for itself.
    pub fn work<T>(&self, work: impl AsyncFnOnce(&mut Api) -> Result<T, Failure>) -> Result<T, Failure> {
        match self.books() {
            Some(named) => {
                let raw = Flags { config: None, given: named.into() }
                    .gather()?
                    .without("listen")
                    .without("gate")
                    .without("stripe_secret_key")
                    .without("stripe_webhook_secret");
                let settings = Settings::check(&raw)?;
                serve::runtime(&settings)?.block_on(beside_own_server(&settings, work))
            }
            None => {
                let mut api = self.server.access()?.api();
                let settings = Settings::check(&Flags::default().gather()?.without("listen"))?;
                serve::runtime(&settings)?.block_on(work(&mut api))
            }
        }
    }
}

/// Serves the books on a free port of this machine, to ourselves alone, for as long as the work takes.
async fn beside_own_server<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&mut Api) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let key = format!("{:032x}", mint::random_bits());
    let node = Node::open(&settings.clone().with_admin_key(&key)).await?;
    let listening = TcpListener::bind("127.0.0.1:0").await;
    let no_port =
        |fault| Failure::broken("this machine gives no port", "check its network settings").because(fault);
    let listener = listening.map_err(no_port)?;
    let address = listener.local_addr().map_err(no_port)?;
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(node.run(listener, shutdown.clone()));
    let worked = work(&mut Api::to_our_own(Target::from(address), key)).await;
    shutdown.cancel();
    // A server that panicked has said so; what matters to the caller is the work.
    let _ = serving.await;
    worked
}
