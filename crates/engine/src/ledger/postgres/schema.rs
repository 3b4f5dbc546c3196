//! Bringing the schema up to date, safe with several nodes starting at once.
//!
//! Migrations only add: a node of the version before must be able to work on the schema of this one, so that a
//! rolling restart never stops the sale.

use std::time::Duration;

use super::session::{Session, Sessions, Trouble};

mod embedded {
    refinery::embed_migrations!("src/ledger/postgres/migrations");
}

/// One node migrates at a time; the others wait here and find nothing left to do.
const LOCK: &str = "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s';
                    SELECT pg_advisory_xact_lock(7237118283301)";
const PATIENCE: Duration = Duration::from_secs(65);

/// The newest version that this program knows.
pub(super) fn newest() -> i64 {
    let runner = embedded::migrations::runner();
    runner.get_migrations().iter().map(|migration| i64::from(migration.version())).max().unwrap_or(0)
}

/// Applies what is missing; returns the names of what was applied.
pub(super) async fn migrate(sessions: &Sessions) -> Result<Vec<String>, Trouble> {
    // The lock lives on a connection of its own, because the migrations end their transactions themselves.
    let mut lock = sessions.ordinary().await?;
    lock.begin().await?;
    lock.run_patiently(LOCK, PATIENCE).await?;
    let mut session = sessions.ordinary().await?;
    let applied = run(&mut session).await;
    lock.roll_back().await;
    applied
}

async fn run(session: &mut Session) -> Result<Vec<String>, Trouble> {
    let mut runner = embedded::migrations::runner()
        .set_grouped(true)
        // A newer node may have been here before: what it added does not disturb this one.
        .set_abort_missing(false);
    runner.set_migration_table_name("holdfast_migrations");
    let report = runner
        .run_async(session.client_mut())
        .await
        .map_err(|why| Trouble::Down(format!("migrating the schema: {why}").into()))?;
    Ok(report.applied_migrations().iter().map(|migration| migration.name().to_owned()).collect())
}
