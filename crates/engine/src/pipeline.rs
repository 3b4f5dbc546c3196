//! The walk of a request, left to right, in one function.
//!
//! ```text
//! submit ─► admission ─► gate ─► ledger ─► gate, limits and waiting rooms learn of it
//! ```
//! Admission bounds what is under way, the gate may only refuse, and only the ledger's committed write is a yes.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use holdfast_domain::{Actor, BookingState, Command, HoldId, Limit, Refusal};
use tokio::{
    sync::Semaphore,
    time::{timeout, timeout_at},
};

use crate::{
    admission::{
        Places, Rank, Visitor,
        hoarding::{Excess, Hoarding, Reserved},
        waiting_room::Rooms,
    },
    gate::{Gate, MustHear, Open, Pass, Quota, Verdict},
    ledger::{Health, IdempotencyKey, Ledger, LedgerError, Outcome, Reply, Request, Wording, is_urgent},
};

#[derive(Debug, Clone)]
pub struct Limits {
    /// Commands between admission and answer; one more hears "overloaded" at once. Beyond them there are a few places
    /// for whoever has something at stake already.
    pub max_in_flight: usize,
    /// A command not begun within this time is dropped unstarted.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_in_flight: 4096, deadline: Duration::from_secs(5) }
    }
}

/// Why a command was not answered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    /// 429: it is you.
    #[error("this caller asks for too much")]
    TooMany(Quota),
    /// 503: it is us.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

#[derive(Debug)]
pub struct Pipeline {
    stages: Stages,
    admission: Arc<Places>,
    /// Places for what concerns money that may have moved, apart from everybody else's.
    reporting: Arc<Semaphore>,
    limits: Limits,
}

/// Reports of payments under way at once; one more waits.
const REPORTS_AT_ONCE: usize = 256;
/// How long an answer waits for a waiting room to hear of a booking. It hears of it later too, and the buyer need not.
const ROOM_HEARS: Duration = Duration::from_secs(2);

/// How long a payment that has begun waits for the limits to learn until when its hold is pinned.
const HOLD_IS_READ: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
struct Stages {
    /// `None`: nobody is kept from holding without buying.
    hoarding: Option<Arc<Hoarding>>,
    /// `None`: there are no waiting rooms.
    rooms: Option<Arc<Rooms>>,
    gate: Arc<dyn Gate>,
    ledger: Arc<dyn Ledger>,
}

impl Pipeline {
    pub fn new(ledger: Arc<dyn Ledger>, limits: Limits) -> Self {
        let admission = Arc::new(Places::new(limits.max_in_flight));
        let reporting = Arc::new(Semaphore::new(REPORTS_AT_ONCE));
        let stages = Stages { hoarding: None, rooms: None, gate: Arc::new(Open), ledger };
        Self { stages, admission, reporting, limits }
    }

