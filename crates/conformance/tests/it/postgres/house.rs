//! A private PostgreSQL and its databases, each made and migrated once and emptied whenever it is asked for again.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use holdfast_conformance::subject::render;
use holdfast_engine::{
    ledger::{
        Render,
        postgres::{PostgresLedger, Settings},
    },
    strategy::Claiming,
};
use holdfast_rigs::Postgres;
use parking_lot::Mutex;

/// Whatever the schema has, found by asking, so that a new table is emptied too.
const EMPTY: &str = "DO $$
    DECLARE full_tables text;
    BEGIN
        SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') INTO full_tables
        FROM pg_tables WHERE schemaname = 'holdfast' AND tablename <> 'gate_epoch';
        IF full_tables IS NOT NULL THEN
            EXECUTE 'TRUNCATE ' || full_tables || ' RESTART IDENTITY CASCADE';
            UPDATE holdfast.gate_epoch SET epoch = 1;
        END IF;
    END $$";

#[derive(Debug)]
pub(crate) struct House {
    pub(crate) server: Postgres,
    made: Mutex<BTreeSet<String>>,
}

impl House {
    /// One whose commits need not survive a power cut: for what is decided, not for what is kept.
    pub(crate) fn quick() -> Self {
        Self::on(Postgres::options().setting("fsync", "off").start().expect("a private PostgreSQL"))
    }

    /// As durable as a real one.
    pub(crate) fn durable() -> Self {
        Self::on(Postgres::start().expect("a private PostgreSQL"))
    }

    pub(crate) fn on(server: Postgres) -> Self {
        Self { server, made: Mutex::default() }
    }

    /// The address of a database in which nothing has happened yet.
    pub(crate) fn emptied(&self, name: &str) -> String {
        if self.made.lock().insert(name.to_owned()) {
            return self.server.create_database(name).expect("a database");
        }
        self.server.ask(name, EMPTY).expect("an empty database");
        self.server.url_for(name)
    }

    /// One value out of a database.
    pub(crate) fn one(&self, database: &str, sql: &str) -> String {
        let rows = self.server.ask(database, sql).expect("an answer");
        rows[0][0].clone().expect("a value")
    }
}

/// A node as it would be, except that it has few connections: several nodes share a small server here.
pub(crate) fn settings(url: &str, claiming: Claiming) -> Settings {
    settings_with(url, claiming, render())
}

pub(crate) fn settings_with(url: &str, claiming: Claiming, render: Render) -> Settings {
    let mut settings = Settings::new(url, render);
    settings.claiming = claiming;
    settings.connecting.connections = 8;
    settings.connecting.urgent_connections = 3;
    // A server that many nodes rush to at once takes a while to let everybody in.
    settings.connecting.connect_timeout = Duration::from_secs(10);
    settings
}

/// Of ninety who contend, one may lose many races in a row: that is a matter of dice, not of the books.
pub(crate) fn insistent(mut settings: Settings) -> Settings {
    settings.limits.attempts = 100;
    settings
}

/// Nodes of one cluster, opened at once as after a rollout.
pub(crate) async fn nodes(settings: Settings, count: usize) -> Vec<Arc<PostgresLedger>> {
    let opening: Vec<_> = (0..count).map(|_| tokio::spawn(PostgresLedger::open(settings.clone()))).collect();
    let mut nodes = Vec::new();
    for node in opening {
        nodes.push(Arc::new(node.await.expect("no panic").expect("the ledger opens")));
    }
    nodes
}
