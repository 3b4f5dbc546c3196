//! The words that were given to each idempotency key, kept with the effect they describe.
//!
//! Every yes to a keyed request is kept, also one that changed nothing ("you hold that already"): the same key
//! must hear the same words. A refusal is not: it is decided anew. A key that begins a payment is kept open first,
//! pointing at the booking, and a second time with its words; the words count.
//!
//! ```text
//! this batch ──COMMIT──► answers_new: a row per commit ──in slices──► answers: indexed
//! (Fresh)                (found through `unfiled`, in memory)          (found through SQL)
//! ```
//! Keys are random, so every one of them lands on another page of an index. Paying for that in the commit that a
//! buyer waits for costs four times the commit itself; the row per commit costs almost nothing.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use holdfast_domain::{BookingId, Moment};
use rusqlite::{Connection, OptionalExtension, Row};
use sha2::{Digest, Sha256};

use super::error::StoreError;
use crate::ledger::{
    Answer, IdempotencyKey, Reply,
    codec::{Malformed, Reader, Writer},
};

const VERSION: u8 = 1;

/// One answer as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) scope: String,
    pub(super) key: String,
    fingerprint: [u8; 32],
    answer: Answer,
    at: Moment,
    /// How many journal entries there were after the effect.
    pub(super) seq: u64,
}

impl Kept {
    fn is_for(&self, key: &IdempotencyKey) -> bool {
        self.key == key.key && self.scope == key.scope
    }

    fn reply(&self, key: &IdempotencyKey) -> Reply {
        match (self.fingerprint == key.fingerprint, opened_for(&self.answer)) {
            (true, Some(booking)) => Reply::Open { booking },
            (true, None) => Reply::Replayed(self.answer.clone()),
            (false, _) => Reply::KeyReused,
        }
    }

    /// The key points at a payment that has no words yet. It is kept beside the words that close it, and they count.
    pub(super) fn is_open(&self) -> bool {
        self.answer.status == OPEN
    }
}

/// In the place of an answer's status; the body is then the booking.
const OPEN: u16 = 0;

/// What is kept of a key that begins a payment.
pub(super) fn open(booking: BookingId) -> Answer {
    Answer { status: OPEN, body: Bytes::copy_from_slice(&booking.bits().to_be_bytes()) }
}

fn opened_for(answer: &Answer) -> Option<BookingId> {
    let bits = answer.body[..].try_into().ok().filter(|_| answer.status == OPEN);
    bits.map(|bits| BookingId::from_bits(u128::from_be_bytes(bits)))
}

/// Of all that is kept for a key, what counts: words before none.
fn counts<'a>(kept: impl Iterator<Item = &'a Kept>) -> Option<&'a Kept> {
    kept.max_by_key(|kept| !kept.is_open())
}

/// 64 bits of a scope and a key: enough to find a row by, never trusted to tell two keys apart.
pub(super) fn digest(scope: &str, key: &str) -> i64 {
    let hash = Sha256::new().chain_update(scope).chain_update([0]).chain_update(key).finalize();
    i64::from_be_bytes(hash[..8].try_into().expect("a hash has eight bytes"))
}

/// Answers of the batch being put together, already in the bytes that will be written.
#[derive(Debug)]
pub(super) struct Fresh {
    payload: Vec<u8>,
    /// The digest of each, and where in the payload it begins. A batch has few enough to look through.
    kept: Vec<(i64, usize)>,
}

impl Default for Fresh {
    fn default() -> Self {
        Self { payload: vec![VERSION], kept: Vec::new() }
    }
}

impl Fresh {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    fn find(&self, digest: i64, key: &IdempotencyKey) -> Option<Reply> {
        let alike = self.kept.iter().filter(|(kept, _)| *kept == digest);
        let kept = alike.filter_map(|(_, start)| decode(&mut Reader::new(&self.payload[*start..])).ok());
        let kept: Vec<Kept> = kept.filter(|kept| kept.is_for(key)).collect();
        counts(kept.iter()).map(|kept| kept.reply(key))
    }

    pub(super) fn keep(&mut self, digest: i64, key: IdempotencyKey, answer: Answer, at: Moment, seq: u64) {
        let IdempotencyKey { scope, key, fingerprint } = key;
        self.kept.push((digest, self.payload.len()));
        encode(&mut self.payload, &Kept { scope, key, fingerprint, answer, at, seq });
    }

    /// Writes them down in the open transaction; returns the row.
    pub(super) fn write(&self, to: &Connection) -> rusqlite::Result<i64> {
        to.prepare_cached("INSERT INTO answers_new (payload) VALUES (?1)")?.execute([&self.payload])?;
        Ok(to.last_insert_rowid())
    }
}

fn encode(payload: &mut Vec<u8>, kept: &Kept) {
    let mut to = Writer(payload);
    to.text(&kept.scope);
    to.text(&kept.key);
    to.bytes(&kept.fingerprint);
    to.uint(kept.answer.status);
    to.bytes(&kept.answer.body);
    to.moment(kept.at);
    to.uint(kept.seq);
}

