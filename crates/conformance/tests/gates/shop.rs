//! A shop with one gate: the embedded ledger, a clock that stands still until told otherwise, and a private Redis.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use holdfast_conformance::{live::patiently, story_start, subject::render};
use holdfast_domain::{
    Actor, Ask, BookingId, Command, Currency, HolderId, InventoryDef, Money, Offer, OfferDef, OfferId, Pick,
    Refusal, StockLine,
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::{
    clock::ManualClock,
    gate::{
        Epoch, Gate, GateBooks, OfferClaims, Verdict,
        redis::{self, Parts, Settings, Strategy},
    },
    ledger::{
        HoldView, IdempotencyKey, Ledger, LedgerError, Outcome, Reply, Request,
        embedded::{self, EmbeddedLedger, Storage},
    },
    mint,
    pipeline::{Limits, Pipeline, SubmitError},
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// How long anything here may take to come right again, on a busy machine. How soon it does in a sale is measured by
/// the tests of PostgreSQL behind gates.
pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) struct Shop {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ledger: Arc<EmbeddedLedger>,
    pub(crate) books: Arc<Books>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) pipeline: Pipeline,
}

/// The embedded ledger's books, with a lookup of keys that can tell, and a reader that can be held up.
#[derive(Debug)]
pub(crate) struct Books {
    ledger: Arc<EmbeddedLedger>,
    pub(crate) answered: Mutex<HashSet<String>>,
    /// Readings of claims that may go on; and readings that were taken.
    pub(crate) may_go_on: Semaphore,
    pub(crate) read: Semaphore,
}

impl Books {
    pub(crate) fn of(ledger: Arc<EmbeddedLedger>) -> Self {
        let (may_go_on, read) = (Semaphore::new(1000), Semaphore::new(0));
        Self { ledger, answered: Mutex::default(), may_go_on, read }
    }
}

#[async_trait]
impl GateBooks for Books {
    async fn epoch(&self) -> Result<Epoch, LedgerError> {
        self.ledger.epoch().await
    }
    async fn next_epoch(&self, seen: Epoch) -> Result<Epoch, LedgerError> {
        self.ledger.next_epoch(seen).await
    }
    async fn live_claims(&self, offer: &OfferId) -> Result<Option<OfferClaims>, LedgerError> {
        let claims = self.ledger.live_claims(offer).await;
        self.read.add_permits(1);
        drop(self.may_go_on.acquire().await.expect("never closed"));
        claims
    }
    async fn answered(&self, key: &IdempotencyKey) -> Result<bool, LedgerError> {
        Ok(self.answered.lock().contains(&key.key))
    }
}

/// As quick as a test needs it, and as exact as a test can judge: nobody's clock is apart, nothing is checked on the
/// side.
pub(crate) fn settings() -> Settings {
    Settings {
        watch_every: Duration::from_millis(50),
        clock_slack: Duration::ZERO,
        check_one_in: 0,
        // A busy machine must not look like a broken Redis.
        timeout: Duration::from_millis(200),
        ..Settings::default()
    }
}

impl Shop {
    pub(crate) fn new(strategy: Strategy, addresses: &str, settings: Settings) -> Self {
        let clock = Arc::new(ManualClock::at(story_start()));
        let open = embedded::Settings::new(Storage::Memory, clock.clone(), render());
        let ledger = Arc::new(EmbeddedLedger::open(open).expect("the ledger opens"));
        Self::beside(ledger, clock, strategy, addresses, settings)
    }

    /// Another node on the same ledger.
    pub(crate) fn beside(
        ledger: Arc<EmbeddedLedger>,
        clock: Arc<ManualClock>,
        strategy: Strategy,
        addresses: &str,
        settings: Settings,
    ) -> Self {
        let books = Arc::new(Books::of(ledger.clone()));
        let parts = Parts { ledger: ledger.clone(), books: books.clone(), clock: clock.clone() };
        let gate = redis::open(strategy, addresses, settings, parts).expect("the gate opens");
        let pipeline = Pipeline::new(ledger.clone(), Limits::default()).with_gate(gate.clone());
        Self { clock, ledger, books, gate, pipeline }
    }

    pub(crate) async fn submit(&self, command: Command) -> Reply {
        self.try_submit(command).await.expect("an answer")
    }

    pub(crate) async fn try_submit(&self, command: Command) -> Result<Reply, SubmitError> {
        self.pipeline.submit(command, by_key(), None).await
    }

    pub(crate) async fn hold(&self, holder: &str, asks: Vec<Ask>) -> Reply {
        self.submit(place(holder, asks)).await
    }

