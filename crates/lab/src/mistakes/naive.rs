//! **Look whether it is free, then take it.** Between the looking and the taking others look too, and everybody who saw it
//! free takes it. Nothing in the database knows that there was a question.
//!
//! [`Constrained`] is the same code before a unique index on the live bookings of a seat. The code is as wrong as before;
//! the index refuses what the code would have sold twice, and is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;

use super::{Fault, Took, Way, thinking, till::Till};
use crate::{
    report::model::Phase,
    shop::{AskHold, Steps},
};

#[derive(Debug)]
pub(crate) struct Naive;

#[async_trait]
impl Way for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        look_then_take(till, ask, steps).await
    }
}

#[derive(Debug, Default)]
pub(crate) struct Constrained {
    saved: AtomicU64,
}

#[async_trait]
impl Way for Constrained {
    fn name(&self) -> &'static str {
        "naive_with_constraint"
    }

    fn constraints(&self) -> &'static str {
        "CREATE UNIQUE INDEX one_live_booking ON bookings (seat) WHERE status IN ('held', 'confirmed');"
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let took = look_then_take(till, ask, steps).await;
        if let Err(Fault::Sql(error)) = &took
            && error.code() == Some(&SqlState::UNIQUE_VIOLATION)
        {
            self.saved.fetch_add(1, Ordering::Relaxed);
        }
        took
    }

    fn saved_by(&self) -> Option<String> {
        let saved = self.saved.load(Ordering::Relaxed);
        (saved > 0).then(|| format!("the unique index one_live_booking, which refused {saved} second sales"))
    }
}

/// Unit by unit in one order, so that what shows is the race and not a deadlock.
async fn look_then_take(till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
    let ask = &ask.sorted();
    let client = steps.during(Phase::Wait, till.client()).await?;
    let left = steps.during(Phase::Read, till.left(&client, ask)).await?;
    if left.iter().zip(&ask.claims).any(|(left, claim)| *left < claim.qty as i32) {
        return Ok(Took::Taken);
    }
    steps.during(Phase::Think, sleep(thinking(ask.hold))).await;
    let wrote = steps
        .during(Phase::Write, async {
            client.batch_execute("BEGIN").await?;
            till.set_left(&client, ask, &left).await?;
            till.insert(&client, ask).await
        })
        .await;
    match wrote {
        Ok(expires_at) => {
            steps.during(Phase::Commit, client.batch_execute("COMMIT")).await?;
            Ok(Took::Held { expires_at })
        }
        Err(fault) => {
            client.batch_execute("ROLLBACK").await?;
            Err(fault)
        }
    }
}
