//! A private PostgreSQL for this binary, and books on it whose time is the test's.

use std::sync::{Arc, OnceLock};

use holdfast_conformance::subject::render;
use holdfast_engine::{
    clock::ManualClock,
    ledger::{
        Ledger,
        postgres::{PostgresLedger, Settings, Time},
    },
};
use holdfast_rigs::Postgres;

fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::options().setting("fsync", "off").start().expect("a private PostgreSQL"))
}

/// Books in a new database.
pub(crate) async fn books(name: &str, clock: &Arc<ManualClock>) -> Arc<dyn Ledger> {
    let name = name.to_owned();
    let made = tokio::task::spawn_blocking(move || server().create_database(&name).expect("a database"));
    let mut settings = Settings::new(made.await.expect("no panic"), render());
    settings.time = Time::Given(Arc::clone(clock) as _);
    settings.limits.tidy_every = None;
    settings.connecting.connections = 4;
    settings.connecting.urgent_connections = 2;
    Arc::new(PostgresLedger::open(settings).await.expect("the ledger opens"))
}
