//! The journal on disk: one row per commit, and the hash chain over its entries.
//!
//! `hash(n) = SHA-256(hash(n − 1) ‖ entry n)`, from 32 zero bytes. A row keeps the chain's hash after its last
//! entry, so any row can be checked from the one before it, and nothing before a row can change unnoticed.

use holdfast_domain::{Actor, Entry, Event, Moment};
use rusqlite::{Connection, OptionalExtension, Row};
use sha2::{Digest, Sha256};

use super::error::StoreError;
use crate::ledger::codec::{self, Interner, Malformed, Reader, Writer};

pub(super) type Hash = [u8; 32];

/// A place in the chain: how many entries lead here, and the hash over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) hash: Hash,
}

impl Link {
    pub(super) const GENESIS: Self = Self { seq: 0, hash: [0; 32] };

    #[must_use]
    pub(super) fn then(self, entry: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(self.hash).chain_update(entry).finalize();
        Self { seq: self.seq + 1, hash: hash.into() }
    }
}

/// The entries of one commit while it is being put together.
#[derive(Debug)]
pub(super) struct Draft {
    before: Link,
    head: Link,
    at: Moment,
    payload: Vec<u8>,
    scratch: Vec<u8>,
}

impl Draft {
    pub(super) fn after(head: Link) -> Self {
        Self { before: head, head, at: Moment::MIN, payload: Vec::new(), scratch: Vec::new() }
    }

    pub(super) fn append(&mut self, at: Moment, actor: &Actor, event: &Event) {
        self.scratch.clear();
        codec::encode_entry(&mut self.scratch, self.head.seq + 1, at, actor, event);
        Writer(&mut self.payload).bytes(&self.scratch);
        self.head = self.head.then(&self.scratch);
        self.at = at;
    }

    pub(super) const fn head(&self) -> Link {
        self.head
    }

    pub(super) const fn len(&self) -> u64 {
        self.head.seq - self.before.seq
    }

    pub(super) fn write(&self, to: &Connection) -> rusqlite::Result<()> {
        let mut insert = to.prepare_cached("INSERT INTO batches VALUES (?1, ?2, ?3, ?4, ?5)")?;
        insert.execute((self.before.seq + 1, self.head.seq, self.at.ms(), &self.payload, self.head.hash))?;
        Ok(())
    }
}

/// A row of the journal, undecoded.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
    pub(super) payload: Vec<u8>,
    pub(super) hash: Hash,
}

impl Batch {
    /// The row that holds entry `seq`, if it has been written.
    pub(super) fn holding(from: &Connection, seq: u64) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT first_seq, last_seq, payload, hash FROM batches
                   WHERE first_seq <= ?1 ORDER BY first_seq DESC LIMIT 1";
        let row = from.prepare_cached(sql)?.query_row([seq], Self::read).optional()?;
        Ok(row.filter(|batch| seq <= batch.last_seq))
    }

    /// The first row that begins after entry `seq`. If one was taken out of the journal, it is a later one.
    fn after(from: &Connection, seq: u64) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT first_seq, last_seq, payload, hash FROM batches
                   WHERE first_seq > ?1 ORDER BY first_seq LIMIT 1";
        from.prepare_cached(sql)?.query_row([seq], Self::read).optional()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { first_seq: row.get(0)?, last_seq: row.get(1)?, payload: row.get(2)?, hash: row.get(3)? })
    }

    /// The bytes of each entry.
    pub(super) fn entries(&self) -> impl Iterator<Item = Result<&[u8], Malformed>> {
        let mut reader = Reader::new(&self.payload);
        std::iter::from_fn(move || (!reader.is_empty()).then(|| reader.bytes()))
    }
}

/// The last entry in the journal.
pub(super) fn last_seq(from: &Connection) -> rusqlite::Result<u64> {
    from.query_row("SELECT coalesce(max(last_seq), 0) FROM (SELECT last_seq FROM batches ORDER BY first_seq DESC LIMIT 1)", [], |row| row.get(0))
}

/// Reads the journal from one place to its end, checking the chain on the way.
#[derive(Debug)]
pub(super) struct Replay<'a> {
    from: &'a Connection,
    at: Link,
    interner: Interner,
}

impl<'a> Replay<'a> {
    pub(super) fn new(from: &'a Connection, after: Link) -> Self {
        Self { from, at: after, interner: Interner::default() }
    }

    pub(super) const fn at(&self) -> Link {
        self.at
    }

    /// Hands the entries of the next row to `each`, after the row has been checked; false at the end.
    pub(super) fn next(&mut self, mut each: impl FnMut(Entry, Hash)) -> Result<bool, StoreError> {
        let doing = "reading the journal";
        let Some(batch) = Batch::after(self.from, self.at.seq).map_err(StoreError::while_(doing))? else {
            return Ok(false);
        };
        let (entries, head) = self.check(&batch)?;
        entries.into_iter().for_each(|(entry, hash)| each(entry, hash));
        self.at = head;
        Ok(true)
    }

    fn check(&mut self, batch: &Batch) -> Result<(Vec<(Entry, Hash)>, Link), StoreError> {
        let mut entries =
            Vec::with_capacity(batch.last_seq.saturating_sub(batch.first_seq).min(4096) as usize + 1);
        let mut at = self.at;
        let corrupt =
            |seq, what: &dyn std::fmt::Display| StoreError::Corrupt(format!("journal entry {seq}: {what}"));
        if batch.first_seq != at.seq + 1 {
            return Err(corrupt(at.seq + 1, &"missing"));
        }
        for bytes in batch.entries() {
            let seq = at.seq + 1;
            let bytes = bytes.map_err(|fault| corrupt(seq, &fault))?;
            let entry =
                codec::decode_entry(bytes, &mut self.interner).map_err(|fault| corrupt(seq, &fault))?;
            if entry.seq != seq {
                return Err(corrupt(seq, &format_args!("says it is entry {}", entry.seq)));
            }
            at = at.then(bytes);
            entries.push((entry, at.hash));
        }
        if at.seq != batch.last_seq || at.hash != batch.hash {
            return Err(corrupt(batch.last_seq, &"the hash chain is broken in its row"));
        }
        Ok((entries, at))
    }
}
