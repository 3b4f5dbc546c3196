//! The buyers: everybody walks through a schedule, and everything asked and answered is written down.

use std::{sync::Arc, time::Duration};

use holdfast_checker::{
    Call, History, Operation, Outcome,
    history::{Answer, HoldRef, Micros},
};
use parking_lot::Mutex;
use tokio::{
    sync::Barrier,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    report::model::Phase,
    schedule::{Schedule, Then, Visit},
    shop::{AskAbout, AskHold, Shop, ShopError, Steps, Told},
    watch::Watch,
};

/// How far the ledger's clock and the lab's may be apart, and how long a decision may take to be committed.
pub(crate) const TOLERANCE_US: Micros = 100_000;

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// On a scale that begins with the first question …
    pub history: History,
    /// … which was at this moment of the steps' own clock.
    pub zero: Micros,
    /// By visit: what its requests went through.
    pub steps: Vec<(u32, Steps)>,
}

#[derive(Debug)]
struct Crowd {
    shop: Arc<dyn Shop>,
    watch: Watch,
    operations: Mutex<Vec<Operation>>,
    steps: Mutex<Vec<(u32, Steps)>>,
}

/// Lets everybody in at once, waits until the last has gone, and looks into the store.
pub(crate) async fn serve(shop: Arc<dyn Shop>, schedule: &Schedule) -> Result<Recorded, ShopError> {
    Ok(serve_with(shop, schedule, std::future::ready(())).await?.0)
}

/// The same, with something going on beside it: `meanwhile` begins when the doors open.
pub(crate) async fn serve_with<T>(
    shop: Arc<dyn Shop>,
    schedule: &Schedule,
    meanwhile: impl Future<Output = T>,
) -> Result<(Recorded, T), ShopError> {
    let watch = Watch::start();
    let (operations, steps) = Default::default();
    let crowd = Arc::new(Crowd { shop, watch, operations, steps });
    let doors = Arc::new(Barrier::new(schedule.buyers.len() + 1));
    let open_loop = schedule.rate_per_s.is_some();
    let buyers = (0..).zip(schedule.buyers.clone()).map(|(buyer, visits)| {
        let (crowd, doors) = (Arc::clone(&crowd), Arc::clone(&doors));
        tokio::spawn(async move {
            doors.wait().await;
            if open_loop { crowd.arrive(buyer, visits).await } else { crowd.queue(buyer, visits).await }
        })
    });
    let buyers: Vec<_> = buyers.collect();
    doors.wait().await;
    let everybody = async {
        for buyer in buyers {
            buyer.await.map_err(ShopError::of)?;
        }
        Ok::<_, ShopError>(())
    };
    let (gone, came) = tokio::join!(everybody, meanwhile);
    gone?;
    let mut operations = std::mem::take(&mut *crowd.operations.lock());
    operations.sort_by_key(|operation| (operation.start, operation.end));
    let ending = crowd.shop.ending(&asked(&operations), &watch).await?;
    let units = schedule.goods.units();
    let history = History { tolerance_us: TOLERANCE_US, units, operations, ending: Some(ending) };
    let zero = history.operations.first().map_or(0, |first| first.start);
    let history = history.from_its_beginning();
    let steps = std::mem::take(&mut *crowd.steps.lock());
    Ok((Recorded { history, zero, steps }, came))
}

/// Every hold that was ever asked for.
fn asked(operations: &[Operation]) -> Vec<HoldRef> {
    let holds = operations.iter().filter_map(|operation| match operation.call {
        Call::Hold { hold, .. } => hold,
        _ => None,
    });
    holds.collect()
}

impl Crowd {
    /// A closed loop: the next visit waits for the end of the one before.
    async fn queue(self: Arc<Self>, buyer: u32, visits: Vec<Visit>) {
        for visit in visits {
            sleep(visit.after).await;
            let asked = self.watch.now_us();
            self.visit(buyer, &visit, asked).await;
        }
    }

