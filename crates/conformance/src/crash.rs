//! What a process that is about to be killed does, and what must be left of it.
//!
//! ```text
//! parent ── starts ──► crash-child: many buyers at one ledger on disk
//!    ▲                     │  "?" before it asks, "!" after it heard yes, "-" after it heard no
//!    └──── pipe ◄──────────┘
//!    kill -9, then: verify, open, and ask about every step that was begun
//! ```
//! A [`Step`] is known by three numbers, and everything about it follows from them: its ids, its key, its
//! request. So the parent can ask the very same thing again and compare.

use std::{fmt, path::Path, str::FromStr, sync::Arc};

use holdfast_domain::{
    Actor, Ask, BookingId, Command, Currency, HoldId, HolderId, InventoryDef, Money, Offer, OfferDef,
    OfferId, Pick, StockLine,
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::{
    clock::SystemClock,
    ledger::{
        IdempotencyKey, Ledger, LedgerError, Reply, Request,
        embedded::{EmbeddedLedger, Settings, Storage, StoreError},
    },
};

use crate::{live::patiently, subject::render};

const ROWS: u32 = 50;
const SEATS_A_ROW: u32 = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Hold,
    Confirm,
}

/// One keyed command of one buyer in one life of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    pub life: u32,
    pub buyer: u32,
    pub turn: u32,
    pub kind: Kind,
}

impl Step {
    fn bits(&self) -> u128 {
        u128::from(self.life) << 64 | u128::from(self.buyer) << 32 | u128::from(self.turn)
    }

    pub fn hold(&self) -> HoldId {
        HoldId::from_bits(self.bits())
    }

    pub fn booking(&self) -> BookingId {
        BookingId::from_bits(self.bits())
    }

    /// A seat and a ticket in one hold: all or nothing must hold across kinds too.
    fn asks(&self) -> Vec<Ask> {
        let seat = (self.life * 977 + self.buyer * 131 + self.turn * 17) % (ROWS * SEATS_A_ROW);
        let key = format!("R{}-{}", seat / SEATS_A_ROW, seat % SEATS_A_ROW + 1);
        let line = |offer, key, qty| Ask { offer: offer_id(offer), pick: Pick::Unit { key, qty } };
        vec![line("hall", key, 1), line("fest", "GA".to_owned(), 2)]
    }

    pub fn request(&self) -> Request {
        let holder = HolderId::new(&format!("b{}-{}-{}", self.life, self.buyer, self.turn)).expect("visible");
        let command = match self.kind {
            Kind::Hold => Command::PlaceHold { hold: self.hold(), holder, asks: self.asks() },
            Kind::Confirm => Command::Confirm { booking: self.booking(), hold: self.hold() },
        };
        let key = IdempotencyKey {
            scope: "crash".into(),
            key: self.to_string(),
            fingerprint: [self.kind as u8; 32],
        };
        Request {
            command,
            actor: Actor::Key("crash".into()),
            key: Some(key),
            wording: None,
            deadline: patiently(),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind == Kind::Hold { 'h' } else { 'c' };
        write!(f, "{kind}.{}.{}.{}", self.life, self.buyer, self.turn)
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("{text:?} names no step");
        let mut parts = text.split('.');
        let kind = match parts.next() {
            Some("h") => Kind::Hold,
            Some("c") => Kind::Confirm,
            _ => return Err(malformed()),
        };
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or_else(malformed);
        Ok(Self { life: number()?, buyer: number()?, turn: number()?, kind })
    }
}

/// Opens the books in `dir` with the two offers that everybody wants.
pub async fn open(dir: &Path) -> Result<EmbeddedLedger, StoreError> {
    let settings = Settings::new(Storage::Dir(dir.to_owned()), Arc::new(SystemClock::new()), render());
    let ledger = EmbeddedLedger::open(settings)?;
    for offer in [hall(), fest()] {
        let offer = Arc::new(Offer::new(offer).expect("a valid offer"));
        let command = Command::CreateOffer { offer };
        let request =
            Request { command, actor: Actor::System, key: None, wording: None, deadline: patiently() };
        // Refused on every start but the first, which is as good.
        ledger.execute(request).await.expect("the ledger answers");
    }
    Ok(ledger)
}

/// Whether the ledger said yes; an answer that speaks of an earlier yes is one.
pub async fn ask(ledger: &EmbeddedLedger, step: Step) -> Result<bool, LedgerError> {
    Ok(matches!(ledger.execute(step.request()).await?, Reply::Done(_) | Reply::Replayed(_)))
}

fn hall() -> OfferDef {
    let rows = (0..ROWS).map(|row| RowDef::new(format!("R{row}"), SEATS_A_ROW));
    let section = SectionDef::new("Stalls", "A", price(), rows);
    offer("hall", InventoryDef::Seats(vec![section]))
}

fn fest() -> OfferDef {
    let line = StockLine { key: "GA".into(), capacity: 1_000_000, price: price() };
    offer("fest", InventoryDef::Stock(vec![line]))
}

fn price() -> Money {
    Money::new(4500).expect("a small sum")
}

fn offer(id: &str, inventory: InventoryDef) -> OfferDef {
    OfferDef {
        id: offer_id(id),
        name: id.to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: 86_400,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory,
    }
}

fn offer_id(id: &str) -> OfferId {
    OfferId::new(id).expect("a valid id")
}
