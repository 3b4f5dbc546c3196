//! The words that were given to each idempotency key, kept with the effect they describe.
//!
//! Every yes to a keyed request is kept, also one that changed nothing ("you hold that already"): the same key
//! must hear the same words. A refusal is not: it is decided anew.

use std::collections::HashMap;

use bytes::Bytes;
use holdfast_domain::Moment;
use rusqlite::{Connection, OptionalExtension};

use crate::ledger::{Answer, IdempotencyKey, Reply};

#[derive(Debug)]
struct Kept {
    fingerprint: [u8; 32],
    answer: Answer,
    at: Moment,
    seq: u64,
}

/// Whose key, and which.
type Name = (String, String);

/// Answers of the batch being put together; they reach the disk in its commit.
#[derive(Debug, Default)]
pub(super) struct Fresh(HashMap<Name, Kept>);

impl Fresh {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What this batch has already answered to the key.
    pub(super) fn find(&self, key: &IdempotencyKey) -> Option<Reply> {
        if self.0.is_empty() {
            return None;
        }
        let kept = self.0.get(&(key.scope.clone(), key.key.clone()))?;
        Some(reply(&kept.fingerprint, key, kept.answer.clone()))
    }

    pub(super) fn keep(&mut self, key: IdempotencyKey, answer: Answer, at: Moment, seq: u64) {
        let kept = Kept { fingerprint: key.fingerprint, answer, at, seq };
        self.0.insert((key.scope, key.key), kept);
    }

    pub(super) fn write(&self, to: &Connection) -> rusqlite::Result<()> {
        let mut insert = to.prepare_cached(
            "INSERT INTO answers (scope, key, fingerprint, status, body, at_ms, seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for ((scope, key), kept) in &self.0 {
            let Kept { fingerprint, answer, at, seq } = kept;
            insert.execute((scope, key, fingerprint, answer.status, &answer.body[..], at.ms(), seq))?;
        }
        Ok(())
    }
}

/// What an earlier batch answered to the key.
pub(super) fn find(from: &Connection, key: &IdempotencyKey) -> rusqlite::Result<Option<Reply>> {
    let mut select =
        from.prepare_cached("SELECT fingerprint, status, body FROM answers WHERE key = ?1 AND scope = ?2")?;
    let found = select.query_row((&key.key, &key.scope), |row| {
        let body: Vec<u8> = row.get(2)?;
        let answer = Answer { status: row.get(1)?, body: Bytes::from(body) };
        Ok(reply(&row.get(0)?, key, answer))
    });
    found.optional()
}

fn reply(fingerprint: &[u8; 32], key: &IdempotencyKey, answer: Answer) -> Reply {
    if *fingerprint == key.fingerprint { Reply::Replayed(answer) } else { Reply::KeyReused }
}

/// Drops at most `limit` answers given before `horizon`, the oldest first; says how many went.
pub(super) fn forget(from: &Connection, horizon: Moment, limit: usize) -> rusqlite::Result<usize> {
    let mut delete = from.prepare_cached(
        "DELETE FROM answers WHERE at_ms < ?1 AND id IN (SELECT id FROM answers ORDER BY id LIMIT ?2)",
    )?;
    delete.execute((horizon.ms(), limit))
}
