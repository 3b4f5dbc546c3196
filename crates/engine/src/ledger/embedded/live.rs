//! The books as the writer has them: what is in memory, and the connection that makes it last.
//!
//! All of it belongs together. When a write fails, all of it is thrown away and loaded anew: memory may then be
//! ahead of the disk, and only the disk is to be believed.

use rusqlite::Connection;

use super::{
    Limits,
    answers::Answers,
    checkpoint,
    error::StoreError,
    recovery::{Books, recover},
    store::Place,
    tables::Tables,
};
use crate::ledger::views::Snapshots;

pub(super) struct Live {
    pub(super) connection: Connection,
    pub(super) books: Books,
    pub(super) answers: Answers,
    pub(super) tables: Tables,
    pub(super) snapshots: Snapshots,
    /// The last entry that the checkpoint this was loaded from covers.
    pub(super) checkpointed: u64,
}

impl Live {
    pub(super) fn load(place: &Place, limits: &Limits) -> Result<Self, StoreError> {
        let mut connection = place.owner(limits.max_file_bytes)?;
        let books = recover(&mut connection)?;
        let answers = Answers::open(&connection)?;
        let tables = Tables::open(&connection, books.head)?;
        let checkpointed =
            checkpoint::newest(&connection).map_err(StoreError::while_("looking for checkpoints"))?;
        Ok(Self { connection, books, answers, tables, snapshots: Snapshots::default(), checkpointed })
    }

    /// Entries that the tables do not show yet.
    pub(super) const fn tables_lag(&self) -> u64 {
        self.tables.lag(self.books.head)
    }
}
