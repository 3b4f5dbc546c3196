//! **`DECRBY` without giving back.** The counter in Redis goes down before the answer is known. Somebody who wanted more
//! than was left is refused, and the counter stays below: what was never sold is gone. From then on buyers are refused
//! what lies on the shelf.

use std::time::Duration;

use async_trait::async_trait;
use holdfast_checker::{Evidence, history::Claim};

use super::{Fault, NO_SIZE, Took, Way, till::Till};
use crate::{
    Scenario,
    report::model::Phase,
    schedule::{Goods, Schedule},
    shop::{AskHold, Steps},
};

#[derive(Debug)]
pub(super) struct DecrWithoutCompensation;

#[async_trait]
impl Way for DecrWithoutCompensation {
    fn name(&self) -> &'static str {
        "decr_without_compensation"
    }

    fn needs_redis(&self) -> bool {
        true
    }

    fn scenario(&self) -> Scenario {
        Scenario::HotStock
    }

    /// An odd number of things. Everybody wants two, so that in the end somebody wants two of the last one; then
    /// everybody would be content with one.
    fn schedule(&self, buyers: u32, seed: u64) -> Schedule {
        let mut schedule = Schedule::of(Scenario::HotStock, buyers.max(2), seed, NO_SIZE);
        schedule.goods = Goods::Stock(buyers.max(2) | 1);
        for visits in &mut schedule.buyers {
            visits[0].claims = vec![Claim { unit: 0, qty: 2 }];
            visits[1].after = Duration::from_millis(500);
        }
        schedule
    }

    fn evidence(&self, _buyers: u32) -> Evidence {
        Evidence { win: true, conflict: true, expiry: false }
    }

    async fn open(&self, till: &Till, stock: u32) -> Result<(), Fault> {
        let mut redis = till.redis();
        Ok(redis::cmd("SET").arg(till.key("left")).arg(stock).query_async(&mut redis).await?)
    }

    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let mut redis = till.redis();
        let mut decr = redis::cmd("DECRBY");
        decr.arg(till.key("left")).arg(ask.claims[0].qty);
        let left: i64 = steps.during(Phase::Read, decr.query_async(&mut redis)).await?;
        if left < 0 {
            // The mistake: what was just taken off the counter is not put back.
            return Ok(Took::Taken);
        }
        let client = steps.during(Phase::Wait, till.client()).await?;
        let expires_at = steps.during(Phase::Write, till.insert(&client, ask)).await?;
        Ok(Took::Held { expires_at })
    }
}
