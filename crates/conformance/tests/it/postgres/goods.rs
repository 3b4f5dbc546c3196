//! What is on sale in these tests, and the requests for it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use holdfast_domain::{
    Actor, Ask, BookingId, Command, Currency, HoldId, HolderId, IntentId, InventoryDef, Moment, Money, Offer,
    OfferDef, OfferId, PayTerms, PaymentOutcome, Pick, StockLine,
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::{
    ledger::{IdempotencyKey, Ledger, LedgerError, Outcome, Reply, Request},
    mint,
};

#[expect(clippy::disallowed_methods, reason = "tests measure how long things take")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A hall of ten rows of twenty seats: `A-1` to `J-20`.
pub(crate) fn hall(ttl_s: u32) -> Command {
    let row = |name: char| RowDef::new(name, 20);
    let section = SectionDef::new("Hall", "std", price(), ('A'..='J').map(row));
    on_sale("hall", InventoryDef::Seats(vec![section]), ttl_s)
}

/// One line of so many.
pub(crate) fn fest(capacity: u32, ttl_s: u32) -> Command {
    counted("fest", &[("GA", capacity)], ttl_s)
}

/// Lines of so many each.
pub(crate) fn counted(id: &str, lines: &[(&str, u32)], ttl_s: u32) -> Command {
    let line = |(key, capacity): &(&str, u32)| StockLine {
        key: (*key).to_owned(),
        capacity: *capacity,
        price: price(),
    };
    on_sale(id, InventoryDef::Stock(lines.iter().map(line).collect()), ttl_s)
}

fn price() -> Money {
    Money::new(1000).expect("a price")
}

fn on_sale(id: &str, inventory: InventoryDef, hold_ttl_s: u32) -> Command {
    let def = OfferDef {
        id: OfferId::new(id).expect("an id"),
        name: id.to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory,
    };
    Command::CreateOffer { offer: Arc::new(Offer::new(def).expect("an offer")) }
}

pub(crate) fn seat(key: &str) -> Ask {
    unit("hall", key, 1)
}

pub(crate) fn ticket() -> Ask {
    unit("fest", "GA", 1)
}

pub(crate) fn unit(offer: &str, key: &str, qty: u32) -> Ask {
    let offer = OfferId::new(offer).expect("an id");
    Ask { offer, pick: Pick::Unit { key: key.to_owned(), qty } }
}

pub(crate) fn place(holder: &str, asks: Vec<Ask>) -> Command {
    Command::PlaceHold { hold: mint::hold_id(), holder: HolderId::new(holder).expect("a holder"), asks }
}

pub(crate) fn confirm(hold: HoldId) -> Command {
    Command::Confirm { booking: mint::booking_id(), hold }
}

pub(crate) fn pay(hold: HoldId) -> Command {
    let terms = PayTerms { pin_s: 120, grace_s: 0, look_s: 0 };
    Command::BeginPayment { booking: mint::booking_id(), hold, method: None, terms }
}

/// What the provider says of a booking's own payment.
pub(crate) fn report(booking: BookingId, outcome: PaymentOutcome) -> Command {
    let intent = IntentId::new(&format!("pi_{booking}")).expect("a name");
    Command::SettlePayment { booking, intent: Some(intent), outcome, due_at: Moment::from_ms(0) }
}

/// The price of a seat.
pub(crate) fn paid() -> PaymentOutcome {
    PaymentOutcome::Succeeded { amount: price(), currency: Currency::new("EUR").expect("a currency") }
}

pub(crate) fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey { scope: "shop".to_owned(), key: name.to_owned(), fingerprint: [7; 32] }
}

/// How long a request of these tests may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

pub(crate) fn request(command: Command, key: Option<IdempotencyKey>) -> Request {
    Request { command, actor: Actor::Key(Arc::from("test")), key, wording: None, deadline: now() + DEADLINE }
}

pub(crate) async fn ask(ledger: &dyn Ledger, command: Command) -> Result<Reply, LedgerError> {
    ledger.execute(request(command, None)).await
}

pub(crate) async fn ask_as(ledger: &dyn Ledger, name: &str, command: Command) -> Result<Reply, LedgerError> {
    ledger.execute(request(command, Some(key(name)))).await
}

/// Asks again for as long as the ledger has too much to do, as a client told "503, come back" would. Says how often
/// that was.
pub(crate) async fn insist(ledger: &dyn Ledger, command: Command) -> (Reply, u32) {
    for busy in 0.. {
        match ask(ledger, command.clone()).await {
            Ok(reply) => return (reply, busy),
            Err(LedgerError::Overloaded) => {}
            Err(error) => panic!("neither yes nor no: {error}"),
        }
    }
    unreachable!("one answer or another comes first")
}

pub(crate) async fn sell(ledger: &dyn Ledger, offer: Command) {
    let reply = ask(ledger, offer).await;
    assert!(matches!(reply, Ok(Reply::Done(_))), "{reply:?}");
}

pub(crate) fn held(reply: &Reply) -> Option<HoldId> {
    match reply {
        Reply::Done(Outcome::Held { hold, .. }) => Some(hold.hold.id),
        _ => None,
    }
}

/// The refusal's code, if it was one.
pub(crate) fn refused(reply: &Reply) -> Option<&'static str> {
    match reply {
        Reply::Refused(refusal) => Some(refusal.code()),
        _ => None,
    }
}
