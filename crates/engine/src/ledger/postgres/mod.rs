//! The PostgreSQL ledger: one set of books, any number of nodes.
//!
//! ```text
//! request ─► decided on the node's copy ─► claimed in PostgreSQL ─► COMMIT ─► yes
//!                 ▲        └─ no? look at the journal again ─► still no ─► no
//!                 └──────── journal rows that are new, whoever wrote them
//! ```
//! Every node keeps a copy of the state ([`replica`]) and decides on it with the pure model, so every ledger gives
//! the model's answers. PostgreSQL makes them true: constraints stand behind every write, each way of claiming
//! ([`claims`], one file each) verifies what was decided against the rows themselves, and the journal, the keys'
//! answers and the effect commit together.
//!
//! Lives in PostgreSQL's time: the clock is read after the locks are held.

mod answers;
mod batch;
mod chains;
mod claims;
mod clock;
mod condition;
mod dial;
mod effects;
mod feed;
mod gate;
mod heard;
mod holds;
pub mod inspect;
pub mod keys;
mod known;
mod lanes;
mod lists;
mod loading;
mod own_thread;
mod parts;
mod payments;
mod replica;
mod rooms;
mod rows;
mod schema;
pub mod secrets;
mod session;
mod start;
mod upkeep;
mod verify;
mod write;

use std::{collections::BTreeSet, ops, sync::Arc, time::Duration};

use async_trait::async_trait;
use holdfast_domain::{BookingId, HoldId, OfferId};
use tokio::sync::{RwLockReadGuard, RwLockWriteGuard, broadcast};

use self::{
    batch::{Patience, Settled},
    chains::Chains,
    claims::{Claim, Queues},
    condition::Condition,
    feed::Feed,
    known::Known,
    lanes::{Lanes, Turn},
    loading::{Loads, SharedCopy},
    own_thread::OwnThread,
    replica::{Replica, Unseen},
    session::{Sessions, Trouble},
    start::Start,
};
pub use self::{
    dial::{BadAddress, Dial, DialError},
    replica::Time,
    session::Connecting,
    verify::verify,
};
use super::{
    BookingFilter, BookingView, Cells, Change, Health, HoldView, JournalFilter, JournalRecord, Ledger,
    LedgerError, OfferView, Page, PageRequest, Render, Reply, Request, Snapshot, StoredKey,
    views::{booking_view, hold_view, holds_ending, offer_view, offers},
};
use crate::strategy::Claiming;

/// Everything that the ledger needs to open.
#[derive(Clone)]
pub struct Settings {
    pub connecting: Connecting,
    /// How the units of a hold are come by.
    pub claiming: Claiming,
    pub time: Time,
    pub render: Render,
    pub limits: Limits,
}

impl Settings {
    pub fn new(url: impl Into<String>, render: Render) -> Self {
        Self {
            connecting: Connecting::to(url),
            claiming: Claiming::Batched,
            time: Time::Database,
            render,
            limits: Limits::default(),
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may carry a password.
        f.debug_struct("Settings")
            .field("time", &self.time)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The bounds of everything that could grow.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Requests decided in one transaction.
    pub max_batch: usize,
    /// Batches under way at once: while one commits, the next one waits for its locks.
    pub batches: usize,
    /// Requests waiting in each lane.
    pub queue: usize,
    /// How often a transaction that lost a race is tried before the caller hears "overloaded".
    pub attempts: u32,
    /// Of the `queue` strategy: how many of one offer's requests are in the database at once …
    pub workers_per_offer: usize,
    /// … and how many may be in its line.
    pub queue_per_offer: usize,
    /// How often the journal is followed when nobody asks.
    pub follow_every: Duration,
    /// How old the copy may be when PostgreSQL is out of reach and somebody only wants to look.
    pub max_read_age: Duration,
    /// How long a reader waits for the copy.
    pub read_patience: Duration,
    /// How often expired holds are written down; no promise depends on it. `None` turns it off.
    pub tidy_every: Option<Duration>,
    /// Expiries written down at once.
    pub tidy_slice: usize,
    /// How long the answers to idempotency keys are kept.
    pub answers_kept: Duration,
    /// Batches of changes that a slow listener may be behind before it loses some.
    pub change_backlog: usize,
    /// Rows on one page of a list, whatever is asked for.
    pub max_page: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_batch: 512,
            batches: 2,
            queue: 8192,
            attempts: 10,
            workers_per_offer: 4,
            queue_per_offer: 1024,
            follow_every: Duration::from_millis(100),
            max_read_age: Duration::from_secs(5),
            read_patience: Duration::from_secs(2),
            tidy_every: Some(Duration::from_millis(500)),
            tidy_slice: 512,
            answers_kept: Duration::from_secs(7 * 24 * 3600),
            change_backlog: 1024,
            max_page: 1000,
        }
    }
}

