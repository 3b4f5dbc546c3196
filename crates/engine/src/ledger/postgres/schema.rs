//! Bringing the schema up to date, safe with several nodes starting at once.
//!
//! Migrations only add, or take away what no version reads: a node of the version before must be able to work on the
//! schema of this one, so that a rolling restart never stops the sale. Nor may a migration that waits for a table, in use
//! by a backup perhaps, keep everybody waiting behind it: it says `SET LOCAL lock_timeout`, gives up and tries again.

use std::{error::Error as _, iter::successors, time::Duration};

use tokio_postgres::error::SqlState;

use super::session::{Session, Sessions, Sql, Trouble};

mod embedded {
    refinery::embed_migrations!("src/ledger/postgres/migrations");
}

/// One node migrates at a time; the others wait here and find nothing left to do. Whoever has the lock says nothing more
/// on it until all is migrated, however long that takes.
const LOCK: &str = "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s';
                    SET LOCAL idle_in_transaction_session_timeout = 0;
                    SELECT pg_advisory_xact_lock(7237118283301)";
const PATIENCE: Duration = Duration::from_secs(65);

/// How often a table that somebody uses is tried for, and the pause in which others may use it.
const TRIES: u32 = 15;
const PAUSE: Duration = Duration::from_secs(1);

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
    must_take_every_letter(&session).await?;
    let applied = run(&mut session).await;
    lock.roll_back().await;
    applied
}

/// A name that cannot be written would be found out by a batch, and with it everybody's in that batch.
async fn must_take_every_letter(session: &Session) -> Result<(), Trouble> {
    const ENCODING: Sql = Sql { text: "SELECT current_setting('server_encoding')", types: &[] };
    let rows = session.rows(&ENCODING, &[]).await?;
    let encoding: &str = rows.first().map_or("", |row| row.get(0));
    // The second takes whatever it is given.
    match encoding {
        "UTF8" | "SQL_ASCII" => Ok(()),
        other => Err(Trouble::Refused(
            format!(
                "the database is encoded in {other}, which has no room for every name: make one with \
                 CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
            )
            .into(),
        )),
    }
}

async fn run(session: &mut Session) -> Result<Vec<String>, Trouble> {
    let mut runner = embedded::migrations::runner()
        .set_grouped(true)
        // A newer node may have been here before: what it added does not disturb this one.
        .set_abort_missing(false);
    runner.set_migration_table_name("holdfast_migrations");
    let mut tries = 1;
    loop {
        match runner.run_async(session.client_mut()).await {
            Ok(report) => {
                return Ok(report.applied_migrations().iter().map(|done| done.name().to_owned()).collect());
            }
            Err(why) if is_in_use(&why) && tries < TRIES => {
                tracing::info!(tries, "a table is in use; the migration tries again");
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(why) => return Err(Trouble::Down(format!("migrating the schema: {why}").into())),
        }
    }
}

/// Somebody else has what the migration wants: for longer than it waits, or while wanting in turn what the migration has, and
/// PostgreSQL chose the migration to give way. All of it was rolled back.
fn is_in_use(why: &refinery::Error) -> bool {
    let mut causes = successors(why.source(), |cause| (*cause).source());
    let told = causes.find_map(|cause| cause.downcast_ref::<tokio_postgres::Error>());
    let passing = [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED];
    told.and_then(tokio_postgres::Error::code).is_some_and(|code| passing.contains(code))
}
