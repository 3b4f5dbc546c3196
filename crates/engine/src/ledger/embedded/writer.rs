//! The writer: the one thread that owns the state and the connection that writes.
//!
//! ```text
//!          ┌────────────────────────── next round ◄──────────────────────────┐
//!   lanes ─┤ commands ─► batch ─► COMMIT ─► answers ─► changes ─► reads ─► upkeep
//!          └────────────────────────────┐
//!                                failed ▼
//!                 nobody acknowledged, memory thrown away ─► reload from disk ─► …
//! ```
//! Upkeep (filling the tables, forgetting) runs in slices short enough that a command hardly waits for one.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::RwLock;
use rusqlite::Connection;
use tokio::sync::broadcast;

use super::{
    Limits, answers,
    batch::{Batch, unavailable},
    error::StoreError,
    lanes::{Lanes, Round},
    reads::Read,
    recovery::{Books, recover},
    store::Place,
    tables::Tables,
    views::Snapshots,
};
use crate::{
    clock::Clock,
    ledger::{Change, LedgerError, Render},
};

/// What the writer and its handle share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) lanes: Lanes,
    pub(super) changes: broadcast::Sender<Arc<[Change]>>,
    pub(super) status: RwLock<Status>,
}

/// How the ledger is doing, for health checks.
#[derive(Debug, Default, Clone)]
pub(super) struct Status {
    /// Why nothing can be served, while that is so.
    pub(super) down: Option<String>,
    /// Entries that the tables do not show yet.
    pub(super) tables_lag: u64,
    /// Leave at once, without bringing the tables up to date first.
    pub(super) hurry: bool,
}

pub(super) struct Writer {
    pub(super) place: Place,
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) render: Render,
    pub(super) limits: Limits,
}

/// Everything that a failed write makes worthless.
pub(super) struct Live {
    connection: Connection,
    books: Books,
    tables: Tables,
    snapshots: Snapshots,
    /// Entries of the last batch, to let the tables keep pace when they are too far behind.
    last_batch: u64,
    next_cleaning: Instant,
}

impl Live {
    pub(super) fn load(place: &Place) -> Result<Self, StoreError> {
        let connection = place.writer()?;
        let books = recover(&connection)?;
        let tables = Tables::open(&connection, books.head)?;
        Ok(Self {
            connection,
            books,
            tables,
            snapshots: Snapshots::default(),
            last_batch: 0,
            next_cleaning: instant_now(),
        })
    }
}

/// Between two looks for old answers and long-ended holds.
const CLEANING_EVERY: Duration = Duration::from_secs(60);
const CLEANING_SLICE: usize = 256;
/// The wait before the first attempt to reload, doubled up to the last.
const RELOAD_FIRST: Duration = Duration::from_millis(50);
const RELOAD_LAST: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "deadlines and budgets are measured, not decided upon")]
fn instant_now() -> Instant {
    Instant::now()
}

impl Writer {
    /// Serves until the lanes are closed and empty.
    pub(super) fn run(self, live: Live) {
        let mut live = live;
        loop {
            match self.serve(live) {
                Ok(()) => break,
                Err(why) => {
                    tracing::error!(error = %why, "the ledger threw its memory away and reloads from disk");
                    self.shared.status.write().down = Some(why.to_string());
                    match self.reload() {
                        Some(fresh) => live = fresh,
                        None => break,
                    }
                    self.shared.status.write().down = None;
                    tracing::info!("the ledger has reloaded");
                }
            }
        }
    }

    fn serve(&self, mut live: Live) -> Result<(), StoreError> {
        let served = catch_unwind(AssertUnwindSafe(|| {
            while let Some(round) = self.shared.lanes.next(self.limits.max_batch, self.patience(&live)) {
                self.round(&mut live, round)?;
            }
            self.close(&mut live)
        }));
        served.unwrap_or_else(|_| Err(StoreError::Corrupt("a command broke the rules of the books".into())))
    }

    /// Loads anew, with growing pauses, refusing whatever comes meanwhile. `None` once the lanes are closed.
    fn reload(&self) -> Option<Live> {
        let mut pause = RELOAD_FIRST;
        loop {
            let retry_at = instant_now() + pause;
            while let Some(left) = retry_at.checked_duration_since(instant_now()) {
                self.refuse(self.shared.lanes.next(self.limits.max_batch, left)?);
            }
            match Live::load(&self.place) {
                Ok(live) => return Some(live),
                Err(why) => {
                    tracing::error!(error = %why, "the ledger cannot reload yet");
                    self.shared.status.write().down = Some(why.to_string());
                }
            }
            pause = (pause * 2).min(RELOAD_LAST);
        }
    }

    fn refuse(&self, round: Round) {
        let why = self.shared.status.read().down.clone().unwrap_or_default();
        let error = LedgerError::Unavailable(why.into());
        for job in round.commands {
            drop(job.reply.send(Err(error.clone())));
        }
        round.reads.into_iter().for_each(|read| read.refuse(error.clone()));
    }

    /// How long to wait for work: not at all while there is upkeep, else until a hold expires.
    fn patience(&self, live: &Live) -> Duration {
        if live.tables.lag(live.books.head) > 0 {
            return Duration::ZERO;
        }
        let now = self.clock.now();
        let due = live.books.state.next_due().map(|due| due.ms_since(now).max(0) as u64);
        due.map_or(CLEANING_EVERY, Duration::from_millis).min(CLEANING_EVERY)
    }

