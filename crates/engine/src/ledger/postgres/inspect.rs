//! Looking at a PostgreSQL from outside: whether an address is one, whether anybody answers there.
//!
//! For whoever starts a node or looks after one. Every look is a connection of its own, never one of a node's pools.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, config::SslMode, error::SqlState};

use super::session::Connecting;

/// Whether this is an address that can be used; if not, the rule that it breaks.
pub fn address(url: &str) -> Result<(), String> {
    const RULE: &str = "must be an address of PostgreSQL such as postgres://user:password@host:5432/database";
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(RULE.into());
    }
    let config: Config = url.parse().map_err(|fault| format!("{RULE}: {fault}"))?;
    match config.get_ssl_mode() {
        SslMode::Disable | SslMode::Prefer => Ok(()),
        _ => Err(
            "asks for TLS, which this program does not speak with PostgreSQL: use a private network, or a \
                  local pooler that does, and sslmode=disable"
                .into(),
        ),
    }
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
}

/// Whether PostgreSQL takes our questions now.
pub async fn reach(connecting: &Connecting) -> Result<(), Unreached> {
    let client = connect(connecting).await?;
    within(connecting.statement_timeout, client.batch_execute("SELECT 1")).await
}

async fn connect(connecting: &Connecting) -> Result<Client, Unreached> {
    let mut config: Config = connecting.url.parse().map_err(unreached)?;
    config.connect_timeout(connecting.connect_timeout).application_name("holdfast-inspect");
    // Connecting is several questions, and a server that hangs may do so at any of them.
    let (client, connection) = within(2 * connecting.connect_timeout, config.connect(NoTls)).await?;
    // Ends with the client.
    tokio::spawn(connection);
    Ok(client)
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
        None => Unreached::NotThere(with_cause(&error)),
    }
}

/// The client's errors keep what really happened to themselves.
fn with_cause(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) if !error.to_string().contains(&cause.to_string()) => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}