/// What everything here shares.
struct Books {
    sessions: Sessions,
    copy: SharedCopy,
    loads: Loads,
    feed: Feed,
    time: Time,
    render: Render,
    limits: Limits,
    changes: broadcast::Sender<Arc<[Change]>>,
    chains: Chains,
    condition: Condition,
}

impl std::fmt::Debug for Books {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Books")
            .field("condition", &self.condition)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The copy while somebody changes it. Between [`mark_uncommitted`](Writable::mark_uncommitted) and
/// [`mark_committed`](Writable::mark_committed) it shows what may never happen; however that ends, by an error or a panic,
/// such a copy is seen by nobody.
struct Writable<'a> {
    copy: RwLockWriteGuard<'a, Option<Replica>>,
    uncommitted: bool,
}

impl ops::Deref for Writable<'_> {
    type Target = Replica;
    fn deref(&self) -> &Replica {
        self.copy.as_ref().expect("loaded when it was taken")
    }
}

impl ops::DerefMut for Writable<'_> {
    fn deref_mut(&mut self) -> &mut Replica {
        self.copy.as_mut().expect("loaded when it was taken")
    }
}

impl Writable<'_> {
    const fn mark_uncommitted(&mut self) {
        self.uncommitted = true;
    }

    const fn mark_committed(&mut self) {
        self.uncommitted = false;
    }
}

impl Drop for Writable<'_> {
    fn drop(&mut self) {
        if self.uncommitted {
            // The next who needs it has it loaded anew.
            *self.copy = None;
            metrics::counter!("holdfast_ledger_reloads_total").increment(1);
        }
    }
}

impl Books {
    /// Brings the schema up to date and loads the copy, however long that takes.
    async fn load(self: Arc<Self>) -> Result<(), Trouble> {
        schema::migrate(&self.sessions).await?;
        self.loads.ended().await
    }

