//! `cas`: remember the unit's fence, decide, and write only if the fence is still the same.
//!
//! Locking rule: none before the write; the writes go unit by unit in the order of the key. Whoever finds another
//! fence has decided on the past and begins again. This is also what makes a lock in Redis harmless when it is lost:
//! the late owner's fence is old.

use std::collections::BTreeSet;

use async_trait::async_trait;
use holdfast_domain::{OfferId, UnitNo};
use tokio_postgres::types::Type;

use super::{Claim, Seen};
use crate::ledger::postgres::{
    effects::{Effects, UnitKey},
    session::{Session, Sql, Trouble},
    write::Done,
};

const LOOK: Sql = Sql {
    text: "SELECT t.at - 1, u.fence FROM holdfast.units u
           JOIN unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS t(offer_id, unit_no, at)
             ON u.offer_id = t.offer_id AND u.unit_no = t.unit_no",
    types: &[Type::TEXT_ARRAY, Type::INT8_ARRAY],
};
const SWAP: Sql = Sql {
    text: "UPDATE holdfast.units
           SET held = held + $3, booked = booked + $4, fence = fence + $5
           WHERE offer_id = $1 AND unit_no = $2 AND fence = $6",
    types: &[Type::TEXT, Type::INT8, Type::INT8, Type::INT8, Type::INT8, Type::INT8],
};

#[derive(Debug)]
pub(super) struct Cas;

#[async_trait]
impl Claim for Cas {
    async fn before(&self, session: &Session, units: &BTreeSet<UnitKey>) -> Result<Seen, Trouble> {
        let keys: Vec<&(OfferId, UnitNo)> = units.iter().collect();
        let offers: Vec<_> = keys.iter().map(|(offer, _)| offer.as_str()).collect();
        let numbers: Vec<_> = keys.iter().map(|(_, unit)| i64::from(*unit)).collect();
        let found = session.rows(&LOOK, &[&offers, &numbers]).await?;
        let fence = |row: &tokio_postgres::Row| (keys[row.get::<_, i64>(0) as usize].clone(), row.get(1));
        Ok(Seen(found.iter().map(fence).collect()))
    }

    async fn take(&self, session: &Session, effects: &Effects, seen: &Seen) -> Result<Done, Trouble> {
        for (key, change) in &effects.units {
            let (offer, unit) = (key.0.as_str(), i64::from(key.1));
            let fence = seen.0.get(key).copied().unwrap_or_default();
            let args: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
                &[&offer, &unit, &change.held, &change.booked, &change.times, &fence];
            if session.change(&SWAP, args).await? == 0 {
                return Err(Trouble::lost("the unit has changed since it was looked at"));
            }
        }
        Ok(Done { units: true, claims: false })
    }
}
