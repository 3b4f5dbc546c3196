//! The journal on the wire.

use holdfast_domain::Moment;
use holdfast_engine::ledger::JournalRecord;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Shown, schema};

/// One change of state, and its place in the hash chain.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JournalEntry<'a> {
    /// Entries are numbered from 1 without gaps.
    #[schema(minimum = 1)]
    seq: u64,
    #[schema(value_type = schema::Time)]
    at: Shown<Moment>,
    /// `key:<prefix>`, `session:<holder>` or `system`.
    actor: &'a str,
    kind: &'a str,
    offer: Option<&'a str>,
    units: &'a [String],
    hold: Option<&'a str>,
    booking: Option<&'a str>,
    before: Option<&'a str>,
    after: Option<&'a str>,
    /// Of this entry and the chain before it, in hexadecimal.
    hash: &'a str,
}

impl<'a> JournalEntry<'a> {
    pub(crate) fn of(record: &'a JournalRecord) -> Self {
        Self {
            seq: record.seq,
            at: Shown(record.at),
            actor: &record.actor,
            kind: &record.kind,
            offer: record.offer.as_deref(),
            units: &record.units,
            hold: record.hold.as_deref(),
            booking: record.booking.as_deref(),
            before: record.before.as_deref(),
            after: record.after.as_deref(),
            hash: &record.hash,
        }
    }
}
