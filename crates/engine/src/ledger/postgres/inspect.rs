//! Looking at a PostgreSQL from outside: whether an address is one, whether anybody answers there, and whether it is
//! set up to keep what it promises.
//!
//! For whoever starts a node or looks after one. Every look is a connection of its own, never one of a node's pools.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::{Client, Row, error::SqlState};

use super::{
    dial::{self, BadAddress, Dial},
    schema,
    session::Connecting,
};
use crate::{
    clock::{Clock, SystemClock},
    ledger::embedded::instant_now,
    tls::Encryption,
};

/// Whether this is an address that can be used; if not, the rule that it breaks.
pub fn address(url: &str) -> Result<(), String> {
    const RULE: &str = "must be an address of PostgreSQL such as postgres://user:password@host:5432/database";
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(RULE.into());
    }
    Dial::to(url).map(drop).map_err(|fault| format!("{RULE}: {fault}"))
}

/// Why nobody could be asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unreached {
    /// Nobody answers, or not yet: this may heal by itself.
    #[error("{0}")]
    NotThere(String),
    /// PostgreSQL answers, and says no: a password, a database that does not exist.
    #[error("PostgreSQL says: {0}")]
    TurnedAway(String),
    /// There is no TLS as the address demands it: none at all, or with somebody who is not trusted.
    #[error("{0}")]
    Insecure(String),
    /// The address cannot be used.
    #[error("{0}")]
    Address(#[from] BadAddress),
}

/// Whether PostgreSQL takes our questions now.
pub async fn reach(connecting: &Connecting) -> Result<(), Unreached> {
    let dial = dial(connecting)?;
    let client = within(2 * connecting.connect_timeout, dial.connect()).await?;
    within(connecting.statement_timeout, client.batch_execute("SELECT 1")).await
}

/// What is so, without judging it. Everything as it is for our own sessions: a role may have settings of its own.
#[derive(Debug, Clone)]
pub struct Seen {
    pub version: String,
    pub version_number: i32,
    pub encryption: Encryption,
    /// It follows another server, and takes no writes.
    pub follows_another: bool,
    pub fsync: String,
    pub full_page_writes: String,
    pub synchronous_commit: String,
    pub isolation: String,
    pub encoding: String,
    /// Connections for others than superusers.
    pub max_connections: i32,
    pub connections: i64,
    pub round_trip: Duration,
    pub commit: Duration,
    /// By how much its clock is ahead of ours; half a round trip of it is noise.
    pub clock_ahead_ms: i64,
    /// The schema's version, if there is one, and the newest that this program knows.
    pub schema: Option<i64>,
    pub newest_schema: i64,
    pub long_transactions: Vec<LongTransaction>,
    /// Payments that wait for a person; `None` before there are any tables.
    pub manual_payments: Option<i64>,
}

/// Something that began long ago and has not ended: what it may still see cannot be tidied away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongTransaction {
    pub whose: Whose,
    pub age_s: i64,
}

/// Whose a transaction is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    Process {
        pid: i32,
        program: String,
    },
    /// Nobody's any more: it was prepared to commit in two steps, and outlives its connection and a restart.
    Prepared {
        name: String,
        database: String,
    },
}

const SETUP: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::int4,
    pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit'), current_setting('default_transaction_isolation'),
    current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    current_setting('server_encoding')";
const CLOCK: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8";
const SCHEMA: &str = "SELECT max(version)::int8 FROM holdfast_migrations";
const LONG: &str = "SELECT pid, name, database, extract(epoch FROM clock_timestamp() - began)::int8 FROM (
        SELECT pid, coalesce(application_name, '') AS name, NULL AS database, xact_start AS began
        FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        UNION ALL SELECT NULL, gid, database::text, prepared FROM pg_prepared_xacts) AS open
    WHERE began < clock_timestamp() - make_interval(secs => $1) ORDER BY began LIMIT 10";
const MANUAL: &str = "SELECT count(*) FROM holdfast.payments WHERE state = 'manual'";
/// Goes through the log and to the disk like any commit, and changes nothing.
const COMMIT: &str = "SELECT pg_logical_emit_message(true, 'holdfast', 'doctor')";

/// From this age on a transaction is a long one.
const LONG_AGE: Duration = Duration::from_secs(60);
const MEASUREMENTS: usize = 9;

