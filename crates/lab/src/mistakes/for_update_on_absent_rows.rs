//! **`SELECT … FOR UPDATE` on rows that are not there.** The shop keeps only bookings, no seats: "lock the seat's booking,
//! and if there is none, insert one". `FOR UPDATE` locks the rows it finds. While the seat is free it finds none, so it
//! locks nothing, and everybody inserts.

use async_trait::async_trait;
use tokio::time::sleep;

use super::{Fault, Took, Way, thinking, till::Till};
use crate::{
    report::model::Phase,
    shop::{AskHold, Steps},
};

#[derive(Debug)]
pub(super) struct ForUpdateOnAbsentRows;

#[async_trait]
impl Way for ForUpdateOnAbsentRows {
    fn name(&self) -> &'static str {
        "for_update_on_absent_rows"
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let client = steps.during(Phase::Wait, till.client()).await?;
        client.batch_execute("BEGIN").await?;
        let look = client
            .prepare_cached(
                "SELECT hold FROM bookings WHERE seat = $1 AND status IN ('held', 'confirmed') FOR UPDATE",
            )
            .await?;
        let seat = ask.claims[0].unit as i32;
        if !steps.during(Phase::Read, client.query(&look, &[&seat])).await?.is_empty() {
            client.batch_execute("ROLLBACK").await?;
            return Ok(Took::Taken);
        }
        steps.during(Phase::Think, sleep(thinking(ask.hold))).await;
        let expires_at = steps.during(Phase::Write, till.insert(&client, ask)).await?;
        steps.during(Phase::Commit, client.batch_execute("COMMIT")).await?;
        Ok(Took::Held { expires_at })
    }
}
