//! The writer: the one thread that owns the state and the connection that writes.
//!
//! ```text
//!          ┌───────────────────────────── next round ◄─────────────────────────────┐
//!   lanes ─┤ commands ─► batch ─► COMMIT ─► answers ─► changes ─► reads ─► upkeep ──┘
//!          └────────────────────────────┐
//!                                failed ▼
//!                 nobody acknowledged, memory thrown away ─► reload from disk ─► …
//! ```

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use parking_lot::RwLock;
use tokio::sync::broadcast;

use super::{
    Limits,
    batch::{Batch, Done, Failed, unavailable},
    error::StoreError,
    instant_now,
    lanes::{Job, Lanes, Round},
    live::Live,
    reads::Read,
    store::{Place, probe, settle},
    upkeep::{Between, Upkeep},
};
use crate::{
    clock::Clock,
    ledger::{Change, LedgerError, Render, changes::standing},
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
    /// What works less well than it should.
    pub(super) trouble: Option<String>,
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

/// The wait before the first attempt to reload, doubled up to the last.
const RELOAD_FIRST: Duration = Duration::from_millis(50);
const RELOAD_LAST: Duration = Duration::from_secs(5);

impl Writer {
    /// Serves until the lanes are closed and empty.
    pub(super) fn run(self, live: Live) {
        let mut next = Some(live);
        while let Some(live) = next.take() {
            let Err(why) = self.serve(live) else { break };
            tracing::error!(error = %why, "the ledger threw its memory away and reloads from disk");
            metrics::counter!("holdfast_ledger_reloads_total").increment(1);
            self.shared.status.write().down = Some(why.to_string());
            next = self.reload();
            if let Some(live) = &next {
                // Whoever followed the memory that was thrown away cannot know what of it is true.
                drop(self.shared.changes.send(standing(&live.books.state).into()));
                self.shared.status.write().down = None;
                tracing::info!("the ledger has reloaded");
            }
        }
    }

    fn serve(&self, mut live: Live) -> Result<(), StoreError> {
        let mut upkeep = Upkeep::new(self.limits.clone(), &self.place, &live);
        // A command that panics leaves memory half changed. That is a failed write like any other.
        let served = catch_unwind(AssertUnwindSafe(|| {
            let mut idle = false;
            loop {
                let patience = upkeep.patience(&live, idle).min(self.until_due(&live));
                let Some(round) = self.shared.lanes.next(self.limits.max_batch, patience) else { break };
                idle = round.is_empty();
                let written = self.round(&mut live, round)?;
                self.upkeep(&mut upkeep, &mut live, written, idle)?;
            }
            self.close(&mut upkeep, &mut live)
        }));
        served.unwrap_or(Err(StoreError::Bug))
    }

    /// Loads anew and waits, with growing pauses, until a commit can be had again. Commands are refused meanwhile;
    /// reads are answered as soon as the books are there. `None` once the lanes are closed.
    fn reload(&self) -> Option<Live> {
        let mut live: Option<Live> = None;
        let mut pause = RELOAD_FIRST;
        loop {
            let retry_at = instant_now() + pause;
            while let Some(left) = retry_at.checked_duration_since(instant_now()) {
                let round = self.shared.lanes.next(self.limits.max_batch, left)?;
                self.turn_away(live.as_mut(), round);
            }
            let loaded = live.take().map_or_else(|| Live::load(&self.place, &self.limits), Ok);
            match loaded.map(|loaded| (probe(&loaded.connection), loaded)) {
                Ok((Ok(()), writable)) => return Some(writable),
                Ok((Err(why), readable)) => {
                    self.still_down(&why);
                    live = Some(readable);
                }
                Err(why) => self.still_down(&why),
            }
            pause = (pause * 2).min(RELOAD_LAST);
        }
    }

    fn still_down(&self, why: &StoreError) {
        tracing::error!(error = %why, "the ledger cannot write yet");
        self.shared.status.write().down = Some(why.to_string());
    }

    fn turn_away(&self, live: Option<&mut Live>, round: Round) {
        let why = self.shared.status.read().down.clone().unwrap_or_default();
        let why = LedgerError::Unavailable(why.into());
        refuse_all(round.commands.into_iter(), Vec::new(), &why);
        match live {
            Some(live) => {
                self.answer_reads(live, round.reads);
                live.tables.disappoint(&why);
            }
            None => refuse_all([].into_iter(), round.reads, &why),
        }
    }

    /// How long until the next hold expires, for the sweep; nobody else waits for that.
    fn until_due(&self, live: &Live) -> Duration {
        if self.limits.idle_tidy_slice == 0 {
            return Duration::MAX;
        }
        let due = live.books.state.next_due();
        let left_ms = due.map(|due| due.ms_since(self.clock.now()).max(0) as u64);
        left_ms.map_or(Duration::MAX, Duration::from_millis)
    }

    /// Serves a round; returns how many entries it wrote.
    fn round(&self, live: &mut Live, round: Round) -> Result<u64, StoreError> {
        let idle = round.is_empty();
        let Round { commands, reads } = round;
        let done = match self.batch(live, commands, idle) {
            Ok(done) => done,
            Err(why) => {
                refuse_all([].into_iter(), reads, &unavailable(&why));
                return Err(why);
            }
        };
        if !done.changes.is_empty() {
            // Nobody may be listening any more; then nobody is told.
            drop(self.shared.changes.send(done.changes.into()));
        }
        self.answer_reads(live, reads);
        Ok(done.entries)
    }

    fn batch(&self, live: &mut Live, commands: Vec<Job>, idle: bool) -> Result<Done, StoreError> {
        let began = instant_now();
        let listening = self.shared.changes.receiver_count() > 0;
        let mut batch = Batch::new(live, &*self.clock, &self.render, listening);
        let mut commands = commands.into_iter();
        while let Some(job) = commands.next() {
            if job.request.deadline <= began {
                drop(job.reply.send(Err(LedgerError::Overloaded)));
            } else if job.reply.is_closed() {
                // Whoever asked has left before work began, so nothing happens.
            } else if let Err(why) = batch.execute(job) {
                refuse_all(commands, Vec::new(), &unavailable(&why));
                return Err(self.fail(batch.abandon(why)));
            }
        }
        let expired = batch.tidy(if idle { self.limits.idle_tidy_slice } else { self.limits.tidy_slice });
        let done = batch.commit().map_err(|failed| self.fail(failed))?;
        if done.entries > 0 {
            metrics::counter!("holdfast_ledger_entries_total").increment(done.entries);
            metrics::counter!("holdfast_ledger_expired_total").increment(expired as u64);
            metrics::histogram!("holdfast_ledger_batch_entries").record(done.entries as f64);
            metrics::histogram!("holdfast_ledger_batch_seconds").record(began.elapsed().as_secs_f64());
        }
        Ok(done)
    }

    /// Health says that the ledger is down before anybody hears that a command failed.
    fn fail(&self, failed: Failed) -> StoreError {
        self.shared.status.write().down = Some(failed.why.to_string());
        failed.answer_all()
    }

    fn answer_reads(&self, live: &mut Live, reads: Vec<Read>) {
        for read in reads {
            let now = self.clock.now().max(live.books.last_at);
            if let Some(who) = read.serve(&live.books.state, &mut live.snapshots, now) {
                live.tables.tell_when(live.books.head, who);
            }
        }
    }

    fn upkeep(
        &self,
        upkeep: &mut Upkeep,
        live: &mut Live,
        written: u64,
        idle: bool,
    ) -> Result<(), StoreError> {
        let now = self.clock.now().max(live.books.last_at);
        let busy = || !self.shared.lanes.is_idle();
        upkeep.slice(live, &Between { written, idle, now, busy: &busy })?;
        if upkeep.trouble() != self.shared.status.read().trouble.as_deref() {
            self.shared.status.write().trouble = upkeep.trouble().map(str::to_owned);
        }
        metrics::gauge!("holdfast_ledger_tables_lag").set(live.tables_lag() as f64);
        metrics::gauge!("holdfast_ledger_unfiled_answers").set(live.answers.unfiled() as f64);
        for (lane, depth) in ["urgent", "ordinary", "reads"].into_iter().zip(self.shared.lanes.depths()) {
            metrics::gauge!("holdfast_ledger_queue", "lane" => lane).set(depth as f64);
        }
        Ok(())
    }

    /// Leaves the file in the state in which a person would like to find it.
    fn close(&self, upkeep: &mut Upkeep, live: &mut Live) -> Result<(), StoreError> {
        if self.shared.status.read().hurry {
            return Ok(());
        }
        upkeep.finish(live)?;
        if self.place.is_file() { settle(&live.connection) } else { Ok(()) }
    }
}

fn refuse_all(commands: impl Iterator<Item = Job>, reads: Vec<Read>, why: &LedgerError) {
    commands.for_each(|job| drop(job.reply.send(Err(why.clone()))));
    reads.into_iter().for_each(|read| read.refuse(why.clone()));
}
