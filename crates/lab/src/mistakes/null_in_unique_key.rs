//! **`NULL` in a unique key.** A key on (seat, cancelled_at) looks as if it let a seat be sold again after a cancellation
//! and only then. In SQL one `NULL` is not equal to another, so rows that are not cancelled never conflict: the key
//! refuses nothing that matters. A partial index (`WHERE cancelled_at IS NULL`) or `NULLS NOT DISTINCT` would.

use async_trait::async_trait;

use super::{Fault, Took, Way, till::Till};
use crate::{
    report::model::Phase,
    shop::{AskHold, Steps},
};

#[derive(Debug)]
pub(super) struct NullInUniqueKey;

#[async_trait]
impl Way for NullInUniqueKey {
    fn name(&self) -> &'static str {
        "null_in_unique_key"
    }

    fn constraints(&self) -> &'static str {
        "CREATE UNIQUE INDEX one_booking ON bookings (seat, cancelled_at);"
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let client = steps.during(Phase::Wait, till.client()).await?;
        let expires_at = steps.during(Phase::Write, till.insert(&client, ask)).await?;
        Ok(Took::Held { expires_at })
    }
}
