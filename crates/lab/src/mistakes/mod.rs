//! The ways in which real shops sell a thing twice, or refuse what they have: one file a mistake, each with the mistake
//! in words and why it fails.
//!
//! A [`Way`] is how a shop takes what a buyer wants; the [`Counter`] around it is the rest of the shop, the same for all
//! of them: a small schema as the articles have it (`seats` with what is left, `bookings` with who has what), plain SQL
//! and plain Redis. Nothing of the engine is used, and nothing is rigged: a mistake's schedule brings about the moment at
//! which it matters (buyers at once, somebody slow, somebody late), and what comes of it is the checker's to say.

mod counter;
mod decr_without_compensation;
mod del_without_owner_check;
mod expiry_by_sweeper_only;
mod for_update_on_absent_rows;
mod holder_in_unique_key;
mod lock_released_before_commit;
mod naive;
mod null_in_unique_key;
#[cfg(test)]
mod tests;
mod till;

use std::{fmt, time::Duration};

use async_trait::async_trait;
use holdfast_checker::Evidence;

pub(crate) use counter::Counter;
pub(crate) use naive::{Constrained, Naive};
pub(crate) use till::Place;
use till::Till;

use crate::{
    Scenario,
    schedule::{Schedule, Size},
    shop::{AskAbout, AskHold, Steps},
};

/// How a shop takes what somebody wants.
#[async_trait]
pub(crate) trait Way: Send + Sync + fmt::Debug {
    /// The name of its row in the report.
    fn name(&self) -> &'static str;

    fn needs_redis(&self) -> bool {
        false
    }

    /// What is sold how to whom, so that the mistake matters.
    fn schedule(&self, buyers: u32, seed: u64) -> Schedule {
        Schedule::of(Scenario::OneSeat, buyers, seed, NO_SIZE)
    }

    /// Which scenario that is, for the report.
    fn scenario(&self) -> Scenario {
        Scenario::OneSeat
    }

    /// The scenario as a report calls it: arranged so that the mistake matters.
    fn row(&self) -> String {
        format!("mistake_{}", self.scenario())
    }

    fn evidence(&self, buyers: u32) -> Evidence {
        self.scenario().evidence(buyers)
    }

    /// Beyond the tables that all of them have.
    fn constraints(&self) -> &'static str {
        ""
    }

    /// Before the doors open.
    async fn open(&self, _till: &Till, _stock: u32) -> Result<(), Fault> {
        Ok(())
    }

    /// Takes all of it: the booking is written, or somebody else's is in the way.
    async fn take(&self, till: &Till, ask: &AskHold, steps: &mut Steps) -> Result<Took, Fault>;

    /// Makes it permanent; whether it was still the buyer's.
    async fn confirm(&self, till: &Till, ask: &AskAbout) -> Result<bool, Fault> {
        till.confirm_while_it_lasts(ask).await
    }

    /// Who refused what this way would have sold twice, as far as it met them.
    fn saved_by(&self) -> Option<String> {
        None
    }
}

/// Every mistake that has a row of its own.
pub(crate) fn every() -> Vec<Box<dyn Way>> {
    vec![
        Box::new(Constrained::default()),
        Box::new(lock_released_before_commit::LockReleasedBeforeCommit),
        Box::new(holder_in_unique_key::HolderInUniqueKey),
        Box::new(for_update_on_absent_rows::ForUpdateOnAbsentRows),
        Box::new(null_in_unique_key::NullInUniqueKey),
        Box::new(del_without_owner_check::DelWithoutOwnerCheck::default()),
        Box::new(decr_without_compensation::DecrWithoutCompensation),
        Box::new(expiry_by_sweeper_only::ExpiryBySweeperOnly),
    ]
}

/// Whether it came to a booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Took {
    /// Held until then, in microseconds.
    Held {
        expires_at: i64,
    },
    Taken,
    /// Left without having asked the database for anything.
    GaveUp,
}

/// The database or Redis said no, or nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Address(#[from] holdfast_engine::ledger::postgres::BadAddress),
    #[error(transparent)]
    Sql(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Pool(#[from] deadpool_postgres::PoolError),
    #[error(transparent)]
    Redis(#[from] redis::RedisError),
}

/// The scenarios of the mistakes have one size.
const NO_SIZE: Size = Size { visits: 1, rate_per_s: 1.0, open_for: Duration::ZERO };

/// What an application does between its reading and its writing: prices, mails, a template. It differs from buyer to
/// buyer, by the number of the request and not by dice, so that one schedule is one behaviour.
fn thinking(hold: u32) -> Duration {
    Duration::from_micros(1000 + u64::from(hold).wrapping_mul(0x9e37_79b9) % 2000)
}
