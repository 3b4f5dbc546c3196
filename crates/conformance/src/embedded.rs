//! The embedded ledger as a [`Subject`], on a clock that the script moves.
//!
//! The sweep is turned off: what an answer owes to it would show as a difference from the model, which sweeps only
//! when told to.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use holdfast_domain::{BookingId, HoldId, Moment, OfferId};
use holdfast_engine::{
    clock::{Clock, ManualClock},
    ledger::{
        BookingView, Cells, HoldView, JournalFilter, JournalRecord, Ledger, LedgerError, OfferView,
        PageRequest, Reply, Request, Snapshot,
        embedded::{EmbeddedLedger, Limits, Settings, Storage},
    },
};
use tokio::runtime::Runtime;

use crate::subject::{Asked, Subject, render};

/// Longer than any command can take on a machine that is not standing still.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Embedded {
    /// `None` only while it restarts.
    ledger: Option<EmbeddedLedger>,
    storage: Storage,
    clock: Arc<ManualClock>,
    runtime: Runtime,
}

impl Embedded {
    pub fn open(storage: Storage, now: Moment) -> Self {
        let clock = Arc::new(ManualClock::at(now));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let ledger = open(&storage, &clock).expect("the ledger opens");
        Self { ledger: Some(ledger), storage, clock, runtime }
    }

    fn ledger(&self) -> &EmbeddedLedger {
        self.ledger.as_ref().expect("open except while it restarts")
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

fn open(storage: &Storage, clock: &Arc<ManualClock>) -> Result<EmbeddedLedger, LedgerError> {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let limits = Limits { tidy_slice: 0, idle_tidy_slice: 0, ..Limits::default() };
    let settings = Settings { limits, ..Settings::new(storage.clone(), clock, render()) };
    EmbeddedLedger::open(settings).map_err(|error| LedgerError::Unavailable(error.to_string().into()))
}

/// From now on the monotonic clock, for requests that must not be dropped.
#[expect(clippy::disallowed_methods, reason = "a deadline is measured, not decided upon")]
pub fn patiently() -> Instant {
    Instant::now() + PATIENCE
}

impl Subject for Embedded {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn tick(&mut self, ms: i64) {
        self.clock.advance_ms(ms);
    }

    fn execute(&mut self, Asked { command, actor, key }: Asked) -> Result<Reply, LedgerError> {
        let request = Request { command, actor, key, deadline: patiently() };
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
        self.ledger = Some(open(&self.storage, &self.clock)?);
        Ok(())
    }
}