    /// The copy, to be changed. Whoever has it before gives it back in bounded time; only a load may lose our patience.
    async fn writable(&self) -> Result<Writable<'_>, Trouble> {
        loop {
            let copy = self.copy.write().await;
            if copy.is_some() {
                return Ok(Writable { copy, uncommitted: false });
            }
            drop(copy);
            self.in_time(self.loads.ended()).await?;
        }
    }

    async fn loaded(&self) -> Result<RwLockReadGuard<'_, Replica>, Trouble> {
        self.in_time(async {
            loop {
                if let Ok(copy) = RwLockReadGuard::try_map(self.copy.read().await, Option::as_ref) {
                    return Ok(copy);
                }
                self.loads.ended().await?;
            }
        })
        .await
    }

    /// Nobody waits longer for the copy than this. A load that takes longer goes on without those who left.
    async fn in_time<T>(&self, copy: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let slow = || Trouble::Down("the copy of the books cannot be had in time".into());
        tokio::time::timeout(self.limits.read_patience, copy).await.unwrap_or_else(|_| Err(slow()))
    }

    /// Returns when there is a copy, whoever may be busy with it: before any lock is taken, for a load may be long.
    async fn has_copy(&self) -> Result<(), Trouble> {
        let missing = self.copy.try_read().is_ok_and(|copy| copy.is_none());
        if missing { self.loaded().await.map(drop) } else { Ok(()) }
    }

    async fn follow(&self, unseen: &Unseen) -> Result<(), Trouble> {
        let mut copy = self.writable().await?;
        self.follow_with(&mut copy, unseen)?;
        copy.hear(&self.time, unseen.clock);
        Ok(())
    }

    /// Brings the copy level, or throws it away when that cannot be done entry by entry.
    fn follow_with(&self, copy: &mut Writable<'_>, unseen: &Unseen) -> Result<(), Trouble> {
        // Should an entry panic, the copy has half of it.
        copy.mark_uncommitted();
        match copy.follow(unseen) {
            Ok(changes) => {
                copy.mark_committed();
                self.announce(changes);
                Ok(())
            }
            Err(replica::TooFarBehind) => {
                // These may be other books than this node wrote its chains to. Of the same books it costs new chains.
                self.chains.forget();
                Err(Trouble::lost("the copy of the books is loaded anew"))
            }
        }
    }

    /// The copy has followed all that is there. Where that did not make it level, it is a copy of other books: of those
    /// that a failover lost the end of, or that a backup took the place of.
    fn discard_unless(&self, level: bool, copy: &mut Writable<'_>) -> Result<(), Trouble> {
        if level {
            return Ok(());
        }
        tracing::warn!("the books are not those that this node knew: its copy is loaded anew");
        self.chains.forget();
        copy.mark_uncommitted();
        Err(Trouble::lost("the copy of the books is loaded anew"))
    }

    fn announce(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            // Nobody may be listening; then nobody is told.
            drop(self.changes.send(changes.into()));
        }
    }

    /// Settles these requests in one transaction, holding the offers they are about and those in `also`. The turn is
    /// passed on once all is written.
    async fn settle(
        &self,
        requests: &[&Request],
        also: BTreeSet<OfferId>,
        patience: Patience,
        turn: &mut Turn,
    ) -> Result<Vec<Settled>, Trouble> {
        let mut offers = also;
        // The copy may be busy with the batch before; whoever need not ask it begins meanwhile.
        let named: Option<Vec<_>> = requests.iter().map(|request| batch::named(&request.command)).collect();
        match named {
            Some(named) => {
                self.has_copy().await?;
                offers.extend(named.into_iter().flatten());
            }
            None => {
                let copy = self.loaded().await?;
                let now = copy.about_now(&self.time);
                let about = |request: &&Request| batch::concerned(&copy.state, &request.command, now);
                offers.extend(requests.iter().flat_map(about));
            }
        }
        batch::settle(self, requests, offers, patience, turn).await
    }
}

/// The handle that the rest of the engine holds.
#[derive(Debug)]
pub struct PostgresLedger {
    books: Arc<Books>,
    lanes: Lanes,
    known: Known,
    /// How units are come by one by one; `None` where batches do it.
    claim: Option<Arc<dyn Claim>>,
    queues: Option<Queues>,
    /// Where the batches, the feed and the upkeep run; they end with it.
    _thread: OwnThread,
}

