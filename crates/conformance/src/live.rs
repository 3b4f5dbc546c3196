//! A real ledger as a [`Subject`], on a clock that the script moves.
//!
//! The sweep is turned off: what an answer owes to it would show as a difference from the model, which sweeps only
//! when told to.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use holdfast_domain::{BookingId, HoldId, Moment, OfferId};
use holdfast_engine::{
    clock::{Clock, ManualClock},
    ledger::{
        BookingView, Cells, HoldView, JournalFilter, JournalRecord, Ledger, LedgerError, OfferView,
        PageRequest, Reply, Request, Snapshot,
        embedded::{self, EmbeddedLedger, Storage},
        postgres::{self, PostgresLedger, Time},
    },
    strategy::Claiming,
};
use tokio::runtime::Runtime;

use crate::subject::{Asked, Subject, render};

/// Longer than any command can take on a machine that is not standing still.
const PATIENCE: Duration = Duration::from_secs(60);

pub type Open = Box<dyn Fn(&Runtime, &Arc<ManualClock>) -> Result<Box<dyn Ledger>, LedgerError>>;

pub struct Live {
    /// `None` only while it restarts.
    ledger: Option<Box<dyn Ledger>>,
    open: Open,
    clock: Arc<ManualClock>,
    runtime: Runtime,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("ledger", &self.ledger)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

impl Live {
    pub fn embedded(storage: Storage, now: Moment) -> Self {
        Self::open(now, Box::new(move |_, clock| open_embedded(&storage, clock)))
    }

    /// On a database of its own: two subjects on one would see each other's offers.
    pub fn postgres(url: String, claiming: Claiming, now: Moment) -> Self {
        Self::open(
            now,
            Box::new(move |runtime, clock| open_postgres(&url, claiming, Some(true), runtime, clock)),
        )
    }

    /// Through a pooler that hands out connections by transaction, where nothing prepared is found again: found out, not
    /// said.
    pub fn postgres_by_transaction(url: String, claiming: Claiming, now: Moment) -> Self {
        Self::open(now, Box::new(move |runtime, clock| open_postgres(&url, claiming, None, runtime, clock)))
    }

    /// Any ledger, opened anew at every restart.
    pub fn open(now: Moment, open: Open) -> Self {
        Self::within(tokio::runtime::Builder::new_current_thread(), now, open)
    }

    /// The same, with a thread of its own for what goes on between two questions: a gate's looks at its servers.
    pub fn open_awake(now: Moment, open: Open) -> Self {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        threads.worker_threads(1);
        Self::within(threads, now, open)
    }

    fn within(mut runtime: tokio::runtime::Builder, now: Moment, open: Open) -> Self {
        let clock = Arc::new(ManualClock::at(now));
        let runtime = runtime.enable_all().build().expect("a runtime");
        let ledger = open(&runtime, &clock).expect("the ledger opens");
        Self { ledger: Some(ledger), open, clock, runtime }
    }

    fn ledger(&self) -> &dyn Ledger {
        self.ledger.as_deref().expect("open except while it restarts")
    }

    /// Every payment that is due, leased to nobody.
    pub fn payments_due(&self) -> Result<Vec<BookingId>, LedgerError> {
        let due = self.runtime.block_on(self.ledger().payments_due(1000, Duration::ZERO))?;
        Ok(due.into_iter().map(|view| view.booking.id).collect())
    }

    /// Every entry of the journal, page by page.
    pub fn records(&self) -> Result<Vec<JournalRecord>, LedgerError> {
        let (mut records, mut after) = (Vec::new(), None);
        loop {
            let page = PageRequest { after, limit: 1000 };
            let page = self.runtime.block_on(self.ledger().journal(JournalFilter::default(), page))?;
            records.extend(page.data);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(records),
            }
        }
    }
}

fn open_embedded(storage: &Storage, clock: &Arc<ManualClock>) -> Result<Box<dyn Ledger>, LedgerError> {
    Ok(Box::new(embedded_without_sweep(storage, clock)?))
}

pub fn embedded_without_sweep(
    storage: &Storage,
    clock: &Arc<ManualClock>,
) -> Result<EmbeddedLedger, LedgerError> {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let limits = embedded::Limits { tidy_slice: 0, idle_tidy_slice: 0, ..embedded::Limits::default() };
    let settings = embedded::Settings { limits, ..embedded::Settings::new(storage.clone(), clock, render()) };
    EmbeddedLedger::open(settings).map_err(|error| LedgerError::Unavailable(error.to_string().into()))
}

fn open_postgres(
    url: &str,
    claiming: Claiming,
    prepared_statements: Option<bool>,
    runtime: &Runtime,
    clock: &Arc<ManualClock>,
) -> Result<Box<dyn Ledger>, LedgerError> {
    Ok(Box::new(postgres_without_sweep(url, claiming, prepared_statements, runtime, clock)?))
}

pub fn postgres_without_sweep(
    url: &str,
    claiming: Claiming,
    prepared_statements: Option<bool>,
    runtime: &Runtime,
    clock: &Arc<ManualClock>,
) -> Result<PostgresLedger, LedgerError> {
    let mut settings = postgres::Settings::new(url, render());
    settings.time = Time::Given(Arc::clone(clock) as _);
    settings.claiming = claiming;
    settings.limits.tidy_every = None;
    settings.connecting.connections = 4;
    settings.connecting.urgent_connections = 2;
    settings.connecting.prepared_statements = prepared_statements;
    runtime.block_on(PostgresLedger::open(settings))
}

/// From now on the monotonic clock, for requests that must not be dropped.
#[expect(clippy::disallowed_methods, reason = "a deadline is measured, not decided upon")]
pub fn patiently() -> Instant {
    Instant::now() + PATIENCE
}

impl Subject for Live {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn tick(&mut self, ms: i64) {
        self.clock.advance_ms(ms);
    }

    fn execute(&mut self, Asked { command, actor, key }: Asked) -> Result<Reply, LedgerError> {
        let request = Request { command, actor, key, wording: None, deadline: patiently() };
        self.runtime.block_on(self.ledger().execute(request))
    }

    fn offer(&mut self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        self.runtime.block_on(self.ledger().offer(id))
    }

    fn snapshot(&mut self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        self.runtime.block_on(self.ledger().snapshot(id, cells))
    }

    fn hold(&mut self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        self.runtime.block_on(self.ledger().hold(id))
    }

    fn booking(&mut self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        self.runtime.block_on(self.ledger().booking(id))
    }

    fn journal(&mut self) -> Result<Vec<String>, LedgerError> {
        Ok(self.records()?.into_iter().map(|record| record.kind).collect())
    }

    fn restart(&mut self) -> Result<(), LedgerError> {
        self.ledger = None;
        self.ledger = Some((self.open)(&self.runtime, &self.clock)?);
        Ok(())
    }
}
