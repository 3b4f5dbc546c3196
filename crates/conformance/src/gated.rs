//! Books behind a gate, as one thing that keeps books: requests walk the pipeline, reads go straight to the books.
//!
//! Owns the wiring of one node and the counting of what its gate said; decides nothing. Whatever is shown of a ledger
//! can so be shown of a ledger behind a gate: the suite does not know the difference.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use holdfast_domain::{Actor, Ask, BookingId, Command, HoldId, HolderId, Kind, OfferId, decide::named_line};
use holdfast_engine::{
    clock::Clock,
    gate::{
        Gate, GateBooks, MustHear, Pass, Verdict,
        redis::{self, OpenError, Parts, Settings, Strategy},
    },
    ledger::{
        BookingFilter, BookingView, Cells, Change, Health, HoldView, JournalFilter, JournalRecord, Ledger,
        LedgerError, OfferView, Page, PageRequest, Reply, Request, Snapshot, StoredKey,
    },
    pipeline::{Limits, Pipeline, SubmitError},
};
use tokio::{sync::broadcast, time::Instant};

use crate::live::patiently;

/// How often gates said what. One count may serve several gates.
#[derive(Debug, Default)]
pub struct Said {
    asked: AtomicU64,
    refused: AtomicU64,
    busy: AtomicU64,
}

impl Said {
    /// Requests that were put to them.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Sent away because others were at it for too long.
    pub fn busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
    }

    fn count(&self, verdict: &Verdict) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match verdict {
            Verdict::Refuse(_) => self.refused.fetch_add(1, Ordering::Relaxed),
            Verdict::Busy | Verdict::TooMany(_) => self.busy.fetch_add(1, Ordering::Relaxed),
            Verdict::Pass(_) => 0,
        };
    }
}

/// A gate whose words are counted.
#[derive(Debug)]
struct Watched {
    gate: Arc<dyn Gate>,
    said: Arc<Said>,
}

#[async_trait]
impl Gate for Watched {
    async fn ask(&self, request: &Request) -> Verdict {
        let verdict = self.gate.ask(request).await;
        self.said.count(&verdict);
        verdict
    }

    async fn settle(&self, pass: Pass, said: &Result<Reply, LedgerError>) {
        self.gate.settle(pass, said).await;
    }

    fn must_hear(&self) -> MustHear {
        self.gate.must_hear()
    }

    fn degraded(&self) -> Vec<String> {
        self.gate.degraded()
    }
}

/// Whether an offer's slate is whole, so that the gate believes it.
pub type IsWhole = Arc<dyn Fn(&OfferId) -> bool + Send + Sync>;

/// Which gate stands before the books, and where.
#[derive(Clone)]
pub struct Before {
    pub strategy: Strategy,
    pub addresses: String,
    pub settings: Settings,
    /// The clock by which holds end, as near as the node has it.
    pub clock: Arc<dyn Clock>,
    /// Nobody is asked before the gate is awake: for questions one after the other, of which it should judge each.
    pub awake: Option<IsWhole>,
    pub said: Arc<Said>,
}

impl fmt::Debug for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Before").field("strategy", &self.strategy).finish_non_exhaustive()
    }
}

/// One node: books, the gate before them, and the pipeline through both.
#[derive(Debug)]
pub struct Gated {
    books: Arc<dyn Ledger>,
    gate: Arc<dyn Gate>,
    pipeline: Pipeline,
    before: Before,
}

/// How long a gate may take to wake up for one ask. Some it cannot read, and wakes for none of them.
const AWAKE_WITHIN: Duration = Duration::from_millis(150);
const A_MOMENT: Duration = Duration::from_millis(1);

