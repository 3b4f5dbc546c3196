//! **Expiry by the sweeper only.** A hold has an end, but nobody looks at it except a job that comes now and then and sets
//! what has ended to `expired`. Between the end and the job's next round the hold is neither alive nor dead: its holder
//! confirms it long after its time, and others are refused a seat that nobody has.

use async_trait::async_trait;
use holdfast_checker::Evidence;

use super::{Fault, Took, Way, till::Till};
use crate::{
    Scenario,
    report::model::Phase,
    schedule::{Schedule, Then},
    shop::{AskAbout, AskHold, Steps},
};

#[derive(Debug)]
pub(super) struct ExpiryBySweeperOnly;

#[async_trait]
impl Way for ExpiryBySweeperOnly {
    fn name(&self) -> &'static str {
        "expiry_by_sweeper_only"
    }

    fn scenario(&self) -> Scenario {
        Scenario::HoldThinkPay
    }

    /// One seat and a hold of a second; whoever gets it pays half a second too late. The sweeper comes every minute, so
    /// not at all within this run.
    fn schedule(&self, buyers: u32, seed: u64) -> Schedule {
        let mut schedule = Schedule::of(Scenario::OneSeat, buyers, seed, super::NO_SIZE);
        schedule.hold_ttl_s = 1;
        for visit in schedule.buyers.iter_mut().flatten() {
            (visit.thinks, visit.then) = (std::time::Duration::from_millis(1500), Then::Confirm);
        }
        schedule
    }

    fn evidence(&self, buyers: u32) -> Evidence {
        Evidence { win: true, conflict: buyers > 1, expiry: false }
    }

    /// Taking is one statement and sells nothing twice; what has ended counts as taken all the same.
    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault> {
        let client = steps.during(Phase::Wait, till.client()).await?;
        let claim = &ask.claims[0];
        let update = client
            .prepare_cached("UPDATE seats SET left_over = left_over - $2 WHERE seat = $1 AND left_over >= $2")
            .await?;
        client.batch_execute("BEGIN").await?;
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&(claim.unit as i32), &(claim.qty as i32)];
        if steps.during(Phase::Write, client.execute(&update, &parameters)).await? == 0 {
            client.batch_execute("ROLLBACK").await?;
            return Ok(Took::Taken);
        }
        let expires_at = steps.during(Phase::Write, till.insert(&client, ask)).await?;
        steps.during(Phase::Commit, client.batch_execute("COMMIT")).await?;
        Ok(Took::Held { expires_at })
    }

    /// The mistake: `held` is believed, whatever the time.
    async fn confirm(&self, till: &Till, ask: &AskAbout) -> Result<bool, Fault> {
        till.confirm_where(ask, "").await
    }
}
