//! The port to whatever keeps the books. Only a ledger's committed write is a yes.
//!
//! A ledger answers a [`Request`] with what the pure model would answer (`holdfast_domain::decide`), makes the
//! answer durable together with its journal entries and, where the request carries a key, with the words of the
//! answer itself; and serves reads that never show what is not yet durable. It speaks booking, not SQL.

mod about;
mod changes;
pub mod codec;
pub mod embedded;
mod order;
pub mod postgres;
mod views;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use holdfast_domain::{
    Actor, Booking, BookingId, Command, Counts, Hold, HoldId, HolderId, IntentId, Line, Moment, Offer,
    OfferId, PaymentState, Refusal, Unit, UnitNo, UnitState, Version,
};
pub use order::Order;
use tokio::sync::broadcast;

pub(crate) use embedded::lanes::is_urgent;

#[async_trait]
pub trait Ledger: Send + Sync + fmt::Debug {
    /// Decides, and returns only when the decision is durable (or is a no).
    async fn execute(&self, request: Request) -> Result<Reply, LedgerError>;

    async fn offer(&self, id: &OfferId) -> Result<Option<OfferView>, LedgerError>;
    /// Offers in the order they were made, from the one after `after`.
    async fn offers(&self, after: Option<OfferId>, limit: usize) -> Result<Page<OfferView>, LedgerError>;
    /// Every unit of the offer; of a calendar, the cells in `cells` that something happened to.
    async fn snapshot(&self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError>;
    async fn hold(&self, id: HoldId) -> Result<Option<HoldView>, LedgerError>;
    /// At most `limit` live holds of the offer, those that run out first. Not all of them are found where very many
    /// holds of other offers run out sooner.
    async fn holds_ending(&self, offer: &OfferId, limit: usize) -> Result<Vec<HoldView>, LedgerError>;
    async fn booking(&self, id: BookingId) -> Result<Option<BookingView>, LedgerError>;
    /// Bookings by when they were made. Where most that are looked at are not meant, a page may be short and have a `next`.
    async fn bookings(
        &self,
        filter: BookingFilter,
        page: PageRequest,
    ) -> Result<Page<BookingView>, LedgerError>;
    /// At most `limit` bookings whose payment somebody must look at by now, the longest due first. Each is leased to
    /// whoever is given it: nobody else hears of it for `lease`, or until something is written down about it.
    async fn payments_due(&self, limit: usize, lease: Duration) -> Result<Vec<BookingView>, LedgerError>;
    /// How many payments the machine must not decide about: they wait for a person.
    async fn payments_parked(&self) -> Result<usize, LedgerError>;
    /// Entries by their place in the journal; a page may be short likewise.
    async fn journal(
        &self,
        filter: JournalFilter,
        page: PageRequest,
    ) -> Result<Page<JournalRecord>, LedgerError>;

    /// Committed changes of units from now on, in order.
    fn changes(&self) -> broadcast::Receiver<Arc<[Change]>>;
    async fn health(&self) -> Health;

    async fn find_key(&self, prefix: &str) -> Result<Option<StoredKey>, LedgerError>;
    async fn add_key(&self, key: StoredKey) -> Result<(), LedgerError>;
}

#[derive(Debug, Clone)]
pub struct Request {
    pub command: Command,
    pub actor: Actor,
    pub key: Option<IdempotencyKey>,
    /// How this answer is worded, where the ledger's own way does not know all that there is to say.
    pub wording: Option<Wording>,
    /// Work not started by then is dropped unstarted.
    pub deadline: Instant,
}

impl Request {
    /// How its answer is worded.
    pub(crate) fn render<'a>(&'a self, usual: &'a Render) -> &'a Render {
        self.wording.as_ref().map_or(usual, |Wording(own)| own)
    }
}

/// The caller's name for one intention, however often it is sent.
///
/// A paid booking takes two commits and has one answer. [`Command::BeginPayment`] *opens* its key: the key is there,
/// points at the booking, and has no words yet. A later command about that payment which carries the same key *closes*
/// it: its words are kept with its effect, and are what everybody hears from then on. The first to close wins; the
/// effect of a later one stands, and it hears the first one's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Whose key it is: another caller's same key is another key.
    pub scope: String,
    pub key: String,
    /// Of the route and body, to tell a retry from a reuse.
    pub fingerprint: [u8; 32],
}

/// Whether the command opens its key instead of answering it.
pub(crate) const fn opens_key(command: &Command) -> bool {
    matches!(command, Command::BeginPayment { .. })
}

/// The payment whose key this command may close.
pub(crate) const fn closes_key_of(command: &Command) -> Option<BookingId> {
    if opens_key(command) { None } else { command.of_payment() }
}

/// How the outside will word an outcome. The ledger is given this when it is made, so that the words of a keyed
/// answer commit in the same transaction as its effect.
pub type Render = Arc<dyn Fn(&Outcome) -> Answer + Send + Sync>;

/// The same for one request: for words that must be kept nowhere else, such as a secret for the buyer's browser.
#[derive(Clone)]
pub struct Wording(pub Render);

