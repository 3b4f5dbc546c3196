//! `unique`: insert the claim, and let the unique index say whether the seat is taken.
//!
//! Locking rule: claims in the order of the key, in one statement. An insert that meets another's uncommitted claim
//! waits for it; `ON CONFLICT DO NOTHING` then inserts fewer rows than were asked for, which is the no. The index
//! covers what has a capacity of one; what is counted is guarded in its row, as `atomic` does.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::{Claim, Seen, atomic};
use crate::ledger::postgres::{
    effects::{Effects, UnitKey},
    session::{Session, Trouble},
    write::{self, Done},
};

#[derive(Debug)]
pub(super) struct Unique;

#[async_trait]
impl Claim for Unique {
    async fn before(&self, _: &Session, _: &BTreeSet<UnitKey>) -> Result<Seen, Trouble> {
        Ok(Seen::default())
    }

    async fn take(&self, session: &Session, effects: &Effects, _: &Seen) -> Result<Done, Trouble> {
        write::delete_claims(session, effects).await?;
        write::try_claims(session, effects).await?;
        atomic::take(session, effects).await?;
        Ok(Done { units: true, claims: true })
    }
}