fn decode_all(payload: &[u8]) -> Result<Vec<Kept>, Malformed> {
    let mut from = Reader::new(payload);
    if from.byte()? != VERSION {
        return Err(from.fault("answers of a version this program does not know"));
    }
    let mut all = Vec::new();
    while !from.is_empty() {
        all.push(decode(&mut from)?);
    }
    Ok(all)
}

fn decode(from: &mut Reader<'_>) -> Result<Kept, Malformed> {
    Ok(Kept {
        scope: from.text()?.to_owned(),
        key: from.text()?.to_owned(),
        fingerprint: from.bytes()?.try_into().map_err(|_| from.fault("a fingerprint has 32 bytes"))?,
        answer: Answer {
            status: from.uint()?.try_into().map_err(|_| from.fault("no such status"))?,
            body: Bytes::copy_from_slice(from.bytes()?),
        },
        at: from.moment()?,
        seq: from.uint()?,
    })
}

/// What a key was answered, and whether that is durable yet.
pub(super) struct Found {
    pub(super) reply: Reply,
    pub(super) durable: bool,
}

/// All answers: those in memory's reach and those on disk.
#[derive(Debug, Default)]
pub(super) struct Answers {
    unfiled: Unfiled,
    rows: VecDeque<i64>,
}

impl Answers {
    /// Finds out what is not filed yet.
    pub(super) fn open(from: &Connection) -> Result<Self, StoreError> {
        let mut answers = Self::default();
        for row in unfiled_rows(from).map_err(StoreError::while_("reading which answers are new"))? {
            let digests = digests(&load(from, row)?);
            answers.committed(row, digests);
        }
        Ok(answers)
    }

    /// How many answers are not filed yet.
    pub(super) fn unfiled(&self) -> usize {
        self.unfiled.rows.len() + self.unfiled.alike.len()
    }

    pub(super) fn find(
        &self,
        from: &Connection,
        fresh: &Fresh,
        digest: i64,
        key: &IdempotencyKey,
    ) -> Result<Option<Found>, StoreError> {
        if let Some(reply) = fresh.find(digest, key) {
            return Ok(Some(Found { reply, durable: false }));
        }
        let mut kept = Vec::new();
        for row in self.unfiled.rows(digest) {
            kept.extend(load(from, row)?.into_iter().filter(|kept| kept.is_for(key)));
        }
        if !kept.iter().any(|kept| !kept.is_open()) {
            let filed = find_filed(from, digest, key);
            kept.extend(filed.map_err(StoreError::while_("looking up an idempotency key"))?);
        }
        Ok(counts(kept.iter()).map(|kept| Found { reply: kept.reply(key), durable: true }))
    }

    /// Takes note of a batch's answers once they are durable in `row`.
    pub(super) fn keep(&mut self, row: i64, fresh: &Fresh) {
        self.committed(row, fresh.kept.iter().map(|(digest, _)| *digest));
    }

    fn committed(&mut self, row: i64, digests: impl IntoIterator<Item = i64>) {
        digests.into_iter().for_each(|digest| self.unfiled.insert(digest, row));
        self.rows.push_back(row);
    }

    /// Moves the answers of the oldest commit to the indexed table, in the open transaction. What is moved is
    /// still found through memory until [`Answers::filed`] is told that the transaction was committed.
    pub(super) fn file(&self, to: &Connection) -> Result<Option<Filed>, StoreError> {
        let Some(&row) = self.rows.front() else { return Ok(None) };
        let kept = load(to, row)?;
        file_row(to, row, &kept).map_err(StoreError::while_("filing answers"))?;
        Ok(Some(Filed { row, digests: digests(&kept) }))
    }

    pub(super) fn filed(&mut self, filed: &Filed) {
        filed.digests.iter().for_each(|&digest| self.unfiled.remove(digest, filed.row));
        self.rows.pop_front();
    }
}

/// Where the answers are that have not been filed, by digest.
#[derive(Debug, Default)]
struct Unfiled {
    rows: HashMap<i64, i64>,
    /// Further rows of a digest that two keys share. Next to never any, and still right when there is.
    alike: BTreeSet<(i64, i64)>,
}

impl Unfiled {
    fn insert(&mut self, digest: i64, row: i64) {
        if let Some(other) = self.rows.insert(digest, row)
            && other != row
        {
            self.alike.insert((digest, other));
        }
    }

    fn rows(&self, digest: i64) -> impl Iterator<Item = i64> {
        let alike = self.alike.range((digest, i64::MIN)..=(digest, i64::MAX)).map(|(_, row)| *row);
        self.rows.get(&digest).copied().into_iter().chain(alike)
    }