impl fmt::Debug for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wording")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Bytes,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Done(Outcome),
    Refused(Refusal),
    /// The key was used before for the same request: these were the words.
    Replayed(Answer),
    /// The key was used before for the same request, which began this payment and has no words yet.
    Open {
        booking: BookingId,
    },
    /// The key was used before for something else.
    KeyReused,
}

/// What came of a command, as of the moment it was decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    OfferCreated(OfferView),
    OfferAmended(OfferView),
    Blocked(OfferView),
    Unblocked(OfferView),
    Held {
        hold: HoldView,
        /// The holder had exactly this already.
        again: bool,
    },
    Extended(HoldView),
    Released(HoldView),
    /// Its holder has left, or had before: it ends when it says.
    Left(HoldView),
    Returned(HoldView),
    Confirmed(BookingView),
    Cancelled(BookingView),
    PaymentBegun(BookingView),
    /// Something was reported of a payment.
    Payment {
        booking: BookingView,
        /// It was news.
        changed: bool,
    },
    Tidied {
        expired: usize,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct OfferView {
    pub offer: Arc<Offer>,
    pub created_at: Moment,
    pub version: Version,
    /// Of all dense units; zero for a calendar, which is counted by range.
    pub counts: Counts,
}

/// A hold with the offers that give its lines their names.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldView {
    pub hold: Hold,
    pub offers: Vec<Arc<Offer>>,
    pub at: Moment,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BookingView {
    pub booking: Booking,
    pub offers: Vec<Arc<Offer>>,
    pub at: Moment,
}

impl HoldView {
    pub fn offer_of(&self, line: &Line) -> &Arc<Offer> {
        offer_of(&self.offers, line)
    }
}

impl BookingView {
    pub fn offer_of(&self, line: &Line) -> &Arc<Offer> {
        offer_of(&self.offers, line)
    }
}

fn offer_of<'a>(offers: &'a [Arc<Offer>], line: &Line) -> &'a Arc<Offer> {
    offers.iter().find(|offer| *offer.id() == line.offer).expect("a view carries the offers of its lines")
}

/// A range of calendar cells, the end excluded.
pub type Cells = std::ops::Range<UnitNo>;

/// The units of an offer at one version. Cheap to clone: readers of one version share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub offer: Arc<Offer>,
    pub version: Version,
    pub as_of: Moment,
    pub counts: Counts,
    pub units: SnapshotUnits,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SnapshotUnits {
    Dense(Arc<[Unit]>),
    Cells(Arc<[(UnitNo, Unit)]>),
}

/// What a committed batch did to one offer's units. Each begins where the one before it led to.
///
/// Where a ledger had to read its books anew, nobody can say what happened meanwhile, only [where](Self::stands) an offer
/// stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub offer: OfferId,
    pub from: Version,
    pub to: Version,
    pub units: Vec<(UnitNo, UnitState)>,
}

impl Change {
    /// The offer stands at this version, however it came to that.
    pub const fn stands(offer: OfferId, at: Version) -> Self {
        Self { offer, from: at, to: at, units: Vec::new() }
    }

    /// It says where the offer stands, and not what became of it.
    pub fn only_stands(&self) -> bool {
        self.from == self.to
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub data: Vec<T>,
    /// Pass as `after` to go on, or to go back in the other order; `None` at the end.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    pub after: Option<String>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BookingFilter {
    pub offer: Option<OfferId>,
    /// With a line on this unit of the offer, which must be given too.
    pub unit: Option<String>,
    pub holder: Option<HolderId>,
    pub payment: Option<PaymentState>,
    /// Paid for by this payment of the provider's.
    pub intent: Option<IntentId>,
    pub order: Order,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JournalFilter {
    pub offer: Option<OfferId>,
    pub unit: Option<String>,
    pub hold: Option<HoldId>,
    pub booking: Option<BookingId>,
    pub order: Order,
}

/// A journal entry in words: names instead of numbers, states before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    pub seq: u64,
    pub at: Moment,
    pub actor: String,
    pub kind: String,
    /// The first offer concerned.
    pub offer: Option<String>,
    /// The keys of all units concerned.
    pub units: Vec<String>,
    pub hold: Option<String>,
    pub booking: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
    /// Of this entry and the chain before it, in hexadecimal.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    pub ready: bool,
    /// What works less well than it should, in words for an operator.
    pub degraded: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Admin,
    Seller,
}

/// An API key as it is kept: never the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    pub prefix: String,
    pub hash: [u8; 32],
    pub role: Role,
    pub created_at: Moment,
    pub revoked_at: Option<Moment>,
}

/// The ledger could not answer. Never a "no": that is a [`Refusal`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The queue is full, or the deadline passed before work began. Nothing happened.
    #[error("the ledger has more work than it can take")]
    Overloaded,
    /// Nothing happened, and nothing can until this heals.
    #[error("the ledger is out of reach: {0}")]
    Unavailable(Arc<str>),
    /// All of it happened or none; the same key finds out which.
    #[error("the outcome is unknown: {0}")]
    OutcomeUnknown(Arc<str>),
    /// The request itself cannot be understood, such as a page token that is none.
    #[error(transparent)]
    Invalid(#[from] holdfast_domain::Invalid),
}
