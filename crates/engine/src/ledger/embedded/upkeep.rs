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
    batch::unavailable,
    error::StoreError,
    instant_now,
    live::Live,
    store::{Setback, unhurried},
};
use crate::ledger::LedgerError;

/// Between two looks for old answers and long-ended holds.
const CLEANING_EVERY: Duration = Duration::from_secs(60);
const CLEANING_SLICE: usize = 256;
/// How long upkeep rests after a setback.
const REST: Duration = Duration::from_secs(1);
/// No arrival for so long is idleness.
const IDLE_AFTER: Duration = Duration::from_millis(2);
/// Between batches, one part in so many of the time is upkeep's.
const SHARE: u32 = 10;
/// The clock is looked at once per so many entries.
const LOOK_EVERY: u64 = 16;

#[derive(Debug)]
pub(super) struct Upkeep {
    limits: Limits,
    rests_until: Option<Instant>,
    /// From when on a slice between two batches is within upkeep's share.
    next_turn: Instant,
    next_cleaning: Instant,
    /// What stopped the last slice.
    pub(super) trouble: Option<String>,
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
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            rests_until: None,
            next_turn: instant_now(),
            next_cleaning: instant_now(),
            trouble: None,
        }
    }

    /// How long until there is something to do; `idle` when nothing arrived in the last round.
    pub(super) fn patience(&self, live: &Live, idle: bool) -> Duration {
        let behind = live.tables_lag() > 0 || live.answers.unfiled() > 0;
        let next = match self.rests_until {
            Some(rested) => rested,
            None if behind && idle => return Duration::ZERO,
            None if behind => return IDLE_AFTER,
            None => self.next_cleaning,
        };
        next.saturating_duration_since(instant_now())
    }

    /// One slice of whatever is due. An error means that the connection is lost.
    pub(super) fn slice(&mut self, live: &mut Live, moment: &Between<'_>) -> Result<(), StoreError> {
        if self.rests_until.is_some_and(|rested| instant_now() < rested) {
            live.tables.disappoint(&self.why_not());
            return Ok(());
        }
        let began = instant_now();
        let free = !(moment.busy)() && (moment.idle || self.next_turn <= began);
        let result = self
            .fill_tables(live, moment, free)
            .and_then(|()| self.file_answers(live, free))
            .and_then(|()| self.clean(live, moment));
        if free {
            self.next_turn = began + began.elapsed() * SHARE;
        }
        match result {
            Ok(()) => (self.rests_until, self.trouble) = (None, None),
            Err(Setback::RolledBack(why)) => self.rest(live, &why),
            Err(Setback::Fatal(why)) => return Err(why),
        }
        Ok(())
    }

    fn rest(&mut self, live: &mut Live, why: &StoreError) {
        tracing::warn!(error = %why, "upkeep rests for a moment");
        self.trouble = Some(why.to_string());
        self.rests_until = Some(instant_now() + REST);
        live.tables.disappoint(&unavailable(why));
    }

    fn why_not(&self) -> LedgerError {
        LedgerError::Unavailable(self.trouble.clone().unwrap_or_default().into())
    }

    /// When the tables are too far behind, at least as much as the last batch added, so that they fall no further.
    fn fill_tables(&self, live: &mut Live, moment: &Between<'_>, free: bool) -> Result<(), Setback> {
        let lag = live.tables_lag();
        let too_far = lag > self.limits.max_tables_lag;
        if lag == 0 || !(free || too_far || live.tables.has_waiters()) {
            return Ok(());
        }
        let until = instant_now() + self.limits.upkeep_slice;
        let at_least = if too_far { moment.written + LOOK_EVERY } else { LOOK_EVERY };
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

    /// Forgets what nobody may ask for any more. Holds only once the tables show them: they name their units.
    fn clean(&mut self, live: &mut Live, moment: &Between<'_>) -> Result<(), Setback> {
        if instant_now() < self.next_cleaning {
            return Ok(());
        }
        let now = moment.now;
        let horizon = now.plus_ms(-(self.limits.answers_kept.as_millis() as i64));
        let doing = "forgetting old answers";
        let gone = unhurried(&live.connection, doing, || {
            answers::forget(&live.connection, horizon, CLEANING_SLICE).map_err(StoreError::while_(doing))
        })?;
        if live.tables_lag() == 0 {
            live.books.state.forget(now, CLEANING_SLICE);
        }
        if gone < CLEANING_SLICE {
            self.next_cleaning = instant_now() + CLEANING_EVERY;
        }
        Ok(())
    }

    /// Everything at once, when nobody is served any more.
    pub(super) fn finish(&self, live: &mut Live) -> Result<(), StoreError> {
        let because = |setback| match setback {
            Setback::RolledBack(why) | Setback::Fatal(why) => why,
        };
        self.advance(live, |_| false).map_err(because)?;
        while live.answers.unfiled() > 0 {
            self.file_answers(live, true).map_err(because)?;
        }
        Ok(())
    }
}
