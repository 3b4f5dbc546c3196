//! The embedded ledger: the state in memory, the journal in one SQLite file, one writer.
//!
//! ```text
//! execute ─► lanes ─► writer thread: decide ─► journal row ─► COMMIT ─► answer
//!                        │ owns State and the writing connection
//!                        └─ behind it, in slices: tables for people
//! ```
//! Owns the folder, the file and the thread. Every yes is on disk before anybody hears it; a no costs no disk
//! unless it leans on a yes that is not there yet. Any failed write ends in a reload from disk, never in a retry.
//!
//! Deliberately absent: rules of selling (`holdfast_domain` alone decides), wording of answers (the caller's
//! [`Render`]), HTTP.

mod answers;
mod batch;
mod checkpoint;
mod error;
mod gate;
mod journal;
pub mod keys;
pub(super) mod lanes;
mod leases;
mod lists;
mod live;
mod reads;
mod recovery;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod upkeep;
pub mod verify;
mod wal;
mod writer;

use std::{
    sync::{Arc, atomic::AtomicU64},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use holdfast_domain::{BookingId, HoldId, OfferId};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot};

use self::{
    batch::unavailable,
    lanes::{Bounds, Job, Lanes},
    leases::Leases,
    live::Live,
    reads::{Asker, Read},
    store::{FolderLock, Place},
    writer::{Shared, Status, Writer},
};
pub use self::{error::StoreError, store::Storage, verify::verify};
use super::{
    BookingFilter, BookingView, Cells, Change, Health, HoldView, JournalFilter, JournalRecord, Ledger,
    LedgerError, OfferView, Page, PageRequest, Render, Reply, Request, Snapshot, StoredKey,
};
use crate::clock::Clock;

/// Everything that a ledger needs to open.
#[derive(Clone)]
pub struct Settings {
    pub storage: Storage,
    pub clock: Arc<dyn Clock>,
    pub render: Render,
    pub limits: Limits,
}

impl Settings {
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, render: Render) -> Self {
        Self { storage, clock, render, limits: Limits::default() }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { storage, clock, limits, render: _ } = self;
        f.debug_struct("Settings")
            .field("storage", storage)
            .field("clock", clock)
            .field("limits", limits)
            .finish()
    }
}

/// The bounds of everything that could grow.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Commands decided per commit.
    pub max_batch: usize,
    /// How long a batch may wait for as many commands as the one before it had.
    pub gather: Duration,
    /// Waiting confirms, extensions, releases and cancellations.
    pub urgent_queue: usize,
    /// Waiting holds and organisers' commands.
    pub ordinary_queue: usize,
    /// Waiting reads.
    pub read_queue: usize,
    /// Expiries written down per batch while there is other work. No promise depends on the sweep: 0 here and below
    /// turns it off.
    pub tidy_slice: usize,
    /// The same while there is none.
    pub idle_tidy_slice: usize,
    /// How long one slice of upkeep may take.
    pub upkeep_slice: Duration,
    /// Entries that the tables may be behind before commands pay for them.
    pub max_tables_lag: u64,
    /// Answers to idempotency keys that may wait to be filed before commands pay for it.
    pub max_unfiled_answers: usize,
    /// How long the answers to idempotency keys are kept.
    pub answers_kept: Duration,
    /// Journal entries from one checkpoint to the next; `None` for no checkpoints.
    pub checkpoint_every: Option<u64>,
    /// The most that the file may grow to; beyond it the ledger answers as it does when the disk is full.
    pub max_file_bytes: Option<u64>,
    /// Batches of changes that a slow listener may be behind before it loses some.
    pub change_backlog: usize,
    /// Rows on one page of a list, whatever is asked for.
    pub max_page: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_batch: 512,
            gather: Duration::from_millis(1),
            urgent_queue: 8192,
            ordinary_queue: 8192,
            read_queue: 8192,
            tidy_slice: 256,
            idle_tidy_slice: 1024,
            upkeep_slice: Duration::from_millis(4),
            max_tables_lag: 500_000,
            max_unfiled_answers: 200_000,
            answers_kept: Duration::from_secs(7 * 24 * 3600),
            checkpoint_every: Some(1_000_000),
            max_file_bytes: None,
            change_backlog: 1024,
            max_page: 1000,
        }
    }
}

