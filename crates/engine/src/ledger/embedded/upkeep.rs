//! What the writer does beside the sale: fills the tables, files answers, forgets what has had its time.
//!
//! In slices, each its own transaction: as many as it likes once nothing has arrived for a moment, a tenth of the
//! time between batches, and more only when something has fallen so far behind that commands must pay for it.
//! (Buyers who were just answered need a moment to ask again: an empty queue right after a commit is no idleness.)
//! No promise depends on any of it, so a slice that fails is undone, reported and tried
//! again later, and the sale goes on.

use std::time::{Duration, Instant};

use holdfast_domain::Moment;

use super::{
    Limits, answers,
    checkpoint::{Checkpoints, Image},
    error::StoreError,
    instant_now,
    live::Live,
    store::{Place, Setback, unhurried},
    wal::Log,
};
use crate::ledger::LedgerError;

/// Between two looks for old answers and long-ended holds.
const CLEANING_EVERY: Duration = Duration::from_secs(60);
const CLEANING_SLICE: usize = 256;
/// How long upkeep rests after a setback.
const REST: Duration = Duration::from_secs(1);
/// Entries since the last checkpoint that make one worth writing before leaving.
const WORTH_A_CHECKPOINT: u64 = 50_000;
/// No arrival for so long is idleness.
const IDLE_AFTER: Duration = Duration::from_millis(2);
/// Between batches, one part in so many of the time is upkeep's.
const SHARE: u32 = 10;
/// The clock is looked at once per so many entries.
const LOOK_EVERY: u64 = 16;
/// Entries that tables too far behind catch up by at once: each slice writes every page it touched, and a larger one
/// touches hardly more of them.
const CATCH_UP: u64 = 512;

#[derive(Debug)]
pub(super) struct Upkeep {
    limits: Limits,
    tables: Task,
    answers: Task,
    checkpointing: Task,
    cleaning: Task,
    logging: Task,
    /// From when on a slice between two batches is within upkeep's share.
    next_turn: Instant,
    next_cleaning: Instant,
    /// Whether more holds have had their time than the last slice took.
    more_to_forget: bool,
    checkpoints: Checkpoints,
    log: Log,
}

/// One kind of upkeep, which may be in trouble while the others go on.
#[derive(Debug, Default)]
struct Task {
    rests_until: Option<Instant>,
    /// What stopped its last slice.
    trouble: Option<String>,
}

impl Task {
    fn rests(&self) -> bool {
        self.rests_until.is_some_and(|rested| instant_now() < rested)
    }

    /// Takes note of how a slice went. An error means that the connection is lost.
    fn note(&mut self, result: Result<(), Setback>) -> Result<(), StoreError> {
        match result {
            Ok(()) => *self = Self::default(),
            Err(Setback::RolledBack(why)) => {
                tracing::warn!(error = %why, "upkeep rests for a moment");
                self.trouble = Some(why.to_string());
                self.rests_until = Some(instant_now() + REST);
            }
            Err(Setback::Fatal(why)) => return Err(why),
        }
        Ok(())
    }
}

/// The moment between two batches.
pub(super) struct Between<'a> {
    /// Entries that the last batch wrote.
    pub(super) written: u64,
    /// Nothing arrived in the last round.
    pub(super) idle: bool,
    pub(super) now: Moment,
    /// Whether somebody waits by now.
    pub(super) busy: &'a dyn Fn() -> bool,
}

impl Upkeep {
    pub(super) fn new(limits: Limits, place: &Place, live: &Live) -> Self {
        Self {
            checkpoints: Checkpoints::new(place, limits.checkpoint_every, live.checkpointed),
            limits,
            tables: Task::default(),
            answers: Task::default(),
            checkpointing: Task::default(),
            cleaning: Task::default(),
            logging: Task::default(),
            log: Log::new(place),
            next_turn: instant_now(),
            next_cleaning: instant_now(),
            more_to_forget: false,
        }
    }

    /// How long until there is something to do; `idle` when nothing arrived in the last round.
    pub(super) fn patience(&self, live: &Live, idle: bool) -> Duration {
        let behind = [
            (live.tables_lag() > 0, &self.tables),
            (live.answers.unfiled() > 0, &self.answers),
            (self.checkpoints.has_work(), &self.checkpointing),
            (self.more_to_forget, &self.cleaning),
        ];
        let soon = if idle { Duration::ZERO } else { IDLE_AFTER };
        let left = |until: Instant| until.saturating_duration_since(instant_now());
        let waits =
            behind.iter().filter(|(behind, _)| *behind).map(|(_, task)| task.rests_until.map_or(soon, left));
        waits.chain([left(self.next_cleaning)]).min().unwrap_or_default()
    }

    /// What works less well than it should.
    pub(super) fn trouble(&self) -> Option<&str> {
        let tasks = [&self.tables, &self.answers, &self.checkpointing, &self.cleaning, &self.logging];
        tasks.into_iter().find_map(|task| task.trouble.as_deref())
    }

