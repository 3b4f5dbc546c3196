//! What a good engineer would build on PostgreSQL first: one guarded `UPDATE` a claim, as fast as PostgreSQL's own
//! load generator can send it.

use std::{fs, io, path::PathBuf, process::Stdio, time::Duration};

use futures::future::BoxFuture;
use tokio::process::Command;

use super::{Plan, interrupted, scratch_databases::connect};
use crate::{
    failure::Failure,
    load::{Tally, Worker},
};

/// Counted as the status that a server would have answered with.
pub(super) const UPDATED: u16 = 201;

/// Sessions of PostgreSQL, each with one claim under way: about as many as it likes, whatever the number of HTTP
/// connections on our side.
const CLIENTS: u32 = 64;
const SEATS: u32 = 1_000_000;
const TABLE: &str =
    "CREATE TABLE seats (id int PRIMARY KEY, state text NOT NULL DEFAULT 'available', holder text,
                                         version int NOT NULL DEFAULT 0) WITH (fillfactor = 70)";
/// Claims whatever seat it meets: with a million of them, hardly one twice.
const SCRIPT: &str = "\\set id random(1, 1000000)
UPDATE seats SET state = 'held', holder = 'b' || :id, version = version + 1 WHERE id = :id AND version >= 0;
";

pub(super) struct PgBench {
    url: String,
    script: PathBuf,
}

impl PgBench {
    pub(super) async fn prepare(url: &str, plan: &Plan) -> Result<Self, Failure> {
        let books = connect(url).await?;
        let fill = format!("INSERT INTO seats (id) SELECT generate_series(1, {SEATS})");
        for sql in [TABLE, fill.as_str(), "VACUUM ANALYZE seats"] {
            books.batch_execute(sql).await.map_err(io::Error::other).map_err(interrupted)?;
        }
        let script = plan.data("claim.sql");
        fs::write(&script, SCRIPT).map_err(interrupted)?;
        Ok(Self { url: url.to_owned(), script })
    }

    async fn claims(&self, stretch: Duration) -> io::Result<Tally> {
        let seconds = stretch.as_secs().max(1);
        let ran = Command::new("pgbench")
            .args(["-n", "-M", "prepared", "-j", "2", "-c", &CLIENTS.to_string()])
            .args(["-T", &seconds.to_string(), "-f"])
            .arg(&self.script)
            .arg(&self.url)
            .stdin(Stdio::null())
            .output()
            .await?;
        let said = String::from_utf8_lossy(&ran.stdout);
        let tps = said.lines().find_map(|line| line.strip_prefix("tps = "));
        let tps = tps.and_then(|line| line.split_whitespace().next()).and_then(|tps| tps.parse::<f64>().ok());
        let tps = tps.ok_or_else(|| {
            io::Error::other(format!("pgbench said no rate: {}", String::from_utf8_lossy(&ran.stderr).trim()))
        })?;
        let elapsed = Duration::from_secs(seconds);
        let statuses = [(UPDATED, (tps * elapsed.as_secs_f64()) as u64)].into();
        Ok(Tally { statuses, elapsed, ..Tally::default() })
    }
}

impl Worker for PgBench {
    fn work(&mut self, stretch: Duration) -> BoxFuture<'_, io::Result<Tally>> {
        Box::pin(self.claims(stretch))
    }
}