impl Gated {
    /// Needs a Tokio runtime.
    pub fn open<B: Ledger + GateBooks + 'static>(books: Arc<B>, before: Before) -> Result<Self, OpenError> {
        let Before { strategy, addresses, settings, clock, said, .. } = &before;
        let parts = Parts { ledger: books.clone(), books: books.clone(), clock: Arc::clone(clock) };
        let gate = redis::open(*strategy, addresses, settings.clone(), parts)?;
        let watched = Watched { gate: Arc::clone(&gate), said: Arc::clone(said) };
        let pipeline = Pipeline::new(books.clone(), Limits::default()).with_gate(Arc::new(watched));
        Ok(Self { books, gate, pipeline, before })
    }

    /// The gate itself, uncounted.
    pub fn gate(&self) -> &Arc<dyn Gate> {
        &self.gate
    }

    pub fn said(&self) -> &Said {
        &self.before.said
    }

    /// The books behind the gate.
    pub fn books(&self) -> &Arc<dyn Ledger> {
        &self.books
    }

    /// What the gate alone says, to somebody who then does not go on.
    pub async fn gate_says(&self, holder: &str, asks: Vec<Ask>) -> Verdict {
        let holder = HolderId::new(holder).expect("a holder");
        let command = Command::PlaceHold { hold: HoldId::from_bits(1), holder, asks };
        let actor = Actor::Key(Arc::from("test"));
        let request = Request { command, actor, key: None, wording: None, deadline: patiently() };
        match self.gate.ask(&request).await {
            Verdict::Pass(pass) => {
                self.gate.settle(pass, &Err(LedgerError::Overloaded)).await;
                Verdict::Pass(Pass::freely())
            }
            other => other,
        }
    }

    /// Waits until the gate has its servers, and until every slate that this request needs is whole.
    async fn wake_for(&self, command: &Command) {
        let (Some(is_whole), Command::PlaceHold { asks, .. }) = (&self.before.awake, command) else { return };
        if !self.judges(asks).await {
            return;
        }
        let locks = matches!(self.before.strategy, Strategy::Lock | Strategy::Redlock);
        for ask in asks {
            let began = Instant::now();
            let awake = || self.gate.degraded().is_empty() && (locks || is_whole(&ask.offer));
            while !awake() && began.elapsed() < AWAKE_WITHIN {
                self.gate_says("waker", vec![ask.clone()]).await;
                tokio::time::sleep(A_MOMENT).await;
            }
        }
    }

    /// What the gate cannot read, or does not look at, it will not judge.
    async fn judges(&self, asks: &[Ask]) -> bool {
        for ask in asks {
            let Ok(Some(view)) = self.books.offer(&ask.offer).await else { return false };
            let covered = self.before.strategy != Strategy::Decr || view.offer.kind() == Kind::Stock;
            if !covered || named_line(&view.offer, ask).is_err() {
                return false;
            }
        }
        true
    }
}

#[async_trait]
impl Ledger for Gated {
    async fn execute(&self, request: Request) -> Result<Reply, LedgerError> {
        self.wake_for(&request.command).await;
        let Request { command, actor, key, wording, .. } = request;
        self.pipeline.submit_worded(command, actor, key, wording).await.map_err(|error| match error {
            SubmitError::Ledger(error) => error,
            SubmitError::TooMany(_) => LedgerError::Overloaded,
        })
    }
    async fn offer(&self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        self.books.offer(id).await
    }
    async fn offers(&self, after: Option<OfferId>, limit: usize) -> Result<Page<OfferView>, LedgerError> {
        self.books.offers(after, limit).await
    }
    async fn snapshot(&self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        self.books.snapshot(id, cells).await
    }
    async fn hold(&self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        self.books.hold(id).await
    }
    async fn holds_ending(&self, offer: &OfferId, limit: usize) -> Result<Vec<HoldView>, LedgerError> {
        self.books.holds_ending(offer, limit).await
    }
    async fn booking(&self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        self.books.booking(id).await
    }
    async fn bookings(&self, by: BookingFilter, page: PageRequest) -> Result<Page<BookingView>, LedgerError> {
        self.books.bookings(by, page).await
    }
    async fn payments_due(&self, limit: usize, lease: Duration) -> Result<Vec<BookingView>, LedgerError> {
        self.books.payments_due(limit, lease).await
    }
    async fn payments_parked(&self) -> Result<usize, LedgerError> {
        self.books.payments_parked().await
    }
    async fn journal(
        &self,
        by: JournalFilter,
        page: PageRequest,
    ) -> Result<Page<JournalRecord>, LedgerError> {
        self.books.journal(by, page).await
    }
    fn changes(&self) -> broadcast::Receiver<Arc<[Change]>> {
        self.books.changes()
    }
    async fn health(&self) -> Health {
        self.pipeline.health().await
    }
    async fn find_key(&self, prefix: &str) -> Result<Option<StoredKey>, LedgerError> {
        self.books.find_key(prefix).await
    }
    async fn add_key(&self, key: StoredKey) -> Result<(), LedgerError> {
        self.books.add_key(key).await
    }
}