    /// One slice of whatever is due. An error means that the connection is lost.
    pub(super) fn slice(&mut self, live: &mut Live, moment: &Between<'_>) -> Result<(), StoreError> {
        let began = instant_now();
        let free = !(moment.busy)() && (moment.idle || self.next_turn <= began);
        if !self.tables.rests() {
            let filled = self.fill_tables(live, moment, free);
            self.tables.note(filled)?;
        }
        if let Some(trouble) = &self.tables.trouble {
            live.tables.disappoint(&LedgerError::Unavailable(trouble.as_str().into()));
        }
        if !self.answers.rests() {
            let filed = self.file_answers(live, free);
            self.answers.note(filed)?;
        }
        if !self.checkpointing.rests() {
            let checkpointed = self.checkpoint(live);
            self.checkpointing.note(checkpointed)?;
        }
        if !self.cleaning.rests() {
            let cleaned = self.clean(live, moment);
            self.cleaning.note(cleaned)?;
        }
        if !self.logging.rests() {
            // A log that cannot be copied yet only grows: nothing is lost, and nothing of the sale undone.
            let copied = self.log.slice(&live.connection);
            self.logging.note(copied.map_err(Setback::RolledBack))?;
        }
        if free {
            self.next_turn = began + began.elapsed() * SHARE;
        }
        Ok(())
    }

    /// When the tables are too far behind, at least as much as the last batch added, so that they fall no further.
    fn fill_tables(&self, live: &mut Live, moment: &Between<'_>, free: bool) -> Result<(), Setback> {
        let lag = live.tables_lag();
        let too_far = lag > self.limits.max_tables_lag;
        if lag == 0 || !(free || too_far || live.tables.has_waiters()) {
            return Ok(());
        }
        let until = instant_now() + self.limits.upkeep_slice;
        let at_least = if too_far { CATCH_UP.max(moment.written + LOOK_EVERY) } else { LOOK_EVERY };
        let enough = |done: u64| {
            done >= at_least && done.is_multiple_of(LOOK_EVERY) && ((moment.busy)() || until <= instant_now())
        };
        self.advance(live, enough)
    }

    fn advance(&self, live: &mut Live, enough: impl FnMut(u64) -> bool) -> Result<(), Setback> {
        let Live { connection, books, tables, .. } = live;
        let at =
            unhurried(connection, "filling the tables", || tables.advance(connection, &books.state, enough))?;
        tables.advanced(at);
        Ok(())
    }

    fn file_answers(&self, live: &mut Live, free: bool) -> Result<(), Setback> {
        let unfiled = live.answers.unfiled();
        if unfiled == 0 || !(free || unfiled > self.limits.max_unfiled_answers) {
            return Ok(());
        }
        let Live { connection, answers, .. } = live;
        let filed = unhurried(connection, "filing answers", || answers.file(connection))?;
        filed.iter().for_each(|filed| answers.filed(filed));
        Ok(())
    }

    /// Also under load: a checkpoint that had to wait for idleness would never come when it is needed most.
    fn checkpoint(&mut self, live: &mut Live) -> Result<(), Setback> {
        self.checkpoints.begin_if_due(live.books.head);
        if !self.checkpoints.has_work() {
            return Ok(());
        }
        let checkpoints = &mut self.checkpoints;
        match unhurried(&live.connection, "writing a checkpoint", || checkpoints.slice(&live.connection)) {
            Ok(step) => checkpoints.committed(step),
            Err(setback) => {
                checkpoints.give_up();
                return Err(setback);
            }
        }
        Ok(())
    }

    /// Forgets what nobody may ask for any more. Holds only once the tables show their end: they name its units; and at
    /// least as many as the last batch can have ended, so that they do not pile up.
    fn clean(&mut self, live: &mut Live, moment: &Between<'_>) -> Result<(), Setback> {
        let shown = if live.tables_lag() == 0 { moment.now } else { live.tables.shown_at() };
        let slice = CLEANING_SLICE.max(moment.written as usize);
        self.more_to_forget = live.books.state.forget(moment.now.min(shown), slice) == slice;
        if instant_now() < self.next_cleaning {
            return Ok(());
        }
        let horizon = moment.now.plus_ms(-(self.limits.answers_kept.as_millis() as i64));
        let doing = "forgetting old answers";
        let gone = unhurried(&live.connection, doing, || {
            answers::forget(&live.connection, horizon, CLEANING_SLICE).map_err(StoreError::while_(doing))
        })?;
        if gone < CLEANING_SLICE {
            self.next_cleaning = instant_now() + CLEANING_EVERY;
        }
        Ok(())
    }

    /// Everything at once, when nobody is served any more.
    pub(super) fn finish(&mut self, live: &mut Live) -> Result<(), StoreError> {
        self.finish_all(live).map_err(|setback| match setback {
            Setback::RolledBack(why) | Setback::Fatal(why) => why,
        })
    }

    fn finish_all(&mut self, live: &mut Live) -> Result<(), Setback> {
        self.advance(live, |_| false)?;
        while live.answers.unfiled() > 0 {
            self.file_answers(live, true)?;
        }
        self.checkpoints.give_up();
        if self.checkpoints.is_due(live.books.head, WORTH_A_CHECKPOINT) {
            let image = Image::of(&live.books.state.parts(), live.books.head, live.books.last_at);
            let doing = "writing a checkpoint";
            unhurried(&live.connection, doing, || {
                image.write(&live.connection).map_err(StoreError::while_(doing))
            })?;
        }
        Ok(())
    }
}