/// Looks at everything that decides whether it can keep the books.
pub async fn look(connecting: &Connecting) -> Result<Seen, Unreached> {
    let dial = dial(connecting)?;
    let (client, encryption) = within(2 * connecting.connect_timeout, dial.connect_knowing()).await?;
    // One look is a dozen questions.
    within(12 * connecting.statement_timeout, look_with(&client, encryption)).await
}

async fn look_with(client: &Client, encryption: Encryption) -> Result<Seen, tokio_postgres::Error> {
    let setup = client.query_one(SETUP, &[]).await?;
    let round_trip = median(client, "SELECT 1").await?;
    let ours = SystemClock::new();
    let theirs: i64 = client.query_one(CLOCK, &[]).await?.get(0);
    let clock_ahead_ms = theirs + round_trip.as_millis() as i64 / 2 - ours.now().ms();
    let follows_another = setup.get(2);
    Ok(Seen {
        version: setup.get(0),
        version_number: setup.get(1),
        encryption,
        follows_another,
        fsync: setup.get(3),
        full_page_writes: setup.get(4),
        synchronous_commit: setup.get(5),
        isolation: setup.get(6),
        encoding: setup.get(9),
        max_connections: setup.get(7),
        connections: setup.get(8),
        round_trip,
        commit: if follows_another { Duration::ZERO } else { median(client, COMMIT).await? },
        clock_ahead_ms,
        schema: schema_version(client).await?,
        newest_schema: schema::newest(),
        long_transactions: open_for(client, LONG_AGE).await?,
        manual_payments: or_no_table(client.query_one(MANUAL, &[]).await)?,
    })
}

/// What has been under way for as long as `age`, prepared transactions included; the oldest first.
pub async fn transactions(connecting: &Connecting, age: Duration) -> Result<Vec<LongTransaction>, Unreached> {
    let dial = dial(connecting)?;
    let client = within(2 * connecting.connect_timeout, dial.connect()).await?;
    within(connecting.statement_timeout, open_for(&client, age)).await
}

async fn open_for(client: &Client, age: Duration) -> Result<Vec<LongTransaction>, tokio_postgres::Error> {
    Ok(client.query(LONG, &[&age.as_secs_f64()]).await?.iter().map(long).collect())
}

async fn schema_version(client: &Client) -> Result<Option<i64>, tokio_postgres::Error> {
    or_no_table(client.query_one(SCHEMA, &[]).await)
}

/// A number, if there is a table to ask.
fn or_no_table(asked: Result<Row, tokio_postgres::Error>) -> Result<Option<i64>, tokio_postgres::Error> {
    match asked {
        Ok(row) => Ok(row.get(0)),
        Err(fault) if fault.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn long(row: &Row) -> LongTransaction {
    let name = row.get(1);
    let whose = match row.get(0) {
        Some(pid) => Whose::Process { pid, program: name },
        None => Whose::Prepared { name, database: row.get(2) },
    };
    LongTransaction { whose, age_s: row.get(3) }
}

/// How long this takes, as a rule.
async fn median(client: &Client, statement: &str) -> Result<Duration, tokio_postgres::Error> {
    let mut took = Vec::with_capacity(MEASUREMENTS);
    for _ in 0..MEASUREMENTS {
        let began = instant_now();
        client.batch_execute(statement).await?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took[MEASUREMENTS / 2])
}

/// For somebody who waits twice as long as a node would: connecting is several questions, and a server that hangs may do so
/// at any of them.
fn dial(connecting: &Connecting) -> Result<Dial, BadAddress> {
    let mut dial = Dial::to(&connecting.url)?;
    dial.config_mut().connect_timeout(connecting.connect_timeout).application_name("holdfast-inspect");
    Ok(dial)
}

async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Unreached> {
    match timeout(patience, work).await {
        Ok(done) => done.map_err(unreached),
        Err(_) => Err(Unreached::NotThere(format!("no answer within {patience:?}"))),
    }
}

fn unreached(error: tokio_postgres::Error) -> Unreached {
    // Starting, stopping, or full for the moment.
    let passing = [
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    match error.as_db_error() {
        Some(told) if passing.contains(told.code()) => Unreached::NotThere(told.message().to_owned()),
        Some(told) => Unreached::TurnedAway(told.message().to_owned()),
        None if dial::is_tls(&error) => Unreached::Insecure(dial::told(&error)),
        None => Unreached::NotThere(dial::told(&error)),
    }
}