    /// A hold that must succeed.
    pub(crate) async fn held(&self, holder: &str, asks: Vec<Ask>) -> HoldView {
        match self.hold(holder, asks).await {
            Reply::Done(Outcome::Held { hold, .. }) => hold,
            other => panic!("{holder} was not given it: {other:?}"),
        }
    }

    pub(crate) async fn release(&self, hold: &HoldView) {
        self.submit(Command::ReleaseHold { hold: hold.hold.id }).await;
    }

    pub(crate) async fn book(&self, hold: &HoldView) -> BookingId {
        let booking = mint::booking_id();
        self.submit(Command::Confirm { booking, hold: hold.hold.id }).await;
        booking
    }

    /// What the gate alone says; a pass is given back at once.
    pub(crate) async fn gate_says(&self, holder: &str, asks: Vec<Ask>) -> Option<Refusal> {
        self.gate_says_of(request(place(holder, asks), None)).await
    }

    pub(crate) async fn gate_says_of(&self, request: Request) -> Option<Refusal> {
        match self.gate.ask(&request).await {
            Verdict::Pass(pass) => {
                self.gate.settle(pass, &Err(LedgerError::Overloaded)).await;
                None
            }
            Verdict::Refuse(refusal) => Some(refusal),
            other => panic!("neither passed nor refused: {other:?}"),
        }
    }

    /// What the ledger says to somebody who goes around the gate.
    pub(crate) async fn ledger_says(&self, holder: &str, asks: Vec<Ask>) -> Reply {
        self.ledger.execute(request(place(holder, asks), None)).await.expect("an answer")
    }

    /// Waits until the gate refuses this: it is awake, and believes its slate.
    pub(crate) async fn until_refused(&self, holder: &str, asks: Vec<Ask>) -> Refusal {
        let began = now();
        loop {
            if let Some(refusal) = self.gate_says(holder, asks.clone()).await {
                return refusal;
            }
            assert!(began.elapsed() < SOON, "the gate is not right again within {SOON:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until the gate judges this offer, whatever there is in it: a stranger asks for what somebody has.
    pub(crate) async fn until_awake(&self, offer: &str, unit: &str, qty: u32) {
        let taken = self.held("early-bird", vec![unit_of(offer, unit, qty)]).await;
        self.until_refused("stranger", vec![unit_of(offer, unit, qty)]).await;
        self.release(&taken).await;
    }

    pub(crate) async fn sell(&self, offer: Offer) {
        self.submit(Command::CreateOffer { offer: Arc::new(offer) }).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "tests measure how long things take")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn by_key() -> Actor {
    Actor::Key(Arc::from("test"))
}

pub(crate) fn request(command: Command, key: Option<IdempotencyKey>) -> Request {
    Request { command, actor: by_key(), key, wording: None, deadline: patiently() }
}

pub(crate) fn place(holder: &str, asks: Vec<Ask>) -> Command {
    Command::PlaceHold { hold: mint::hold_id(), holder: HolderId::new(holder).expect("a holder"), asks }
}

pub(crate) fn unit_of(offer: &str, unit: &str, qty: u32) -> Ask {
    let offer = OfferId::new(offer).expect("an offer's id");
    Ask { offer, pick: Pick::Unit { key: unit.to_owned(), qty } }
}

pub(crate) fn seat(unit: &str) -> Vec<Ask> {
    vec![unit_of("hall", unit, 1)]
}

pub(crate) fn stock(qty: u32) -> Vec<Ask> {
    vec![unit_of("fest", "GA", qty)]
}

pub(crate) fn hall() -> Offer {
    seats_named("hall")
}

pub(crate) fn seats_named(id: &str) -> Offer {
    offer(id, twenty_seats(), Some(4))
}

pub(crate) fn hall_with(limit_per_holder: Option<u32>) -> Offer {
    offer("hall", twenty_seats(), limit_per_holder)
}

fn twenty_seats() -> InventoryDef {
    InventoryDef::Seats(vec![SectionDef::new("Stalls", "A", price(4500), [RowDef::new("A", 20)])])
}

/// Five of one line.
pub(crate) fn fest() -> Offer {
    let line = StockLine { key: "GA".to_owned(), capacity: 5, price: price(3000) };
    offer("fest", InventoryDef::Stock(vec![line]), None)
}

pub(crate) fn price(minor: u64) -> Money {
    Money::new(minor).expect("a price")
}

pub(crate) fn offer(id: &str, inventory: InventoryDef, limit_per_holder: Option<u32>) -> Offer {
    Offer::new(OfferDef {
        id: OfferId::new(id).expect("an id"),
        name: id.to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: 600,
        limit_per_holder,
        opens_at: None,
        closes_at: None,
        inventory,
    })
    .expect("an offer")
}
