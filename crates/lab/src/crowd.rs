//! The buyers: everybody walks through a schedule, and everything asked and answered is written down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use holdfast_checker::{
    Call, History, Operation, Outcome,
    history::{Answer, HoldRef, Micros, Reason},
};
use parking_lot::Mutex;
use tokio::{
    sync::Barrier,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    report::model::Phase,
    schedule::{Again, Schedule, Then, Visit},
    shop::{AskAbout, AskHold, Shop, ShopError, Steps, Told},
    watch::Watch,
};

/// How far the ledger's clock and the lab's may be apart, and how long a decision may take to be committed.
pub(crate) const TOLERANCE_US: Micros = 100_000;

/// Longer than any schedule.
pub(crate) const NO_HURRY: Duration = Duration::from_secs(3600);
/// How long somebody who finds the shop away stays away, too.
const AWAY: Duration = Duration::from_millis(100);

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// On a scale that begins with the first question …
    pub history: History,
    /// … which was at this moment of the steps' own clock.
    pub zero: Micros,
    /// By visit: what its requests went through.
    pub steps: Vec<(u32, Steps)>,
    /// The doors closed before everybody had come as often as planned.
    pub cut: bool,
}

#[derive(Debug)]
struct Crowd {
    shop: Arc<dyn Shop>,
    watch: Watch,
    /// Nobody begins anything after this.
    closes: Instant,
    cut: AtomicBool,
    operations: Mutex<Vec<Operation>>,
    steps: Mutex<Vec<(u32, Steps)>>,
}

/// Lets everybody in at once, waits until the last has gone, and looks into the store. Everybody comes once; who would
/// come again when `within` is over does not.
pub(crate) async fn serve(
    shop: Arc<dyn Shop>,
    schedule: &Schedule,
    within: Duration,
) -> Result<Recorded, ShopError> {
    Ok(serve_with(shop, schedule, within, std::future::ready(())).await?.0)
}

/// The same, with something going on beside it: `meanwhile` begins when the doors open.
pub(crate) async fn serve_with<T>(
    shop: Arc<dyn Shop>,
    schedule: &Schedule,
    within: Duration,
    meanwhile: impl Future<Output = T>,
) -> Result<(Recorded, T), ShopError> {
    let watch = Watch::start();
    let (operations, steps, cut) = Default::default();
    let crowd = Arc::new(Crowd { shop, watch, closes: Instant::now() + within, cut, operations, steps });
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
    let cut = crowd.cut.load(Ordering::Relaxed);
    Ok((Recorded { history, zero, steps, cut }, came))
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
        for (at, visit) in visits.iter().enumerate() {
            sleep(visit.after).await;
            if at > 0 && self.has_closed() {
                return;
            }
            let asked = self.watch.now_us();
            self.visit(buyer, visit, asked).await;
        }
    }

    /// Whether it is too late to begin anything; whoever asks would have.
    fn has_closed(&self) -> bool {
        let closed = Instant::now() >= self.closes;
        self.cut.fetch_or(closed, Ordering::Relaxed);
        closed
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
        let held = match visit.again {
            Again::AtOnce => self.storm(buyer, visit).await,
            _ => self.ask(buyer, visit, asked, &mut steps).await,
        };
        if let Some(hold) = held {
            if visit.thinks > Duration::ZERO {
                steps.during(Phase::Think, sleep(visit.thinks)).await;
            }
            self.settle(buyer, visit, hold, &mut steps).await;
        }
        self.steps.lock().push((visit.holder, steps));
    }

    /// Asks for the hold, as often as the visit may.
    async fn ask(&self, buyer: u32, visit: &Visit, asked: Micros, steps: &mut Steps) -> Option<HoldRef> {
        let mut start = asked;
        let mut sendings = Sendings::of(visit);
        while let Some(sending) = sendings.next() {
            let outcome = self.hold(buyer, visit, sending, start, steps).await;
            if let Outcome::Ok(Answer::Held { hold, .. }) = outcome {
                return Some(hold);
            }
            self.before_another(visit, &mut sendings, &outcome, steps).await;
            start = self.watch.now_us();
        }
        None
    }

    /// Waits, if there is to be another sending after what this one came to.
    async fn before_another(
        &self,
        visit: &Visit,
        sendings: &mut Sendings,
        outcome: &Outcome,
        steps: &mut Steps,
    ) {
        if !sendings.again_after(visit.again, outcome) || visit.again == Again::WhenBusy && self.has_closed()
        {
            sendings.stop();
            if visit.again == Again::WhenInDoubt && is_away(outcome) {
                steps.during(Phase::Wait, sleep(AWAY)).await;
            }
            return;
        }
        steps.during(Phase::Wait, sleep(visit.pause_after(sendings.made - 1))).await;
    }

    async fn hold(
        &self,
        buyer: u32,
        visit: &Visit,
        sending: u32,
        start: Micros,
        steps: &mut Steps,
    ) -> Outcome {
        let key = visit.hold_key();
        let hold = if self.shop.names_holds() { visit.hold } else { visit.hold + sending };
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

    /// Confirms or gives back, as often as the visit may. Both may be asked for again without harm.
    async fn settle(&self, buyer: u32, visit: &Visit, hold: HoldRef, steps: &mut Steps) {
        let mut sendings = Sendings::of(visit);
        while let Some(sending) = sendings.next() {
            let key = visit.confirm_key();
            let ask = AskAbout { buyer: buyer + sending, holder: visit.holder, hold, key };
            let start = self.watch.now_us();
            let (call, told) = match visit.then {
                Then::Abandon => return,
                Then::Confirm => (Call::Confirm { hold, key }, self.shop.confirm(&ask, steps).await),
                Then::Release => (Call::Release { hold }, self.shop.release(&ask, steps).await),
            };
            let outcome = told.outcome.clone();
            self.note(buyer, start, call, told);
            self.before_another(visit, &mut sendings, &outcome, steps).await;
        }
    }

    fn note(&self, process: u32, start: Micros, call: Call, told: Told) {
        let end = self.watch.now_us().max(start);
        let Told { outcome, version } = told;
        self.operations.lock().push(Operation { process, start, end, call, outcome, version });
    }
}