    fn remove(&mut self, digest: i64, row: i64) {
        if !self.alike.remove(&(digest, row)) && self.rows.get(&digest) == Some(&row) {
            self.rows.remove(&digest);
            // Another key of this digest may still be waiting.
            if let Some(&(_, other)) = self.alike.range((digest, i64::MIN)..=(digest, i64::MAX)).next() {
                self.alike.remove(&(digest, other));
                self.rows.insert(digest, other);
            }
        }
    }
}

/// Answers that have moved to the indexed table.
#[derive(Debug)]
pub(super) struct Filed {
    row: i64,
    digests: Vec<i64>,
}

fn digests(kept: &[Kept]) -> Vec<i64> {
    kept.iter().map(|kept| digest(&kept.scope, &kept.key)).collect()
}

fn unfiled_rows(from: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut select = from.prepare("SELECT id FROM answers_new ORDER BY id")?;
    select.query_map([], |row| row.get(0))?.collect()
}

/// The answers of one commit.
pub(super) fn load(from: &Connection, row: i64) -> Result<Vec<Kept>, StoreError> {
    let payload = payload(from, row).map_err(StoreError::while_("reading new answers"))?;
    decode_all(&payload).map_err(|fault| StoreError::Corrupt(format!("answers_new row {row}: {fault}")))
}

fn payload(from: &Connection, row: i64) -> rusqlite::Result<Vec<u8>> {
    from.prepare_cached("SELECT payload FROM answers_new WHERE id = ?1")?.query_row([row], |row| row.get(0))
}

const FILED: &str = "SELECT scope, key, fingerprint, status, body, at_ms, seq FROM answers";

const FIND: &str = "SELECT scope, key, fingerprint, status, body, at_ms, seq FROM answers
                    WHERE digest = ?1 AND key = ?2 AND scope = ?3 ORDER BY status DESC LIMIT 1";

fn find_filed(from: &Connection, digest: i64, key: &IdempotencyKey) -> rusqlite::Result<Option<Kept>> {
    let mut select = from.prepare_cached(FIND)?;
    select.query_row((digest, &key.key, &key.scope), kept).optional()
}

fn kept(row: &Row<'_>) -> rusqlite::Result<Kept> {
    Ok(Kept {
        scope: row.get(0)?,
        key: row.get(1)?,
        fingerprint: row.get(2)?,
        answer: Answer { status: row.get(3)?, body: Bytes::from(row.get::<_, Vec<u8>>(4)?) },
        at: Moment::from_ms(row.get(5)?),
        seq: row.get(6)?,
    })
}

fn file_row(to: &Connection, row: i64, all: &[Kept]) -> rusqlite::Result<()> {
    let mut insert = to.prepare_cached(
        "INSERT INTO answers (digest, scope, key, fingerprint, status, body, at_ms, seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for kept in all {
        let Kept { scope, key, fingerprint, answer, at, seq } = kept;
        let body = &answer.body[..];
        insert.execute((digest(scope, key), scope, key, fingerprint, answer.status, body, at.ms(), seq))?;
    }
    to.prepare_cached("DELETE FROM answers_new WHERE id = ?1")?.execute([row]).map(drop)
}

/// Shows every answer there is to `each`.
pub(super) fn each(from: &Connection, mut each: impl FnMut(&Kept)) -> Result<(), StoreError> {
    let doing = StoreError::while_("reading the answers");
    let mut select = from.prepare(&format!("{FILED} ORDER BY id")).map_err(doing)?;
    let filed = select.query_map([], kept).map_err(doing)?;
    for kept in filed {
        each(&kept.map_err(doing)?);
    }
    for row in unfiled_rows(from).map_err(doing)? {
        load(from, row)?.iter().for_each(&mut each);
    }
    Ok(())
}

/// Drops at most `limit` answers given before `horizon`, the oldest first; says how many went.
pub(super) fn forget(from: &Connection, horizon: Moment, limit: usize) -> rusqlite::Result<usize> {
    let mut delete = from.prepare_cached(
        "DELETE FROM answers WHERE at_ms < ?1 AND id IN (SELECT id FROM answers ORDER BY id LIMIT ?2)",
    )?;
    delete.execute((horizon.ms(), limit))
}

#[cfg(test)]
mod tests {
    use super::Unfiled;

    #[test]
    fn keys_that_look_alike_are_all_found() {
        let mut unfiled = Unfiled::default();
        let rows = |unfiled: &Unfiled| unfiled.rows(7).collect::<std::collections::BTreeSet<_>>();
        [1, 2, 3, 3].into_iter().for_each(|row| unfiled.insert(7, row));
        unfiled.insert(8, 4);
        assert_eq!(rows(&unfiled), [1, 2, 3].into());
        for (gone, left) in [(3, vec![1, 2]), (1, vec![2]), (2, vec![])] {
            unfiled.remove(7, gone);
            assert_eq!(rows(&unfiled), left.into_iter().collect());
        }
        assert_eq!((unfiled.rows.len(), unfiled.alike.len()), (1, 0));
    }
}
