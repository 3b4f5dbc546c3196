//! SQLite's write-ahead log, kept short without stopping the sale.
//!
//! ```text
//! long ─► copying: a thread of its own copies the log into the file, beside the writer
//!              └─► closing: the writer copies the little that came meanwhile; its next commit starts the log anew
//! ```
//! Left to SQLite, whichever commit made the log too long would copy all of it while buyers wait. Copied only
//! beside the writer, the log would never be started anew during a sale: there is always something after its end.

use std::thread::JoinHandle;

use rusqlite::Connection;

use super::{error::StoreError, store::Place};

/// Pages in the log that make it worth copying: 16 MB.
const LONG: i64 = 4096;
/// Pages that the writer may copy itself without keeping anybody waiting for long.
const LITTLE: i64 = 1024;
/// The log is looked at once per so many slices of upkeep.
const LOOK_EVERY: u32 = 16;

#[derive(Debug)]
pub(super) struct Log {
    place: Place,
    looks_in: u32,
    copying: Option<JoinHandle<Result<(), StoreError>>>,
}

/// Pages in the log, and how many of them are in the file already.
struct Length {
    pages: i64,
    copied: i64,
}

impl Log {
    pub(super) fn new(place: &Place) -> Self {
        Self { place: place.clone(), looks_in: LOOK_EVERY, copying: None }
    }

    /// Looks at the log now and then, and sees to it that it is copied. No transaction may be open.
    pub(super) fn slice(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if !self.place.is_file() || self.copying.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        if let Some(thread) = self.copying.take() {
            thread.join().unwrap_or(Err(StoreError::Bug))?;
            return self.close(connection);
        }
        self.looks_in -= 1;
        if self.looks_in == 0 {
            self.looks_in = LOOK_EVERY;
            if length(connection, "noop")?.pages >= LONG {
                self.copy();
            }
        }
        Ok(())
    }

    fn copy(&mut self) {
        let place = self.place.clone();
        let copy = move || length(&place.writer()?, "passive").map(drop);
        let thread = std::thread::Builder::new().name("ledger-log".into()).spawn(copy);
        if let Err(error) = &thread {
            tracing::warn!(%error, "no thread to copy the log");
        }
        self.copying = thread.ok();
    }

    /// Copies what came meanwhile, or has it copied beside the sale again when that is too much.
    fn close(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let Length { pages, copied } = length(connection, "noop")?;
        match pages - copied {
            0..=LITTLE => length(connection, "passive").map(drop),
            _ => {
                self.copy();
                Ok(())
            }
        }
    }
}

impl Drop for Log {
    /// The file must not be open any more when its folder is given up.
    fn drop(&mut self) {
        if let Some(thread) = self.copying.take() {
            drop(thread.join());
        }
    }
}

/// Copies as much of the log as `mode` says, and tells how long it is.
fn length(connection: &Connection, mode: &str) -> Result<Length, StoreError> {
    let read = |row: &rusqlite::Row<'_>| Ok(Length { pages: row.get(1)?, copied: row.get(2)? });
    let length = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], read);
    length.map_err(StoreError::while_("copying the log into the file"))
}
