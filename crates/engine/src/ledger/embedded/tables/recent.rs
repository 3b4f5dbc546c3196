//! Which rows show the holds that were placed last.
//!
//! Most of what happens to a hold happens soon after its placing, and a look into memory costs a tenth of one into an
//! index as large as all holds ever. A row's number is that of the entry that made it, so what is remembered here stays
//! true also where a slice of the filling is undone and done again.

use std::collections::HashMap;

use holdfast_domain::HoldId;
use rusqlite::{Connection, OptionalExtension};

/// Holds remembered at a time.
const MOST: usize = 65_536;

#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<HoldId, u64>);

impl Recent {
    pub(super) fn placed(&mut self, hold: HoldId, seq: u64) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(hold, seq);
    }

    /// The row of this hold, if it was ever shown.
    pub(super) fn row(&self, from: &Connection, hold: HoldId) -> rusqlite::Result<Option<u64>> {
        match self.0.get(&hold) {
            Some(&seq) => Ok(Some(seq)),
            None => {
                let mut select = from.prepare_cached("SELECT seq FROM holds WHERE id = ?1")?;
                select.query_row([hold.to_string()], |row| row.get(0)).optional()
            }
        }
    }

    /// Nothing more is expected of this hold.
    pub(super) fn ended(&mut self, hold: HoldId) {
        self.0.remove(&hold);
    }
}
