//! **A lock that is released before the transaction commits.** The usual shape: a `finally` inside the transaction's
//! block, or a lock taken by a function that the transaction calls. The next buyer has the lock and reads; what the first
//! one writes is not committed, so it reads the seat as free, and both sell it.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;

use super::{Fault, Took, Way, till::Till};
use crate::{
    report::model::Phase,
    shop::{AskHold, Steps},
};

#[derive(Debug)]
pub(super) struct LockReleasedBeforeCommit;

const LOCK: &str = "seat-lock";
const LIVE: Duration = Duration::from_secs(10);
/// What the transaction still waits for before it commits: a mail is sent, a card is asked. Long against the millisecond
/// after which the next buyer tries for the lock, on a busy machine too.
const UNCOMMITTED: Duration = Duration::from_millis(300);

#[async_trait]
impl Way for LockReleasedBeforeCommit {
    fn name(&self) -> &'static str {
        "lock_released_before_commit"
    }

    fn needs_redis(&self) -> bool {
        true
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let client = steps.during(Phase::Wait, till.client()).await?;
        if !steps.during(Phase::Wait, till.lock(LOCK, ask.hold, LIVE)).await? {
            return Ok(Took::GaveUp);
        }
        client.batch_execute("BEGIN").await?;
        let left = steps.during(Phase::Read, till.left(&client, ask)).await?;
        if left[0] < 1 {
            till.unlock(LOCK, ask.hold).await?;
            client.batch_execute("ROLLBACK").await?;
            return Ok(Took::Taken);
        }
        // The order of these two is the mistake: others may read before this is committed.
        till.unlock(LOCK, ask.hold).await?;
        steps.during(Phase::Think, sleep(UNCOMMITTED)).await;
        let expires_at = steps
            .during(Phase::Write, async {
                till.set_left(&client, ask, &left).await?;
                till.insert(&client, ask).await
            })
            .await?;
        steps.during(Phase::Commit, client.batch_execute("COMMIT")).await?;
        Ok(Took::Held { expires_at })
    }
}
