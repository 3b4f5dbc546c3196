//! The words that were given to each idempotency key, found again.

use std::collections::HashMap;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;

use super::{
    session::{Session, Sql, Trouble},
    write::{Kept, Words},
};
use crate::ledger::{Answer, IdempotencyKey, Reply};

const FIND: Sql = Sql {
    text: "SELECT key, fingerprint, status, body, booking_id FROM holdfast.answers WHERE key = ANY($1)",
    types: &[Type::BYTEA_ARRAY],
};
const FORGET: Sql = Sql {
    text: "DELETE FROM holdfast.answers WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM holdfast.answers WHERE at < holdfast.at($1) LIMIT $2))",
    types: &[Type::INT8, Type::INT8],
};

pub(super) type Digested = [u8; 32];

/// The name under which an answer is kept: a caller's key, and whose it is.
pub(super) fn digest(key: &IdempotencyKey) -> Digested {
    Sha256::new().chain_update(&key.scope).chain_update([0]).chain_update(&key.key).finalize().into()
}

/// Answers given before, by the digest of their key.
#[derive(Debug, Default)]
pub(super) struct Given(HashMap<Digested, Kept>);

impl Given {
    pub(super) async fn find(session: &Session, keys: &[Digested]) -> Result<Self, Trouble> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let found = session.rows(&FIND, &[&keys]).await?;
        let kept = found.iter().filter_map(|row| {
            let key: Digested = row.get::<_, &[u8]>(0).try_into().ok()?;
            let fingerprint = row.get::<_, &[u8]>(1).try_into().ok()?;
            let body = Bytes::copy_from_slice(row.get(3));
            let words = match row.get::<_, Option<&str>>(4) {
                Some(booking) => Words::Open(booking.parse().ok()?),
                None => Words::Answer(Answer { status: row.get::<_, i16>(2) as u16, body }),
            };
            Some((key, Kept { key, fingerprint, words }))
        });
        Ok(Self(kept.collect()))
    }

    pub(super) fn reply(&self, digest: &Digested, key: &IdempotencyKey) -> Option<Reply> {
        let kept = self.0.get(digest)?;
        Some(match (kept.fingerprint == key.fingerprint, &kept.words) {
            (true, Words::Answer(answer) | Words::Closing(answer)) => Reply::Replayed(answer.clone()),
            (true, Words::Open(booking)) => Reply::Open { booking: *booking },
            (false, _) => Reply::KeyReused,
        })
    }

    pub(super) fn add(&mut self, kept: Kept) {
        self.0.insert(kept.key, kept);
    }
}

/// Drops at most `limit` answers from before `at_ms`.
pub(super) async fn forget(session: &Session, at_ms: i64, limit: i64) -> Result<u64, Trouble> {
    session.change(&FORGET, &[&at_ms, &limit]).await
}
