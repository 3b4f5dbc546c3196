//! A workbench: a ledger with a clock that stands still, and the commands that tests send it.

use std::sync::Arc;

use bytes::Bytes;
use holdfast_domain::{
    Actor, Ask, BookingId, Command, Currency, HoldId, HolderId, InventoryDef, Moment, Money, Offer, OfferDef,
    OfferId, Pick, StockLine,
    seat_plan::{RowDef, SectionDef},
};

use crate::{
    clock::{Clock, ManualClock},
    ledger::{
        Answer, IdempotencyKey, Ledger, LedgerError, Outcome, Render, Reply, Request,
        embedded::{EmbeddedLedger, Limits, Settings, Storage},
    },
};

pub(super) const T0: Moment = Moment::from_s(1_800_000_000);

pub(super) struct Bench {
    pub(super) ledger: EmbeddedLedger,
    pub(super) clock: Arc<ManualClock>,
}

pub(super) fn render() -> Render {
    Arc::new(|outcome: &Outcome| Answer { status: 201, body: Bytes::from(format!("{outcome:?}")) })
}

impl Bench {
    pub(super) fn memory() -> Self {
        Self::with(Storage::Memory, Limits::default())
    }

    pub(super) fn with(storage: Storage, limits: Limits) -> Self {
        let clock = Arc::new(ManualClock::at(T0));
        let on_the_wall: Arc<dyn Clock> = clock.clone();
        let settings = Settings { limits, ..Settings::new(storage, on_the_wall, render()) };
        Self { ledger: EmbeddedLedger::open(settings).expect("the ledger opens"), clock }
    }

    /// With a hall of one row `A` and some stock `GA`.
    pub(super) async fn open_for_sale(self) -> Self {
        self.done(Command::CreateOffer { offer: hall("hall", 20) }).await;
        self.done(Command::CreateOffer { offer: stock("fest", 500) }).await;
        self
    }

    pub(super) async fn try_send(
        &self,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<Reply, LedgerError> {
        self.ledger.execute(request(command, key)).await
    }

    pub(super) async fn send(&self, command: Command) -> Reply {
        self.try_send(command, None).await.expect("the ledger answers")
    }

    pub(super) async fn done(&self, command: Command) -> Outcome {
        match self.send(command).await {
            Reply::Done(outcome) => outcome,
            other => panic!("not done: {other:?}"),
        }
    }

    pub(super) async fn refused(&self, command: Command) -> &'static str {
        match self.send(command).await {
            Reply::Refused(refusal) => refusal.code(),
            other => panic!("not refused: {other:?}"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline lies on the monotonic clock")]
pub(super) fn request(command: Command, key: Option<IdempotencyKey>) -> Request {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    Request { command, actor: Actor::Key("test".into()), key, wording: None, deadline }
}

pub(super) fn key(name: &str, body: u8) -> IdempotencyKey {
    IdempotencyKey { scope: "key:test".into(), key: name.into(), fingerprint: [body; 32] }
}

pub(super) fn offer_id(name: &str) -> OfferId {
    OfferId::new(name).expect("a good name")
}

fn offer(name: &str, inventory: InventoryDef) -> Arc<Offer> {
    let def = OfferDef {
        id: offer_id(name),
        name: name.to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: 600,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory,
    };
    Arc::new(Offer::new(def).expect("a good offer"))
}

pub(super) fn hall(name: &str, seats: u32) -> Arc<Offer> {
    let row_name = |row| if row == 0 { "A".to_owned() } else { format!("R{row}") };
    let rows = (0..seats.div_ceil(100)).map(|row| RowDef::new(row_name(row), 100.min(seats - row * 100)));
    let price = Money::new(4500).expect("a price");
    let section = SectionDef::new("Stalls", "A", price, rows);
    offer(name, InventoryDef::Seats(vec![section]))
}

pub(super) fn stock(name: &str, capacity: u32) -> Arc<Offer> {
    let line = StockLine { key: "GA".into(), capacity, price: Money::new(3000).expect("a price") };
    offer(name, InventoryDef::Stock(vec![line]))
}

pub(super) fn seat(n: u32) -> Ask {
    Ask { offer: offer_id("hall"), pick: Pick::Unit { key: format!("A-{n}"), qty: 1 } }
}

pub(super) fn hold_id(n: u128) -> HoldId {
    HoldId::from_bits(n)
}

pub(super) fn booking_id(n: u128) -> BookingId {
    BookingId::from_bits(n)
}

pub(super) fn place(n: u128, holder: &str, asks: Vec<Ask>) -> Command {
    Command::PlaceHold { hold: hold_id(n), holder: HolderId::new(holder).expect("a holder"), asks }
}

pub(super) fn confirm(booking: u128, hold: u128) -> Command {
    Command::Confirm { booking: booking_id(booking), hold: hold_id(hold) }
}
