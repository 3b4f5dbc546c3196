//! The gate: says no fast, and never yes.
//!
//! ```text
//!               ┌─ Refuse: what stands in the way, from committed facts only
//! ask(request) ─┼─ Busy, TooMany: come back later
//!               └─ Pass ─► ledger decides ─► settle(pass, what it said) ─► answer
//! ```
//! A [`Gate`] stands before the ledger and may only refuse, or say "ask the ledger". Whatever it forgets costs
//! speed, never a sale: only the ledger's committed write is a yes. It learns of every commit in
//! [`settle`](Gate::settle), after the commit and before the caller's answer, so whoever has heard that a seat is
//! free again is not refused it.
//!
//! **What a gate must not hide.** A holder who already has one of the units asked for is never refused here: the
//! ledger may owe it its own hold back. A request with an idempotency key that the gate would refuse is first
//! looked up in the books ([`GateBooks::answered`]); where the key was used, or where nobody can tell, the ledger
//! answers. So a key's first answer is found however the sale went on.
//!
//! Deliberately absent: decisions (the ledger's), clocks of its own for the end of a hold (a hold ends by the
//! ledger's clock, which arrives through [`Clock`](crate::clock::Clock)).

mod open;
pub mod redis;
mod wish;
mod wording;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use holdfast_domain::{HoldId, HolderId, Line, Moment, Offer, OfferId, Refusal, UnitNo, Version};

use crate::ledger::{IdempotencyKey, LedgerError, Reply, Request};

pub use open::Open;

#[async_trait]
pub trait Gate: Send + Sync + fmt::Debug {
    /// Before the ledger: may this request go on? Answers within its own time limit, whatever happens to the gate.
    async fn ask(&self, request: &Request) -> Verdict;

    /// After the ledger: what it said, to a request that was passed. Returns when the gate knows, or has given up.
    async fn settle(&self, pass: Pass, said: &Result<Reply, LedgerError>);

    /// What the gate must hear of a request also when whoever asked has gone.
    fn must_hear(&self) -> MustHear;

    /// What works less well than it should, in words for an operator. Bookings go on regardless.
    fn degraded(&self) -> Vec<String>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MustHear {
    Nothing,
    /// A commit it does not hear of can make it wrong. A question that nobody waits for any more cannot.
    Commits,
    /// Even a question leaves something behind that has to be given back.
    Everything,
}

#[derive(Debug)]
pub enum Verdict {
    /// Ask the ledger, then settle.
    Pass(Pass),
    Refuse(Refusal),
    /// Others are busy with the same units, for longer than it is worth waiting.
    Busy,
    /// This holder asks more often than it may.
    TooMany(Quota),
}

/// Leave to ask the ledger, and what the gate keeps in mind until it has spoken.
#[derive(Debug, Default)]
pub struct Pass(Note);

#[derive(Debug, Default)]
enum Note {
    /// Nothing was set aside for this request.
    #[default]
    Nothing,
    /// On a slate.
    Passing(redis::Passing),
    /// Under locks.
    Locked(redis::Locked),
    /// It may end what the gate refuses others for.
    MayEnd(redis::Ending),
}

impl Pass {
    pub fn freely() -> Self {
        Self::default()
    }
}

/// What the books say, if they say it while somebody waits for it. The timer is boxed: it wants memory of its own
/// alignment, and most who are refused never get this far.
async fn in_time<T>(deadline: Instant, asked: impl Future<Output = T>) -> Option<T> {
    Box::pin(tokio::time::timeout_at(deadline.into(), asked)).await.ok()
}

/// How much one caller may ask for, and when it may again. What `RateLimit` headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// The limit's name.
    pub policy: &'static str,
    /// What is let through after a quiet time.
    pub burst: u32,
    /// The time in which it has grown back when it is used up.
    pub window: Duration,
    pub retry_after: Duration,
}

/// Which life of the books a gate's memory belongs to. Counted by the ledger, so that no gate can mistake an old
/// memory for the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a gate asks of the books, beside the ledger's port: enough to begin again from nothing.
#[async_trait]
pub trait GateBooks: Send + Sync + fmt::Debug {
    async fn epoch(&self) -> Result<Epoch, LedgerError>;

    /// Begins the epoch after `seen`, unless somebody has; either way, the epoch there is now. One atomic step.
    async fn next_epoch(&self, seen: Epoch) -> Result<Epoch, LedgerError>;

    /// Everything that is claimed in an offer now: all that was committed before the question and has not ended.
    async fn live_claims(&self, offer: &OfferId) -> Result<Option<OfferClaims>, LedgerError>;

    /// Whether the key may have been answered before. Cheap, and asked only for what the gate would refuse; "yes"
    /// when in doubt.
    async fn answered(&self, key: &IdempotencyKey) -> Result<bool, LedgerError>;
}

/// An offer and what is claimed in it, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferClaims {
    pub offer: Arc<Offer>,
    pub blocked: Vec<UnitNo>,
    pub claims: Vec<Claim>,
}

/// One hold or booking, as far as one offer is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub hold: HoldId,
    pub holder: HolderId,
    /// Every unit claimed, buffers of a service included, and how many of it.
    pub units: Vec<(UnitNo, u32)>,
    /// What counts towards the holder's limit.
    pub stake: u64,
    /// When it ends by itself; a booking does not.
    pub until: Option<Moment>,
    /// The entry that made it so: of two words about one claim the newer counts.
    pub version: Version,
}

impl Claim {
    /// What is claimed, whoever claims it.
    fn wants(&self) -> (u64, &[(UnitNo, u32)]) {
        (self.stake, &self.units)
    }

    /// A hold or booking with these lines, as far as `offer` is concerned.
    pub fn of(
        lines: &[Line],
        offer: &OfferId,
        hold: HoldId,
        holder: &HolderId,
        until: Option<Moment>,
        version: Version,
    ) -> Self {
        let here = || lines.iter().filter(|line| line.offer == *offer);
        Self {
            hold,
            holder: holder.clone(),
            units: here().flat_map(|line| line.units().map(|unit| (unit, line.qty))).collect(),
            stake: here().map(|line| u64::from(line.qty)).sum(),
            until,
            version,
        }
    }
}