/// The handle: sends work to the writer and waits for its answer.
#[derive(Debug)]
pub struct EmbeddedLedger {
    shared: Arc<Shared>,
    place: Place,
    /// For lists, off the writer's thread. In memory, its being open is also what keeps the books alive.
    reader: Arc<Mutex<Connection>>,
    max_page: usize,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Asked for one after another, so that nobody is handed what another one is about to be.
    leases: tokio::sync::Mutex<Leases>,
    /// Of a gate's memory: another one each time these books are opened.
    epoch: AtomicU64,
    _lock: Option<FolderLock>,
}

impl EmbeddedLedger {
    /// Takes the folder, loads the books and starts the writer. Blocks while it loads.
    pub fn open(settings: Settings) -> Result<Self, StoreError> {
        let Settings { storage, clock, render, limits } = settings;
        let (place, lock) = Place::claim(&storage)?;
        let live = Live::load(&place, &limits)?;
        let reader = Arc::new(Mutex::new(place.reader()?));
        let bounds = Bounds {
            urgent: limits.urgent_queue,
            ordinary: limits.ordinary_queue,
            reads: limits.read_queue,
            gather: limits.gather,
        };
        let shared = Arc::new(Shared {
            lanes: Lanes::new(bounds),
            changes: broadcast::Sender::new(limits.change_backlog),
            status: Status::default().into(),
        });
        let max_page = limits.max_page;
        let epoch = AtomicU64::new(clock.now().ms().max(1) as u64);
        let writer = Writer { place: place.clone(), shared: Arc::clone(&shared), clock, render, limits };
        let thread = std::thread::Builder::new().name("ledger-writer".into()).spawn(move || writer.run(live));
        let no_thread = |source| StoreError::Folder { dir: "the writer's thread".into(), source };
        let writer = Mutex::new(Some(thread.map_err(no_thread)?));
        let leases = tokio::sync::Mutex::default();
        Ok(Self { shared, place, reader, max_page, writer, leases, epoch, _lock: lock })
    }

    /// Serves what waits, brings the tables up to date and closes the file.
    pub async fn shutdown(&self) {
        self.shared.status.write().down = Some("the ledger has stopped".into());
        self.shared.lanes.close();
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            // A writer that panicked has logged why; there is nothing left to wait for.
            drop(tokio::task::spawn_blocking(move || writer.join()).await);
        }
    }

    async fn ask<T>(&self, read: impl FnOnce(Asker<T>) -> Read) -> Result<T, LedgerError> {
        let (to, answer) = oneshot::channel();
        self.shared.lanes.read(read(to))?;
        answer.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Lists from the tables once they show all that is committed now.
    async fn list<T: Send + 'static>(
        &self,
        list: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.ask(Read::TablesCaughtUp).await?;
        self.query("reading a list", list).await
    }

    async fn query<T: Send + 'static>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let reader = Arc::clone(&self.reader);
        let rows =
            tokio::task::spawn_blocking(move || query(&reader.lock())).await.map_err(|_| self.gone())?;
        rows.map_err(|why| unavailable(&StoreError::while_(doing)(why)))
    }

    fn gone(&self) -> LedgerError {
        let why = self.shared.status.read().down.clone();
        LedgerError::Unavailable(why.unwrap_or_else(|| "the ledger has stopped".into()).into())
    }
}

impl Drop for EmbeddedLedger {
    /// Waits for the writer, so that whoever opens the folder next finds it free.
    fn drop(&mut self) {
        self.shared.status.write().hurry = true;
        self.shared.lanes.close();
        if let Some(writer) = self.writer.lock().take() {
            drop(writer.join());
        }
    }
}