impl PostgresLedger {
    /// Brings the schema up to date, loads the copy and begins to serve.
    pub async fn open(settings: Settings) -> Result<Self, LedgerError> {
        let Settings { connecting, claiming, time, render, limits } = settings;
        let (feed, questions) = Feed::new(limits.queue);
        let (lanes, waiting) = Lanes::new(limits.queue);
        let (known, keys) = Known::new(limits.queue);
        let thread = OwnThread::start().map_err(|why| LedgerError::Unavailable(why.to_string().into()))?;
        let (sessions, copy) = (Sessions::new(&connecting, limits.batches)?, SharedCopy::default());
        let changes = broadcast::Sender::new(limits.change_backlog);
        let books = Arc::new(Books {
            loads: Loads::new(
                Arc::clone(&copy),
                sessions.clone(),
                time.clone(),
                changes.clone(),
                thread.handle(),
            ),
            sessions,
            copy,
            feed,
            time,
            render,
            changes,
            limits,
            chains: Chains::default(),
            condition: Condition::default(),
        });
        let loaded = thread.spawn(Arc::clone(&books).load()).await;
        loaded.unwrap_or_else(|why| Err(Trouble::Down(why.to_string().into())))?;
        books.sessions.find_out().await?;
        let limits = &books.limits;
        let waiting = Arc::new(tokio::sync::Mutex::new(waiting));
        let turns = Arc::new(tokio::sync::Semaphore::new(1));
        thread.spawn(feed::run(Arc::clone(&books), questions, limits.follow_every));
        for _ in 0..limits.batches {
            let (books, waiting, turns) = (Arc::clone(&books), Arc::clone(&waiting), Arc::clone(&turns));
            thread.spawn(lanes::work(books, waiting, lanes.back(), turns));
        }
        thread.spawn(known::run(Arc::clone(&books), keys));
        thread.spawn(upkeep::run(Arc::clone(&books)));
        thread.spawn(condition::run(Arc::clone(&books)));
        let queues = (claiming == Claiming::Queue)
            .then(|| Queues::new(books.limits.workers_per_offer, books.limits.queue_per_offer));
        Ok(Self { books, lanes, known, claim: claims::by(claiming), queues, _thread: thread })
    }

    async fn work(&self, request: Request, start: &Start) -> Result<Reply, LedgerError> {
        match &self.claim {
            Some(claim) if claims::is_by_unit(&request.command) => {
                // A walk of several statements is a large thing to carry: whoever only queues for a batch would
                // have to move it about as well.
                let work = Box::pin(claims::execute(&self.books, &**claim, &request, start));
                match &self.queues {
                    Some(queues) => queues.serve(&request, work).await,
                    None => work.await,
                }
            }
            _ => self.lanes.submit(request, start.clone()).await,
        }
    }

    /// A read that shows everything that was committed when it began.
    async fn level(&self) -> Result<RwLockReadGuard<'_, Replica>, LedgerError> {
        self.books.feed.level().await?;
        Ok(self.books.loaded().await?)
    }

    /// A read that may be a moment old while PostgreSQL is out of reach.
    async fn nearly_level(&self) -> Result<RwLockReadGuard<'_, Replica>, LedgerError> {
        let level = self.books.feed.level().await;
        let copy = self.books.loaded().await?;
        match level {
            Ok(()) => Ok(copy),
            Err(Trouble::Down(_) | Trouble::Refused(_) | Trouble::Unwritable(_))
                if copy.age() <= self.books.limits.max_read_age =>
            {
                Ok(copy)
            }
            // Busy is not out of reach: an old answer would be a wrong one.
            Err(trouble) => Err(trouble.into()),
        }
    }
}

/// Brings the schema up to date; returns what was applied.
pub async fn migrate(connecting: &Connecting) -> Result<Vec<String>, LedgerError> {
    Ok(schema::migrate(&Sessions::new(connecting, 0)?).await?)
}

#[async_trait]
impl Ledger for PostgresLedger {
    /// Nobody is kept beyond the deadline. What has not begun by then never will; of what is under way all that can be
    /// said is that nobody knows.
    async fn execute(&self, request: Request) -> Result<Reply, LedgerError> {
        let (deadline, start) = (request.deadline.into(), Start::default());
        match tokio::time::timeout_at(deadline, self.work(request, &start)).await {
            Ok(told) => told,
            Err(_) if start.give_up() => Err(LedgerError::Overloaded),
            Err(_) => Err(LedgerError::OutcomeUnknown("PostgreSQL did not answer in time".into())),
        }
    }

