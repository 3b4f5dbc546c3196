//! **The holder inside the unique key.** A key on (seat, holder) keeps one person from booking a seat twice. It was meant
//! to keep two persons from booking it: for the index, two holders are two different things, and every `INSERT … ON
//! CONFLICT DO NOTHING` finds no conflict.

use async_trait::async_trait;

use super::{Fault, Took, Way, till::Till};
use crate::{
    report::model::Phase,
    shop::{AskHold, Steps},
};

#[derive(Debug)]
pub(super) struct HolderInUniqueKey;

#[async_trait]
impl Way for HolderInUniqueKey {
    fn name(&self) -> &'static str {
        "holder_in_unique_key"
    }

    fn constraints(&self) -> &'static str {
        "CREATE UNIQUE INDEX one_booking ON bookings (seat, holder) WHERE status IN ('held', 'confirmed');"
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let client = steps.during(Phase::Wait, till.client()).await?;
        let expires_at = steps.during(Phase::Write, till.insert(&client, ask)).await?;
        Ok(Took::Held { expires_at })
    }
}
