//! Databases for the occasion, on a server that belongs to somebody else, as the lab makes them.

use std::io;

use holdfast_engine::ledger::postgres::DialError;
use holdfast_lab::scratch;
use tokio_postgres::Client;

use super::interrupted;
use crate::failure::Failure;

pub(super) struct Databases(scratch::Databases);

impl Databases {
    pub(super) async fn on(url: &str) -> Result<Self, Failure> {
        scratch::Databases::on(url).await.map(Self).map_err(unusable)
    }

    /// The address of a new, empty database.
    pub(super) async fn fresh(&mut self) -> Result<String, Failure> {
        self.0.fresh().await.map_err(io::Error::other).map_err(interrupted)
    }

    /// Whoever is still connected is sent away.
    pub(super) async fn drop_all(&mut self) {
        self.0.drop_all().await;
    }
}

pub(super) async fn connect(url: &str) -> Result<Client, Failure> {
    scratch::connect(url).await.map_err(unusable)
}

fn unusable(fault: DialError) -> Failure {
    Failure::usage(
        "the PostgreSQL of --ledger cannot be used",
        "check the address, and that it may make databases",
    )
    .because(fault)
}
