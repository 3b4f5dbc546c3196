//! The smallest whole server: the books in memory, one key, nothing to set up or clean up.
//!
//! `cargo run -p holdfast-server --example in_memory [ADDRESS [DATA-FOLDER]]` prints where it listens; the admin key
//! is `example`. Good for trying the API and for tools that need a server to talk to.

use std::sync::Arc;

use holdfast_engine::{
    admission::{
        RateLimiter,
        waiting_room::{self, Rooms, store::FileStore},
    },
    clock::{Clock, SystemClock},
    ledger::{
        Ledger,
        embedded::{self, EmbeddedLedger, Storage},
    },
    outbox::live_map::{self, LiveMap},
    pipeline::{self, Pipeline},
};
use holdfast_server::{Parts, Settings, install_metrics, render, run};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    install_metrics();
    let mut words = std::env::args().skip(1);
    let address = words.next().unwrap_or_else(|| "127.0.0.1:0".into());
    let storage = words.next().map_or(Storage::Memory, |folder| Storage::Dir(folder.into()));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let books = embedded::Settings::new(storage, Arc::clone(&clock), Arc::new(render));
    let ledger: Arc<dyn Ledger> = Arc::new(EmbeddedLedger::open(books)?);
    let store = Arc::new(FileStore::in_memory());
    let rooms = waiting_room::Settings::default();
    let rooms = Rooms::open(store, Arc::clone(&ledger), Arc::clone(&clock), [1; 32], rooms).await?;
    let pipeline = Pipeline::new(Arc::clone(&ledger), pipeline::Limits::default());
    let parts = Parts {
        limiter: Arc::new(RateLimiter::new(None, 10_000)),
        payments: None,
        lab: None,
        pipeline: Arc::new(pipeline.with_rooms(Arc::clone(&rooms))),
        rooms,
        live_map: LiveMap::new(ledger, live_map::Settings::default()),
        clock,
        settings: Settings::new([1; 32]).with_admin_key("example"),
    };
    let shutdown = CancellationToken::new();
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    tokio::spawn({
        let shutdown = shutdown.clone();
        async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                shutdown.cancel();
            }
        }
    });
    run(listener, parts, shutdown).await;
    Ok(())
}
