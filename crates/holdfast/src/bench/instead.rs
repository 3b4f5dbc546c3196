//! What most would reach for first: a table of seats, and one transaction a claim, in SQLite with the same
//! durability and without so much as a socket in between.

use std::{io, path::Path, time::Duration};

use futures::future::BoxFuture;
use rusqlite::Connection;

use crate::load::{Tally, Worker, stopwatch};

const SEATS: u32 = 1_000_000;
/// Counted as the status that a server would have answered with.
pub(super) const CLAIMED: u16 = 201;

/// Claims seat after seat, each in a transaction of its own.
pub(super) struct RowPerClaim {
    books: Connection,
    next: u32,
}

impl RowPerClaim {
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let books = Connection::open(path)?;
        books.pragma_update(None, "journal_mode", "wal")?;
        books.pragma_update(None, "synchronous", "full")?;
        books.execute_batch(
            "CREATE TABLE seats (id INTEGER PRIMARY KEY, state TEXT NOT NULL DEFAULT 'available', holder TEXT, until INTEGER)",
        )?;
        let fill = "INSERT INTO seats (id) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?1) SELECT i FROM n";
        books.execute(fill, [SEATS])?;
        Ok(Self { books, next: 0 })
    }

    fn claim(&mut self) -> rusqlite::Result<bool> {
        let sql =
            "UPDATE seats SET state = 'held', holder = ?2, until = ?3 WHERE id = ?1 AND state = 'available'";
        let seat = self.next % SEATS;
        self.next += 1;
        self.books.prepare_cached(sql)?.execute((seat, format!("b{seat}"), i64::MAX)).map(|rows| rows == 1)
    }

    fn claims(&mut self, stretch: Duration) -> rusqlite::Result<Tally> {
        let mut tally = Tally::default();
        let started = stopwatch();
        let mut before = started;
        while before < started + stretch {
            let status = if self.claim()? { CLAIMED } else { 409 };
            let after = stopwatch();
            *tally.statuses.entry(status).or_default() += 1;
            tally.latency.record(after - before);
            before = after;
        }
        tally.elapsed = started.elapsed();
        Ok(tally)
    }
}

impl Worker for RowPerClaim {
    fn work(&mut self, stretch: Duration) -> BoxFuture<'_, io::Result<Tally>> {
        // It has the thread to itself: while its turn lasts, nobody else on this runtime has anything to do.
        Box::pin(async move { self.claims(stretch).map_err(io::Error::other) })
    }
}
