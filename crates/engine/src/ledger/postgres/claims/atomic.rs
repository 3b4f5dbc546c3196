//! `atomic`: no look before the leap. One guarded `UPDATE` a unit, and the row itself says whether there was room.
//!
//! Locking rule: unit by unit in the order of the key. An `UPDATE` that waited for somebody else checks its guard
//! again on the row as that one left it, so nothing is decided on what used to be. (That holds for what is in the row.
//! It does not hold for the clock: a hold's expiry is therefore decided after the hold's row is locked.)

use std::collections::BTreeSet;

use async_trait::async_trait;
use tokio_postgres::types::Type;

use super::{Claim, Seen};
use crate::ledger::postgres::{
    effects::{Effects, UnitKey},
    session::{Session, Sql, Trouble},
    write::Done,
};

const TAKE: Sql = Sql {
    text: "UPDATE holdfast.units
           SET held = held + $3, booked = booked + $4, fence = fence + $5
           WHERE offer_id = $1 AND unit_no = $2
             AND ($3 + $4 <= 0 OR (NOT blocked AND held + $3 + booked + $4 <= capacity))",
    types: &[Type::TEXT, Type::INT8, Type::INT8, Type::INT8, Type::INT8],
};

#[derive(Debug)]
pub(super) struct Atomic;

#[async_trait]
impl Claim for Atomic {
    async fn before(&self, _: &Session, _: &BTreeSet<UnitKey>) -> Result<Seen, Trouble> {
        Ok(Seen::default())
    }

    async fn take(&self, session: &Session, effects: &Effects, _: &Seen) -> Result<Done, Trouble> {
        take(session, effects).await?;
        Ok(Done { units: true, claims: false })
    }
}

/// The guarded updates, which other ways of claiming lean on for what is counted.
pub(super) async fn take(session: &Session, effects: &Effects) -> Result<(), Trouble> {
    for ((offer, unit), change) in &effects.units {
        let (offer, unit) = (offer.as_str(), i64::from(*unit));
        let taken =
            session.change(&TAKE, &[&offer, &unit, &change.held, &change.booked, &change.times]).await?;
        if taken == 0 {
            return Err(Trouble::lost("somebody else has the unit"));
        }
    }
    Ok(())
}