#[async_trait]
impl Ledger for EmbeddedLedger {
    async fn execute(&self, request: Request) -> Result<Reply, LedgerError> {
        let (reply, answer) = oneshot::channel();
        self.shared.lanes.submit(Job { request, reply })?;
        let lost = || LedgerError::OutcomeUnknown("the ledger stopped while this was under way".into());
        answer.await.unwrap_or_else(|_| Err(lost()))
    }

    async fn offer(&self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        self.ask(|to| Read::Offer(id.clone(), to)).await
    }

    async fn offers(&self, after: Option<OfferId>, limit: usize) -> Result<Page<OfferView>, LedgerError> {
        self.ask(|to| Read::Offers(after, limit.clamp(1, self.max_page), to)).await
    }

    async fn snapshot(&self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        self.ask(|to| Read::Snapshot(id.clone(), cells, to)).await
    }

    async fn hold(&self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        self.ask(|to| Read::Hold(id, to)).await
    }

    async fn holds_ending(&self, offer: &OfferId, limit: usize) -> Result<Vec<HoldView>, LedgerError> {
        self.ask(|to| Read::HoldsEnding(offer.clone(), limit.clamp(1, self.max_page), to)).await
    }

    async fn booking(&self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        self.ask(|to| Read::Booking(id, to)).await
    }

    async fn bookings(
        &self,
        filter: BookingFilter,
        page: PageRequest,
    ) -> Result<Page<BookingView>, LedgerError> {
        let (gap, limit) = (filter.order.begins(&page)?, page.limit.clamp(1, self.max_page));
        let ids = self.list(move |from| lists::bookings(from, &filter, gap, limit)).await?;
        let data = self.ask(|to| Read::Bookings(ids.data, to)).await?;
        Ok(Page { data, next: ids.next })
    }

    async fn payments_due(&self, limit: usize, lease: Duration) -> Result<Vec<BookingView>, LedgerError> {
        let limit = limit.clamp(1, self.max_page);
        let mut leases = self.leases.lock().await;
        let look_at = limit + leases.count();
        let due = self.ask(|to| Read::PaymentsDue(look_at, to)).await?;
        Ok(leases.take(due, limit, lease))
    }

    async fn payments_parked(&self) -> Result<usize, LedgerError> {
        self.ask(Read::PaymentsParked).await
    }

    async fn journal(
        &self,
        filter: JournalFilter,
        page: PageRequest,
    ) -> Result<Page<JournalRecord>, LedgerError> {
        let (gap, limit) = (filter.order.begins(&page)?, page.limit.clamp(1, self.max_page));
        self.list(move |from| lists::journal(from, &filter, gap, limit)).await
    }

    fn changes(&self) -> broadcast::Receiver<Arc<[Change]>> {
        self.shared.changes.subscribe()
    }

    async fn health(&self) -> Health {
        let status = self.shared.status.read().clone();
        let ready = status.down.is_none();
        Health { ready, degraded: status.down.into_iter().chain(status.trouble).collect() }
    }

    async fn find_key(&self, prefix: &str) -> Result<Option<StoredKey>, LedgerError> {
        let prefix = prefix.to_owned();
        self.query("looking up an API key", move |from| keys::find(from, &prefix)).await
    }

    async fn add_key(&self, key: StoredKey) -> Result<(), LedgerError> {
        let place = self.place.clone();
        let add = move || keys::insert(&place.writer()?, &key).map_err(StoreError::while_("adding a key"));
        let added = tokio::task::spawn_blocking(add).await.map_err(|_| self.gone())?;
        added.map_err(|why| unavailable(&why))
    }
}

#[expect(clippy::disallowed_methods, reason = "deadlines and budgets are measured, not decided upon")]
pub(super) fn instant_now() -> Instant {
    Instant::now()
}