/// How often one request has been sent, and whether it will be once more.
#[derive(Debug)]
struct Sendings {
    made: u32,
    most: u32,
    /// Nobody knows what came of one of them.
    in_doubt: bool,
}

impl Sendings {
    fn of(visit: &Visit) -> Self {
        let most = if visit.again == Again::AtOnce { 1 } else { visit.sends };
        Self { made: 0, most, in_doubt: false }
    }

    fn next(&mut self) -> Option<u32> {
        let sending = (self.made < self.most).then_some(self.made)?;
        self.made += 1;
        Some(sending)
    }

    fn stop(&mut self) {
        self.most = self.made;
    }

    /// Once one sending is in doubt, no answer about another that says nothing settles it.
    fn again_after(&mut self, again: Again, outcome: &Outcome) -> bool {
        self.in_doubt |= *outcome == Outcome::Unknown;
        let says_nothing = matches!(outcome, Outcome::Unknown | Outcome::Fail(Reason::Other(_)));
        let wanted = match again {
            Again::Never | Again::AtOnce => false,
            Again::WhenInDoubt => self.in_doubt && says_nothing,
            Again::WhenBusy => is_busy(outcome),
        };
        wanted && self.made < self.most
    }
}

fn is_busy(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Fail(Reason::Other(code)) if code == "overloaded" || code == "unavailable")
}

fn is_away(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Fail(Reason::Other(code)) if code == "unavailable")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: &str) -> Outcome {
        Outcome::Fail(Reason::Other(code.to_owned()))
    }

    fn sendings(again: Again, outcomes: &[Outcome]) -> u32 {
        let mut sendings = Sendings { made: 0, most: 8, in_doubt: false };
        for outcome in outcomes {
            sendings.next().unwrap();
            if !sendings.again_after(again, outcome) {
                break;
            }
        }
        sendings.made
    }

    #[test]
    fn a_doubt_stays_until_somebody_settles_it() {
        let taken = Outcome::Fail(Reason::Taken(vec![0]));
        assert_eq!(sendings(Again::WhenInDoubt, &[told("unavailable"), taken.clone()]), 1);
        let settled = [Outcome::Unknown, told("unavailable"), Outcome::Unknown, taken.clone(), taken];
        assert_eq!(sendings(Again::WhenInDoubt, &settled), 4);
        assert_eq!(sendings(Again::WhenBusy, &[told("overloaded"), told("limit_reached"), told("x")]), 2);
        assert_eq!(sendings(Again::Never, &[Outcome::Unknown, Outcome::Unknown]), 1);
    }
}