    fn round(&self, live: &mut Live, round: Round) -> Result<(), StoreError> {
        let began = instant_now();
        let idle = round.is_empty();
        let listening = self.shared.changes.receiver_count() > 0;
        let mut batch = Batch::new(&live.connection, &mut live.books, &*self.clock, &self.render, listening);
        let mut commands = round.commands.into_iter();
        for job in commands.by_ref() {
            if job.request.deadline <= began {
                drop(job.reply.send(Err(LedgerError::Overloaded)));
            } else if job.reply.is_closed() {
                // Whoever asked has left before work began, so nothing happens.
            } else if let Err(why) = batch.execute(job) {
                let error = unavailable(&why);
                commands.for_each(|job| drop(job.reply.send(Err(error.clone()))));
                round.reads.into_iter().for_each(|read| read.refuse(error.clone()));
                return Err(batch.abandon(why).answer_all());
            }
        }
        let slice = if idle { self.limits.idle_tidy_slice } else { self.limits.tidy_slice };
        let expired = batch.tidy(slice);
        let done = match batch.commit() {
            Ok(done) => done,
            Err(failed) => {
                let why = failed.answer_all();
                round.reads.into_iter().for_each(|read| read.refuse(unavailable(&why)));
                return Err(why);
            }
        };
        live.last_batch = done.entries;
        if done.entries > 0 {
            metrics::counter!("holdfast_ledger_entries_total").increment(done.entries);
            metrics::counter!("holdfast_ledger_expired_total").increment(expired as u64);
            metrics::histogram!("holdfast_ledger_batch_entries").record(done.entries as f64);
            metrics::histogram!("holdfast_ledger_batch_seconds").record(began.elapsed().as_secs_f64());
        }
        if !done.changes.is_empty() {
            // Nobody may be listening any more; then nobody is told.
            drop(self.shared.changes.send(done.changes.into()));
        }
        self.answer_reads(live, round.reads);
        self.upkeep(live)
    }

    fn answer_reads(&self, live: &mut Live, reads: Vec<Read>) {
        for read in reads {
            let now = self.clock.now().max(live.books.last_at);
            if let Some(who) = read.serve(&live.books.state, &mut live.snapshots, now) {
                live.tables.tell_when(live.books.head, who);
            }
        }
    }

    fn upkeep(&self, live: &mut Live) -> Result<(), StoreError> {
        self.fill_tables(live)?;
        if live.next_cleaning <= instant_now() && self.shared.lanes.is_idle() {
            self.clean(live)?;
        }
        let [urgent, ordinary, reads] = self.shared.lanes.depths();
        metrics::gauge!("holdfast_ledger_queue", "lane" => "urgent").set(urgent as f64);
        metrics::gauge!("holdfast_ledger_queue", "lane" => "ordinary").set(ordinary as f64);
        metrics::gauge!("holdfast_ledger_queue", "lane" => "reads").set(reads as f64);
        Ok(())
    }

    /// A slice when there is nothing else to do, when somebody waits for the tables, or when they are too far
    /// behind; in that last case at least as much as the last batch added, so that they cannot fall further.
    fn fill_tables(&self, live: &mut Live) -> Result<(), StoreError> {
        let lag = live.tables.lag(live.books.head);
        let too_far = lag > self.limits.max_tables_lag;
        if lag > 0 && (too_far || live.tables.has_waiters() || self.shared.lanes.is_idle()) {
            let until = instant_now() + self.limits.upkeep_slice;
            let at_least = if too_far { live.last_batch + 64 } else { 0 };
            let enough =
                |done: u64| done >= at_least && done > 0 && done.is_multiple_of(16) && until <= instant_now();
            live.tables.advance(&live.connection, &live.books.state, enough)?;
        }
        let lag = live.tables.lag(live.books.head);
        self.shared.status.write().tables_lag = lag;
        metrics::gauge!("holdfast_ledger_tables_lag").set(lag as f64);
        Ok(())
    }

    /// Forgets what nobody may ask for any more. Holds only once the tables show them: they name their units.
    fn clean(&self, live: &mut Live) -> Result<(), StoreError> {
        let now = self.clock.now().max(live.books.last_at);
        let horizon = now.plus_ms(-(self.limits.answers_kept.as_millis() as i64));
        let gone = answers::forget(&live.connection, horizon, CLEANING_SLICE)
            .map_err(StoreError::while_("forgetting old answers"))?;
        if live.tables.lag(live.books.head) == 0 {
            live.books.state.forget(now, CLEANING_SLICE);
        }
        if gone < CLEANING_SLICE {
            live.next_cleaning = instant_now() + CLEANING_EVERY;
        }
        Ok(())
    }

    /// Leaves the file in the state in which a person would like to find it.
    fn close(&self, live: &mut Live) -> Result<(), StoreError> {
        if self.shared.status.read().hurry {
            return Ok(());
        }
        live.tables.advance(&live.connection, &live.books.state, |_| false)?;
        if self.place.is_file() {
            let checkpoint = live.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            checkpoint.map_err(StoreError::while_("closing the books"))?;
        }
        Ok(())
    }
}
