//! **`DEL` without a look at the owner.** A lock with a time to live runs out under a holder who was slow (a pause of the
//! collector, a busy machine). The next buyer takes the lock, lawfully. Then the slow one comes to its end and deletes
//! "its" lock, which is the other's by now, and a third buyer is let in beside the second. Neither of the two was slow,
//! and both sell the seat.
//!
//! The slow one itself takes nothing here: what shows is what its `DEL` does to others. (That it might write after its
//! lock has run out is another failure, the missing fence.)

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::sleep;

use super::{Fault, Took, Way, till::Till};
use crate::{
    report::model::Phase,
    shop::{AskHold, Steps},
};

#[derive(Debug, Default)]
pub(super) struct DelWithoutOwnerCheck {
    /// Somebody has been slow already.
    slow: AtomicBool,
}

const LOCK: &str = "seat-lock";
const LIVE: Duration = Duration::from_millis(800);
/// Longer than the lock lives, and shorter than its life and the work of the next one: by far enough either way that a
/// busy machine does not hide it.
const PAUSE: Duration = Duration::from_millis(1_100);
/// From reading to writing, within a lock's life.
const WORK: Duration = Duration::from_millis(600);

#[async_trait]
impl Way for DelWithoutOwnerCheck {
    fn name(&self) -> &'static str {
        "del_without_owner_check"
    }

    fn needs_redis(&self) -> bool {
        true
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        if !steps.during(Phase::Wait, till.lock(LOCK, ask.hold, LIVE)).await? {
            return Ok(Took::GaveUp);
        }
        if !self.slow.swap(true, Ordering::SeqCst) {
            steps.during(Phase::Think, sleep(PAUSE)).await;
            delete(till).await?;
            return Ok(Took::GaveUp);
        }
        let took = sell(till, ask, steps).await;
        delete(till).await?;
        took
    }
}

/// What the lock is there to protect: look, work, take.
async fn sell(till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
    let client = till.client().await?;
    let left = steps.during(Phase::Read, till.left(&client, ask)).await?;
    if left[0] < 1 {
        return Ok(Took::Taken);
    }
    steps.during(Phase::Think, sleep(WORK)).await;
    client.batch_execute("BEGIN").await?;
    let expires_at = steps
        .during(Phase::Write, async {
            till.set_left(&client, ask, &left).await?;
            till.insert(&client, ask).await
        })
        .await?;
    steps.during(Phase::Commit, client.batch_execute("COMMIT")).await?;
    Ok(Took::Held { expires_at })
}

/// The mistake: whoever's lock it is.
async fn delete(till: &Till) -> Result<(), Fault> {
    let mut redis = till.redis();
    Ok(redis::cmd("DEL").arg(till.key(LOCK)).query_async(&mut redis).await?)
}
