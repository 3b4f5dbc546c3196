//! From disk to memory: the newest checkpoint, and what the journal adds to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};

use holdfast_domain::{Entry, Fold, Moment, State};
use rusqlite::Connection;

use super::{
    checkpoint,
    error::StoreError,
    journal::{self, Link, Replay},
};

/// The books in memory, and where in the journal they stand.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) state: State,
    pub(super) head: Link,
    /// The latest moment written down. Time in the books never goes back, whatever the machine's clock does.
    pub(super) last_at: Moment,
}

/// Books that are still being read: nothing is summed up yet.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) fold: Fold,
    pub(super) head: Link,
    pub(super) last_at: Moment,
}

impl Reading {
    pub(super) fn from_the_beginning() -> Self {
        Self { fold: Fold::new(), head: Link::GENESIS, last_at: Moment::MIN }
    }

    /// Adds the next entry of the journal. The caller moves `head`.
    fn add(&mut self, entry: Entry) {
        self.last_at = self.last_at.max(entry.at);
        self.fold.add(entry.event, entry.at);
    }

    /// Adds rows of the journal until `enough` says so of where it stands, or there are no more.
    pub(super) fn replay(
        &mut self,
        from: &Connection,
        mut enough: impl FnMut(Link) -> bool,
    ) -> Result<(), StoreError> {
        let mut replay = Replay::new(from, self.head);
        self.trusting(|reading| {
            while !enough(replay.at()) && replay.next(|entry, _| reading.add(entry))? {}
            Ok(())
        })?;
        self.head = replay.at();
        Ok(())
    }

    /// Adds all that the journal has, with one thread reading and checking while this one adds: for a start,
    /// when nobody else needs the other processor.
    fn replay_all(&mut self, from: &mut Connection) -> Result<(), StoreError> {
        let after = self.head;
        let last = journal::last_seq(from).map_err(StoreError::while_("reading the journal"))?;
        self.fold.expect_holds(last.saturating_sub(after.seq).min(MOST_EXPECTED) as usize);
        let (rows, to_add) = mpsc::sync_channel(ROWS_AHEAD);
        self.head = thread::scope(|scope| {
            let reader = scope.spawn(move || read_all(from, after, &rows));
            self.trusting(|reading| {
                to_add.into_iter().flatten().for_each(|entry| reading.add(entry));
                Ok(())
            })?;
            reader.join().unwrap_or(Err(StoreError::Bug))
        })?;
        Ok(())
    }

    /// Everything summed up.
    pub(super) fn finish(mut self) -> Result<Books, StoreError> {
        let mut state = State::default();
        self.trusting(|reading| {
            state = std::mem::take(&mut reading.fold).finish();
            Ok(())
        })?;
        Ok(Books { state, head: self.head, last_at: self.last_at })
    }

    /// The fold trusts what was decided once. If the journal holds what never was decided, say so and stop.
    fn trusting(&mut self, work: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Result<(), StoreError> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            let seq = self.fold.version().0;
            Err(StoreError::Corrupt(format!("journal entry {seq} does not fit the ones before it")))
        })
    }
}

/// Room is made for no more holds than this before they are seen; most entries of a long journal are no new hold.
const MOST_EXPECTED: u64 = 2_000_000;
/// Rows read before they are added.
const ROWS_AHEAD: usize = 16;

/// Sends the entries of every row after `after`, and says where the journal ends.
fn read_all(from: &Connection, after: Link, rows: &mpsc::SyncSender<Vec<Entry>>) -> Result<Link, StoreError> {
    let mut replay = Replay::new(from, after);
    loop {
        let mut entries = Vec::new();
        if !replay.next(|entry, _| entries.push(entry))? || rows.send(entries).is_err() {
            return Ok(replay.at());
        }
    }
}

/// The books as the disk has them.
pub(super) fn recover(from: &mut Connection) -> Result<Books, StoreError> {
    let checkpoint = newest_checkpoint(from)?;
    let shortened = checkpoint.head != Link::GENESIS;
    match read_on(checkpoint, from) {
        Err(StoreError::Corrupt(why)) if shortened => {
            tracing::warn!(error = %why, "passing over a checkpoint that does not add up");
            read_on(Reading::from_the_beginning(), from)
        }
        read => read,
    }
}

fn read_on(mut reading: Reading, from: &mut Connection) -> Result<Books, StoreError> {
    reading.replay_all(from)?;
    reading.finish()
}

/// The same on one thread, up to where `enough` says so, for the parts alone.
pub(super) fn recover_until(
    from: &Connection,
    enough: impl FnMut(Link) -> bool,
) -> Result<Reading, StoreError> {
    let mut reading = newest_checkpoint(from)?;
    reading.replay(from, enough)?;
    Ok(reading)
}

/// The newest checkpoint that is whole. One that is not costs time, not truth: the journal has it all.
fn newest_checkpoint(from: &Connection) -> Result<Reading, StoreError> {
    let headers = checkpoint::headers(from).map_err(StoreError::while_("looking for checkpoints"))?;
    for header in headers {
        match catch_unwind(AssertUnwindSafe(|| header.load(from))) {
            Ok(Ok(reading)) => return Ok(reading),
            Ok(Err(why)) => tracing::warn!(error = %why, "passing over a checkpoint"),
            Err(_) => tracing::warn!(seq = header.link.seq, "passing over a checkpoint that does not add up"),
        }
    }
    Ok(Reading::from_the_beginning())
}
