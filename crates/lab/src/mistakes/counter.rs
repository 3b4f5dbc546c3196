//! A shop around a mistaken way of taking things.

use std::sync::Arc;

use async_trait::async_trait;
use holdfast_checker::{
    Outcome,
    history::{Answer, Ending, HoldRef, Reason},
};
use tokio_postgres::error::SqlState;

use super::{
    Fault, Took, Way,
    till::{Place, Till},
};
use crate::{
    report::model::Phase,
    schedule::Schedule,
    shop::{AskAbout, AskHold, Shop, ShopError, Steps, Told},
    watch::Watch,
};

#[derive(Debug)]
pub(crate) struct Counter {
    way: Arc<dyn Way>,
    till: Till,
}

impl Counter {
    pub(crate) async fn open(
        way: Arc<dyn Way>,
        place: &Place<'_>,
        schedule: &Schedule,
    ) -> Result<Self, ShopError> {
        let units: Vec<u32> = schedule.goods.units().iter().map(|unit| unit.capacity).collect();
        let ttl = std::time::Duration::from_secs(schedule.hold_ttl_s.into());
        let till = Till::open(place, way.constraints(), &units, ttl).await.map_err(ShopError::of)?;
        way.open(&till, units[0]).await.map_err(ShopError::of)?;
        Ok(Self { way, till })
    }
}

/// What an error leaves a buyer with. A statement that PostgreSQL refused had no effect; a connection that broke says
/// nothing about what it was asked.
fn failed(fault: &Fault) -> Outcome {
    match fault {
        Fault::Sql(error) if error.code().is_some() => {
            Outcome::Fail(Reason::Other(error.code().map_or("error", SqlState::code).to_owned()))
        }
        Fault::Sql(_) => Outcome::Unknown,
        Fault::Address(_) | Fault::Pool(_) | Fault::Redis(_) => {
            Outcome::Fail(Reason::Other("unavailable".to_owned()))
        }
    }
}

#[async_trait]
impl Shop for Counter {
    async fn hold(&self, ask: &AskHold, steps: &mut Steps) -> Told {
        let taken = || Outcome::Fail(Reason::Taken(ask.claims.iter().map(|claim| claim.unit).collect()));
        let outcome = match self.way.take(&self.till, ask, steps).await {
            Ok(Took::Held { expires_at }) => Outcome::Ok(Answer::Held {
                hold: ask.hold,
                holder: ask.holder,
                claims: ask.claims.clone(),
                expires_at,
                again: false,
            }),
            Ok(Took::Taken) => taken(),
            Ok(Took::GaveUp) => Outcome::Fail(Reason::Other("gave_up".to_owned())),
            Err(Fault::Sql(error)) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => taken(),
            Err(fault) => failed(&fault),
        };
        outcome.into()
    }

    async fn confirm(&self, ask: &AskAbout, steps: &mut Steps) -> Told {
        let outcome = match steps.during(Phase::Commit, self.way.confirm(&self.till, ask)).await {
            Ok(true) => Outcome::Ok(Answer::Confirmed { booking: ask.hold, holder: ask.holder }),
            Ok(false) => Outcome::Fail(Reason::Expired),
            Err(fault) => failed(&fault),
        };
        outcome.into()
    }

    async fn release(&self, ask: &AskAbout, steps: &mut Steps) -> Told {
        let outcome = match steps.during(Phase::Write, self.till.release(ask)).await {
            Ok(true) => Outcome::Ok(Answer::Released),
            Ok(false) => Outcome::Fail(Reason::Expired),
            Err(fault) => failed(&fault),
        };
        outcome.into()
    }

    async fn ending(&self, _asked: &[HoldRef], watch: &Watch) -> Result<Ending, ShopError> {
        self.till.ending(watch).await.map_err(ShopError::of)
    }

    fn saved_by(&self) -> Option<String> {
        self.way.saved_by()
    }
}