    async fn offer(&self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        Ok(self.nearly_level().await?.state.offer(id).map(offer_view))
    }

    async fn offers(&self, after: Option<OfferId>, limit: usize) -> Result<Page<OfferView>, LedgerError> {
        let limit = limit.clamp(1, self.books.limits.max_page);
        offers(&self.nearly_level().await?.state, after.as_ref(), limit)
    }

    async fn snapshot(&self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        let copy = self.nearly_level().await?;
        let now = copy.about_now(&self.books.time);
        Ok(copy.state.offer(id).map(|offer| copy.snapshots.lock().take(offer, cells, now)))
    }

    async fn hold(&self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        let copy = self.level().await?;
        let now = copy.about_now(&self.books.time);
        Ok(copy.state.hold(id, now).map(|hold| hold_view(&copy.state, hold, now)))
    }

    async fn holds_ending(&self, offer: &OfferId, limit: usize) -> Result<Vec<HoldView>, LedgerError> {
        let copy = self.nearly_level().await?;
        let now = copy.about_now(&self.books.time);
        Ok(holds_ending(&copy.state, offer, limit.clamp(1, self.books.limits.max_page), now))
    }

    async fn booking(&self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        let copy = self.level().await?;
        let now = copy.about_now(&self.books.time);
        Ok(copy.state.booking(id).map(|booking| booking_view(&copy.state, booking, now)))
    }

    async fn bookings(
        &self,
        filter: BookingFilter,
        page: PageRequest,
    ) -> Result<Page<BookingView>, LedgerError> {
        let limit = page.limit.clamp(1, self.books.limits.max_page);
        Ok(lists::bookings(&self.books, &filter, filter.order.begins(&page)?, limit).await?)
    }

    async fn payments_due(&self, limit: usize, lease: Duration) -> Result<Vec<BookingView>, LedgerError> {
        let limit = limit.clamp(1, self.books.limits.max_page) as i64;
        let now = self.books.loaded().await?.about_now(&self.books.time);
        let session = self.books.sessions.urgent().await?;
        let leased = payments::lease(&session, now, lease.as_millis() as i64, limit).await?;
        drop(session);
        if leased.is_empty() {
            return Ok(Vec::new());
        }
        let copy = self.level().await?;
        let found = leased.into_iter().filter_map(|id| copy.state.booking(id));
        let mut due: Vec<_> =
            found.filter(|booking| booking.payment_due().is_some_and(|at| at <= now)).collect();
        due.sort_unstable_by_key(|booking| (booking.payment_due(), booking.id));
        Ok(due.into_iter().map(|booking| booking_view(&copy.state, booking, now)).collect())
    }

    async fn payments_parked(&self) -> Result<usize, LedgerError> {
        Ok(self.nearly_level().await?.state.payments_parked())
    }

    async fn journal(
        &self,
        filter: JournalFilter,
        page: PageRequest,
    ) -> Result<Page<JournalRecord>, LedgerError> {
        let limit = page.limit.clamp(1, self.books.limits.max_page);
        let gap = filter.order.begins(&page)?;
        drop(self.level().await?);
        Ok(lists::journal(&self.books, &filter, gap, limit).await?)
    }

    fn changes(&self) -> broadcast::Receiver<Arc<[Change]>> {
        self.books.changes.subscribe()
    }

    async fn health(&self) -> Health {
        self.books.condition.health()
    }

    async fn find_key(&self, prefix: &str) -> Result<Option<StoredKey>, LedgerError> {
        // Whoever confirms shows a key as well.
        let session = self.books.sessions.urgent().await?;
        Ok(keys::find(&session, prefix).await?)
    }

    async fn add_key(&self, key: StoredKey) -> Result<(), LedgerError> {
        let session = self.books.sessions.ordinary().await?;
        Ok(keys::put(&session, &key).await?)
    }
}