    /// An open loop: requests come when they come. What a buyer waits before it is even heard counts, so the request
    /// begins when it was due.
    async fn arrive(self: Arc<Self>, buyer: u32, visits: Vec<Visit>) {
        let (began, opened) = (Instant::now(), self.watch.now_us());
        for visit in visits {
            sleep_until(began + visit.after).await;
            let due = opened + visit.after.as_micros() as Micros;
            self.visit(buyer, &visit, due.min(self.watch.now_us())).await;
        }
    }

    async fn visit(self: &Arc<Self>, buyer: u32, visit: &Visit, asked: Micros) {
        let mut steps = Steps::new(self.watch);
        let held = match visit.storm {
            false => self.ask_until_known(buyer, visit, asked, &mut steps).await,
            true => self.storm(buyer, visit).await,
        };
        if let Some(hold) = held {
            if visit.thinks > Duration::ZERO {
                steps.during(Phase::Think, sleep(visit.thinks)).await;
            }
            self.settle(buyer, visit, hold, &mut steps).await;
        }
        self.steps.lock().push((visit.holder, steps));
    }

    /// Again with the same key while nobody knows what came of it, as often as the visit may.
    async fn ask_until_known(
        &self,
        buyer: u32,
        visit: &Visit,
        asked: Micros,
        steps: &mut Steps,
    ) -> Option<HoldRef> {
        let mut start = asked;
        for sending in 0..visit.sends {
            match self.hold(buyer, visit, sending, start, steps).await {
                Outcome::Ok(Answer::Held { hold, .. }) => return Some(hold),
                Outcome::Unknown => start = self.watch.now_us(),
                _ => return None,
            }
        }
        None
    }

    async fn hold(
        &self,
        buyer: u32,
        visit: &Visit,
        sending: u32,
        start: Micros,
        steps: &mut Steps,
    ) -> Outcome {
        let key = (visit.sends > 1).then_some(visit.holder);
        let hold = visit.hold + sending;
        let ask =
            AskHold { buyer: buyer + sending, holder: visit.holder, hold, claims: visit.claims.clone(), key };
        let told = self.shop.hold(&ask, steps).await;
        let outcome = told.outcome.clone();
        let call = Call::Hold { holder: visit.holder, claims: ask.claims, key, hold: Some(hold) };
        self.note(buyer, start, call, told);
        outcome
    }

    /// All sendings at once, on one node or another. What any of them was told is the buyer's.
    async fn storm(self: &Arc<Self>, buyer: u32, visit: &Visit) -> Option<HoldRef> {
        let sending = |at: u32| {
            let (crowd, visit) = (Arc::clone(self), visit.clone());
            async move {
                let mut steps = Steps::new(crowd.watch);
                let start = crowd.watch.now_us();
                // Each sending is a process of its own: they do not wait for each other.
                crowd.hold(buyer * visit.sends + at, &visit, at, start, &mut steps).await
            }
        };
        let told = futures::future::join_all((0..visit.sends).map(sending)).await;
        told.into_iter().find_map(|outcome| match outcome {
            Outcome::Ok(Answer::Held { hold, .. }) => Some(hold),
            _ => None,
        })
    }

    async fn settle(&self, buyer: u32, visit: &Visit, hold: HoldRef, steps: &mut Steps) {
        let ask = AskAbout { buyer, holder: visit.holder, hold };
        let start = self.watch.now_us();
        let (call, told) = match visit.then {
            Then::Abandon => return,
            Then::Confirm => (Call::Confirm { hold, key: None }, self.shop.confirm(&ask, steps).await),
            Then::Release => (Call::Release { hold }, self.shop.release(&ask, steps).await),
        };
        self.note(buyer, start, call, told);
    }

    fn note(&self, process: u32, start: Micros, call: Call, told: Told) {
        let end = self.watch.now_us().max(start);
        let Told { outcome, version } = told;
        self.operations.lock().push(Operation { process, start, end, call, outcome, version });
    }
}