    #[must_use]
    pub fn with_gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.stages.gate = gate;
        self
    }

    #[must_use]
    pub fn with_hoarding(mut self, hoarding: Arc<Hoarding>) -> Self {
        self.stages.hoarding = Some(hoarding);
        self
    }

    /// Whoever buys makes room in these, however they pay and whoever hears of it first.
    #[must_use]
    pub fn with_rooms(mut self, rooms: Arc<Rooms>) -> Self {
        self.stages.rooms = Some(rooms);
        self
    }

    /// The whole walk of a command.
    pub async fn submit(
        &self,
        command: Command,
        actor: Actor,
        key: Option<IdempotencyKey>,
    ) -> Result<Reply, SubmitError> {
        self.submit_worded(command, actor, key, None).await
    }

    /// The same, with words of its own for the key.
    pub async fn submit_worded(
        &self,
        command: Command,
        actor: Actor,
        key: Option<IdempotencyKey>,
        wording: Option<Wording>,
    ) -> Result<Reply, SubmitError> {
        self.submit_for(None, command, actor, key, wording).await
    }

    /// The same for somebody without a key, of whom it is counted how much they hold and do not buy.
    pub async fn submit_for(
        &self,
        visitor: Option<Visitor>,
        command: Command,
        actor: Actor,
        key: Option<IdempotencyKey>,
        wording: Option<Wording>,
    ) -> Result<Reply, SubmitError> {
        let rank = if is_urgent(&command) { Rank::Urgent } else { Rank::Ordinary };
        let admitted = self.admission.take(rank).ok_or(LedgerError::Overloaded)?;
        let request = Request { command, actor, key, wording, deadline: self.deadline() };
        self.admitted(request, visitor, admitted).await
    }

    /// What was learned of a payment, with words of its own for the key. Money has moved, or may have: it is not
    /// turned away with those who still only want something, but waits for its turn.
    pub async fn report(
        &self,
        command: Command,
        key: Option<IdempotencyKey>,
        wording: Option<Wording>,
    ) -> Result<Reply, SubmitError> {
        let closed = |_| LedgerError::Overloaded;
        let admitted = Arc::clone(&self.reporting).acquire_owned().await.map_err(closed)?;
        let request = Request { command, actor: Actor::System, key, wording, deadline: self.deadline() };
        self.admitted(request, None, admitted).await
    }

    async fn admitted(
        &self,
        request: Request,
        visitor: Option<Visitor>,
        admitted: impl Send + 'static,
    ) -> Result<Reply, SubmitError> {
        // The walk is boxed: whoever is refused at the gate carries no room for the rest of it.
        match (self.stages.gate.must_hear(), &visitor) {
            (MustHear::Nothing, _) if !self.stages.account_for(&request.command, visitor.as_ref()) => {
                Box::pin(self.stages.walk(request, visitor)).await
            }
            // Most are refused at the gate, and a refusal leaves nothing behind.
            (MustHear::Commits, None) => match self.stages.ask(&request).await {
                Err(said) => said,
                Ok(pass) => {
                    let stages = self.stages.clone();
                    let rest = Box::pin(async move { stages.passed(pass, request).await });
                    see_through(rest, admitted).await
                }
            },
            _ => {
                let stages = self.stages.clone();
                let walk = Box::pin(async move { stages.walk(request, visitor).await });
                see_through(walk, admitted).await
            }
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a deadline is measured on the monotonic clock, not in domain time"
    )]
    fn deadline(&self) -> Instant {
        Instant::now() + self.limits.deadline
    }

    /// Reads go straight to the ledger: they change nothing and are never gated.
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.stages.ledger
    }

    /// Ready while the ledger is: a gate that is down only makes things slower.
    pub async fn health(&self) -> Health {
        let mut health = self.stages.ledger.health().await;
        health.degraded.extend(self.stages.gate.degraded());
        health
    }
}

/// Whoever asked may hang up at any time; what was committed must reach the gate, the limits and the waiting rooms all the
/// same.
async fn see_through(
    walk: BoxFuture<'static, Result<Reply, SubmitError>>,
    admitted: impl Send + 'static,
) -> Result<Reply, SubmitError> {
    let walked = tokio::spawn(async move {
        let answer = walk.await;
        drop(admitted);
        answer
    });
    let lost = || LedgerError::OutcomeUnknown("the server stopped while this was under way".into());
    walked.await.unwrap_or_else(|_| Err(lost().into()))
}

impl Stages {
    /// Whether limits or waiting rooms must hear of what comes of this. Of what somebody with a key holds nobody must.
    fn account_for(&self, command: &Command, visitor: Option<&Visitor>) -> bool {
        let has_rooms = || self.rooms.as_ref().is_some_and(|rooms| !rooms.is_empty());
        let counts = |hold| self.hoarding.as_ref().is_some_and(|hoarding| hoarding.counts(hold));
        match command {
            Command::PlaceHold { .. } => self.hoarding.is_some() && visitor.is_some(),
            Command::ExtendHold { hold } | Command::ReleaseHold { hold } => counts(*hold),
            Command::Confirm { hold, .. } | Command::BeginPayment { hold, .. } => {
                counts(*hold) || has_rooms()
            }
            // Reports of payments, which do not say whose hold it was. They have waited for a bank.
            _ => command.of_payment().is_some() && (self.hoarding.is_some() || has_rooms()),
        }
    }

    async fn walk(&self, request: Request, visitor: Option<Visitor>) -> Result<Reply, SubmitError> {
        let reserved = match self.reserve(&request, visitor).await {
            Ok(reserved) => reserved,
            Err(excess) => return self.recall(request, excess).await,
        };
        let said = match self.ask(&request).await {
            Ok(pass) => self.claim(pass, request).await,
            Err(said) => said,
        };
        self.settle(reserved, &said).await;
        said
    }

    /// The rest of the walk of one who is known by a key, once the gate has let it pass.
    async fn passed(&self, pass: Pass, request: Request) -> Result<Reply, SubmitError> {
        let said = self.claim(pass, request).await;
        self.settle(None, &said).await;
        said
    }

