//! `pessimistic`: lock the rows, then look, then write.
//!
//! Locking rule: every row of the request in the order of its key, in one statement. Whoever comes second waits for
//! the first to commit, and then sees what the first has done. Nobody loses a race; everybody queues for it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use tokio_postgres::types::Type;

use super::{Claim, Seen};
use crate::ledger::postgres::{
    effects::{Effects, UnitKey},
    session::{Session, Sql, Trouble},
    write::Done,
};

/// The sort is below the locking, so rows are locked in this order.
const LOCK: Sql = Sql {
    text: "SELECT u.unit_no FROM holdfast.units u
           JOIN unnest($1::text[], $2::bigint[]) AS t(offer_id, unit_no)
             ON u.offer_id = t.offer_id AND u.unit_no = t.unit_no
           ORDER BY u.offer_id, u.unit_no FOR UPDATE OF u",
    types: &[Type::TEXT_ARRAY, Type::INT8_ARRAY],
};

#[derive(Debug)]
pub(super) struct Pessimistic;

#[async_trait]
impl Claim for Pessimistic {
    async fn before(&self, session: &Session, units: &BTreeSet<UnitKey>) -> Result<Seen, Trouble> {
        if !units.is_empty() {
            let offers: Vec<_> = units.iter().map(|(offer, _)| offer.as_str()).collect();
            let numbers: Vec<_> = units.iter().map(|(_, unit)| i64::from(*unit)).collect();
            session.rows(&LOCK, &[&offers, &numbers]).await?;
        }
        Ok(Seen::default())
    }

    async fn take(&self, _: &Session, _: &Effects, _: &Seen) -> Result<Done, Trouble> {
        Ok(Done::default())
    }
}
