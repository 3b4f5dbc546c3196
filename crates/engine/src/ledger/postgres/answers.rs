//! The words that are given to each idempotency key: kept with the effect they describe, and found again.

use std::collections::HashMap;

use bytes::Bytes;
use holdfast_domain::{BookingId, Moment};
use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;

use super::{
    parts::{Part, columns},
    session::{Session, Sql, Trouble},
    write::sparse,
};
use crate::ledger::{Answer, IdempotencyKey, Reply};

/// Each is looked for by itself: for a list of keys, PostgreSQL would keep to reading the table through, had it made its
/// plan while there were few.
pub(super) const FIND: Sql = Sql {
    text: "SELECT given.* FROM unnest($1::bytea[]) AS asked(key)
           CROSS JOIN LATERAL (SELECT key, fingerprint, status, body, booking_id FROM holdfast.answers
                               WHERE key = asked.key LIMIT 1) AS given",
    types: &[Type::BYTEA_ARRAY],
};
const FORGET: Sql = Sql {
    text: "DELETE FROM holdfast.answers WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM holdfast.answers WHERE at < holdfast.at($1) ORDER BY at LIMIT $2))",
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
const CLOSE_ANSWERS: Sql = Sql {
    text: "UPDATE holdfast.answers a SET status = t.status, body = t.body, booking_id = NULL
           FROM unnest($1::bytea[], $2::smallint[], $3::bytea[]) AS t(key, status, body)
           WHERE a.key = t.key AND a.booking_id IS NOT NULL",
    types: &[Type::BYTEA_ARRAY, Type::INT2_ARRAY, Type::BYTEA_ARRAY],
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

impl Kept {
    const fn is_closing(&self) -> bool {
        matches!(self.words, Words::Closing(_))
    }
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

    /// Adds what was remembered, unless more than that was found: a key that was open then may have its words by now.
    pub(super) fn recall(&mut self, kept: &Kept) {
        let found = self.0.entry(kept.key).or_insert_with(|| kept.clone());
        if matches!(found.words, Words::Open(_)) {
            *found = kept.clone();
        }
    }
}

/// The keys that are new, with their words.
pub(super) fn given(kept: &[Kept], now: Moment) -> Option<Part<'_>> {
    let new: Vec<&Kept> = kept.iter().filter(|kept| !kept.is_closing()).collect();
    let columns = columns![
        new.iter().map(|kept| &kept.key[..]).collect::<Vec<_>>(),
        new.iter().map(|kept| &kept.fingerprint[..]).collect::<Vec<_>>(),
        new.iter().map(|kept| kept.words.columns().0).collect::<Vec<_>>(),
        new.iter().map(|kept| kept.words.columns().1).collect::<Vec<_>>(),
        now.ms(),
        sparse(new.iter().map(|kept| kept.words.columns().2)),
    ];
    Part::inserting(new.len(), &INSERT_ANSWERS, columns)
}

/// The keys that were open, and have words now.
pub(super) fn closed(kept: &[Kept]) -> Option<Part<'_>> {
    let closing: Vec<&Kept> = kept.iter().filter(|kept| kept.is_closing()).collect();
    let columns = columns![
        closing.iter().map(|kept| &kept.key[..]).collect::<Vec<_>>(),
        closing.iter().map(|kept| kept.words.columns().0).collect::<Vec<_>>(),
        closing.iter().map(|kept| kept.words.columns().1).collect::<Vec<_>>(),
    ];
    Part::of(closing.len(), &CLOSE_ANSWERS, columns, "somebody else gave the key its words")
}

/// Drops at most `limit` answers from before `at_ms`.
pub(super) async fn forget(session: &Session, at_ms: i64, limit: i64) -> Result<u64, Trouble> {
    session.change(&FORGET, &[&at_ms, &limit]).await
}