    /// Leave to ask the ledger, or what the gate says instead.
    async fn ask(&self, request: &Request) -> Result<Pass, Result<Reply, SubmitError>> {
        match self.gate.ask(request).await {
            Verdict::Pass(pass) => Ok(pass),
            Verdict::Refuse(refusal) => Err(Ok(Reply::Refused(refusal))),
            Verdict::Busy => Err(Err(LedgerError::Overloaded.into())),
            Verdict::TooMany(quota) => Err(Err(SubmitError::TooMany(quota))),
        }
    }

    async fn claim(&self, pass: Pass, request: Request) -> Result<Reply, SubmitError> {
        let said = self.ledger.execute(request).await;
        self.gate.settle(pass, &said).await;
        Ok(said?)
    }

    /// Nothing new for one who has too much, or wants too much at once. But the ledger's word comes first: what the key
    /// stands for, the hold that is theirs already, and any no that waiting would not change into a yes.
    async fn recall(&self, request: Request, excess: Excess) -> Result<Reply, SubmitError> {
        let Excess { policy, over, quota } = excess;
        let command = request.command.recalling(Some(over)).expect("only holds are counted");
        let said = self.ledger.execute(Request { command, ..request }).await;
        if matches!(
            &said,
            Ok(Reply::Refused(Refusal::LimitReached(Limit::Unconfirmed { .. })))
                | Err(LedgerError::Overloaded)
        ) {
            metrics::counter!("holdfast_hoarding_refused_total", "policy" => policy).increment(1);
            if let Some(quota) = quota {
                return Err(SubmitError::TooMany(quota));
            }
        }
        Ok(said?)
    }

    /// What a visitor would hold without having bought it.
    async fn reserve(&self, request: &Request, visitor: Option<Visitor>) -> Result<Option<Reserved>, Excess> {
        let (Some(hoarding), Some(visitor)) = (&self.hoarding, visitor) else { return Ok(None) };
        let Command::PlaceHold { hold, asks, .. } = &request.command else { return Ok(None) };
        let offers: BTreeSet<_> = asks.iter().map(|ask| &ask.offer).collect();
        for offer in offers {
            // What cannot be learnt in time is counted by what is known: the ledger is about to say that it is late.
            if hoarding.must_learn(offer, &visitor)
                && let Ok(Ok(Some(view))) =
                    timeout_at(request.deadline.into(), self.ledger.offer(offer)).await
            {
                hoarding.learn(&view);
            }
        }
        hoarding.reserve(*hold, asks, request.key.as_ref(), &visitor).await.map(Some)
    }

    async fn settle(&self, reserved: Option<Reserved>, said: &Result<Reply, SubmitError>) {
        match (&self.hoarding, reserved) {
            (Some(hoarding), Some(reserved)) => hoarding.settle(reserved, said).await,
            (Some(hoarding), None) => {
                hoarding.heard(said).await;
                self.pinned(hoarding, said).await;
            }
            (None, _) => {}
        }
        if let Some(rooms) = &self.rooms {
            // What the room does not hear of at all ends with the visit's time.
            let heard = timeout(ROOM_HEARS, make_room(rooms, said)).await;
            if heard.is_err() {
                tracing::debug!("a waiting room is slow to hear of a booking");
            }
        }
    }

    /// While it is paid a hold outlives its expiry, and counts for as long. A booking does not say until when.
    async fn pinned(&self, hoarding: &Hoarding, said: &Result<Reply, SubmitError>) {
        let Some(hold) = being_paid(said).filter(|hold| hoarding.counts(*hold)) else { return };
        if let Ok(Ok(Some(view))) = timeout(HOLD_IS_READ, self.ledger.hold(hold)).await {
            hoarding.ends_otherwise(&view.hold).await;
        }
    }
}

/// The hold of a booking whose payment has begun, or came to nothing: its end is another one for it.
fn being_paid(said: &Result<Reply, SubmitError>) -> Option<HoldId> {
    let Ok(Reply::Done(Outcome::PaymentBegun(view) | Outcome::Payment { booking: view, changed: true })) =
        said
    else {
        return None;
    };
    (view.booking.state != BookingState::Confirmed).then_some(view.booking.hold)
}

/// Somebody who queued has bought: their place inside is another's.
async fn make_room(rooms: &Rooms, said: &Result<Reply, SubmitError>) {
    let Ok(Reply::Done(Outcome::Confirmed(view) | Outcome::Payment { booking: view, changed: true })) = said
    else {
        return;
    };
    if view.booking.state != BookingState::Confirmed {
        return;
    }
    let offers: BTreeSet<_> = view.booking.lines.iter().map(|line| &line.offer).collect();
    for offer in offers {
        drop(rooms.bought(offer, &view.booking.holder).await);
    }
}
