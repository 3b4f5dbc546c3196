//! The tables that people and tools can read, filled behind the journal.
//!
//! The writer advances them in bounded slices when it has nothing better to do, or when they have fallen too far
//! behind. They are never read to decide anything and can be rebuilt from the journal. A slice's commit is not
//! flushed by itself: whatever a crash loses of it is projected again.

mod payments;
mod recent;
mod rows;

use holdfast_domain::{Moment, State};
use rusqlite::{Connection, OptionalExtension};

use self::recent::Recent;
pub(super) use self::rows::service_of;
use super::{
    error::StoreError,
    journal::{Batch, Link},
    reads::{Asker, tell},
};
use crate::ledger::{
    LedgerError,
    codec::{self, Interner},
};

/// How far the tables have followed, and who waits for them.
#[derive(Debug)]
pub(super) struct Tables {
    at: Link,
    /// When the last entry shown was written, as far as that is known.
    shown_at: Moment,
    /// Who wants to be told when that entry is shown.
    waiting: Vec<(u64, Asker<()>)>,
    interner: Interner,
    recent: Recent,
}

impl Tables {
    pub(super) fn open(from: &Connection, head: Link) -> Result<Self, StoreError> {
        let at = projected(from).map_err(StoreError::while_("reading how far the tables are"))?;
        if at.seq > head.seq {
            return Err(StoreError::Corrupt("the tables are ahead of the journal".into()));
        }
        let (interner, recent) = (Interner::default(), Recent::default());
        Ok(Self { at, shown_at: Moment::MIN, waiting: Vec::new(), interner, recent })
    }

    /// How many entries up to `head` the tables do not show yet.
    pub(super) const fn lag(&self, head: Link) -> u64 {
        head.seq.saturating_sub(self.at.seq)
    }

    /// The tables need nothing that ended before this moment.
    pub(super) const fn shown_at(&self) -> Moment {
        self.shown_at
    }

    pub(super) const fn has_waiters(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Tells `who` once the tables show everything up to `head`.
    pub(super) fn tell_when(&mut self, head: Link, who: Asker<()>) {
        if head.seq <= self.at.seq {
            return tell(who, Ok(()));
        }
        self.waiting.push((head.seq, who));
    }

    /// Projects entries until there are none left or `enough` says so, in the open transaction; returns how far
    /// it came, for [`Tables::advanced`].
    pub(super) fn advance(
        &mut self,
        to: &Connection,
        state: &State,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Result<Link, StoreError> {
        let doing = StoreError::while_("filling the tables");
        let first = self.at.seq;
        let mut at = self.at;
        while !enough(at.seq - first) {
            let Some(row) = Batch::holding(to, at.seq + 1).map_err(doing)? else { break };
            at = self.project_row(to, state, &row, at, |seq| enough(seq - first))?;
        }
        set_projected(to, at).map_err(doing)?;
        Ok(at)
    }

    /// The transaction was committed.
    pub(super) fn advanced(&mut self, at: Link) {
        self.at = at;
        for (_, who) in self.waiting.extract_if(.., |(seq, _)| *seq <= at.seq) {
            tell(who, Ok(()));
        }
    }

    /// Whoever waits for the tables will not see them soon.
    pub(super) fn disappoint(&mut self, why: &LedgerError) {
        for (_, who) in self.waiting.drain(..) {
            tell(who, Err(why.clone()));
        }
    }

    fn project_row(
        &mut self,
        to: &Connection,
        state: &State,
        row: &Batch,
        mut at: Link,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Result<Link, StoreError> {
        let done = (at.seq + 1 - row.first_seq) as usize;
        for bytes in row.entries().skip(done) {
            let seq = at.seq + 1;
            let malformed = |fault| StoreError::Corrupt(format!("journal entry {seq}: {fault}"));
            let bytes = bytes.map_err(malformed)?;
            let entry = codec::decode_entry(bytes, &mut self.interner).map_err(malformed)?;
            at = at.then(bytes);
            self.shown_at = entry.at;
            let shown = rows::show(to, state, &mut self.recent, &entry, at.hash);
            shown.map_err(StoreError::while_("filling the tables"))?;
            if enough(at.seq) {
                break;
            }
        }
        Ok(at)
    }
}

/// How far the tables have followed.
pub(super) fn projected(from: &Connection) -> rusqlite::Result<Link> {
    let sql = "SELECT s.value, h.value FROM meta s, meta h WHERE s.name = 'projected_seq' AND h.name = 'projected_hash'";
    let found = from.query_row(sql, [], |row| Ok(Link { seq: row.get(0)?, hash: row.get(1)? }));
    Ok(found.optional()?.unwrap_or(Link::GENESIS))
}

fn set_projected(to: &Connection, at: Link) -> rusqlite::Result<()> {
    let mut set = to
        .prepare_cached("INSERT OR REPLACE INTO meta VALUES ('projected_seq', ?1), ('projected_hash', ?2)")?;
    set.execute((at.seq, at.hash))?;
    Ok(())
}
