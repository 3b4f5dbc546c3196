//! The words that are given to each idempotency key: kept with the effect they describe, and found again.

use std::collections::HashMap;

use bytes::Bytes;
use holdfast_domain::{BookingId, Moment};
use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;

use super::{
    session::{Args, Session, Sql, Trouble},
    write::{all, sparse},
};
use crate::ledger::{Answer, IdempotencyKey, Reply};

pub(super) const FIND: Sql = Sql {
    text: "SELECT key, fingerprint, status, body, booking_id FROM holdfast.answers WHERE key = ANY($1)",
    types: &[Type::BYTEA_ARRAY],
};
const FORGET: Sql = Sql {
    text: "DELETE FROM holdfast.answers WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM holdfast.answers WHERE at < holdfast.at($1) LIMIT $2))",
    types: &[Type::INT8, Type::INT8],
};

const INSERT_ANSWERS: Sql = Sql {
    text: "INSERT INTO holdfast.answers (key, fingerprint, status, body, at, booking_id)
           SELECT key, fingerprint, status, body, holdfast.at($5), booking_id
           FROM unnest($1::bytea[], $2::bytea[], $3::smallint[], $4::bytea[], $6::text[])
                AS t(key, fingerprint, status, body, booking_id)",
    types: &[
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT2_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8,
        Type::TEXT_ARRAY,
    ],
};
/// The first words that an open key is given are the ones that count.
const CLOSE_ANSWER: Sql = Sql {
    text: "UPDATE holdfast.answers SET status = $2, body = $3, booking_id = NULL
           WHERE key = $1 AND booking_id IS NOT NULL",
    types: &[Type::BYTEA, Type::INT2, Type::BYTEA],
};
pub(super) type Digested = [u8; 32];

/// The name under which an answer is kept: a caller's key, and whose it is.
pub(super) fn digest(key: &IdempotencyKey) -> Digested {
    Sha256::new().chain_update(&key.scope).chain_update([0]).chain_update(&key.key).finalize().into()
}

/// An answer to be kept with the effect it describes.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) key: [u8; 32],
    pub(super) fingerprint: [u8; 32],
    pub(super) words: Words,
}

/// What is kept under a key.
#[derive(Debug, Clone)]
pub(super) enum Words {
    Answer(Answer),
    /// None yet, and the payment that will have them.
    Open(BookingId),
    /// Those of a key that was open.
    Closing(Answer),
}

impl Words {
    /// The answer, if there is one, and otherwise what stands in its place.
    fn columns(&self) -> (i16, &[u8], Option<String>) {
        match self {
            Self::Answer(answer) | Self::Closing(answer) => (answer.status as i16, &answer.body, None),
            Self::Open(booking) => (0, &[], Some(booking.to_string())),
        }
    }
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

    pub(super) fn has(&self, digest: &Digested) -> bool {
        self.0.contains_key(digest)
    }

    pub(super) fn add(&mut self, kept: Kept) {
        self.0.insert(kept.key, kept);
    }
}

/// Writes these down in the open transaction.
pub(super) async fn put(session: &Session, kept: &[Kept], now: Moment) -> Result<(), Trouble> {
    let (closing, new): (Vec<&Kept>, Vec<&Kept>) =
        kept.iter().partition(|kept| matches!(kept.words, Words::Closing(_)));
    if !new.is_empty() {
        let keys: Vec<&[u8]> = new.iter().map(|kept| &kept.key[..]).collect();
        let fingerprints: Vec<&[u8]> = new.iter().map(|kept| &kept.fingerprint[..]).collect();
        let statuses: Vec<_> = new.iter().map(|kept| kept.words.columns().0).collect();
        let bodies: Vec<&[u8]> = new.iter().map(|kept| kept.words.columns().1).collect();
        let bookings = sparse(new.iter().map(|kept| kept.words.columns().2));
        let args: Args<'_> = &[&keys, &fingerprints, &statuses, &bodies, &now.ms(), &bookings];
        session.change(&INSERT_ANSWERS, args).await?;
    }
    for kept in closing {
        let (status, body, _) = kept.words.columns();
        let closed = session.change(&CLOSE_ANSWER, &[&&kept.key[..], &status, &body]).await?;
        all(closed, 1, "somebody else gave the key its words")?;
    }
    Ok(())
}

/// Drops at most `limit` answers from before `at_ms`.
pub(super) async fn forget(session: &Session, at_ms: i64, limit: i64) -> Result<u64, Trouble> {
    session.change(&FORGET, &[&at_ms, &limit]).await
}
