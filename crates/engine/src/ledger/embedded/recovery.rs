//! From disk to memory: the newest checkpoint, and what the journal adds to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};

use holdfast_domain::{Entry, Moment, State, apply};
use rusqlite::Connection;

use super::{
    checkpoint,
    error::StoreError,
    journal::{Link, Replay},
};

/// The books in memory, and where in the journal they stand.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) state: State,
    pub(super) head: Link,
    /// The latest moment written down. Time in the books never goes back, whatever the machine's clock does.
    pub(super) last_at: Moment,
}

impl Books {
    pub(super) fn empty() -> Self {
        Self { state: State::default(), head: Link::GENESIS, last_at: Moment::MIN }
    }

    /// Adds the next entry of the journal to the state. The caller moves `head`.
    fn add(&mut self, entry: &Entry) {
        apply(&mut self.state, &entry.event, entry.at);
        self.last_at = self.last_at.max(entry.at);
    }

    /// Adds rows of the journal until `enough` says so of where it stands, or there are no more.
    pub(super) fn replay(
        &mut self,
        from: &Connection,
        mut enough: impl FnMut(Link) -> bool,
    ) -> Result<(), StoreError> {
        let mut replay = Replay::new(from, self.head);
        self.fold(|books| {
            while !enough(replay.at()) && replay.next(|entry, _| books.add(&entry))? {}
            Ok(())
        })?;
        self.head = replay.at();
        Ok(())
    }

    /// Adds all that the journal has, with one thread reading and checking while this one adds: for a start,
    /// when nobody else needs the other processor.
    fn replay_all(&mut self, from: &mut Connection) -> Result<(), StoreError> {
        let after = self.head;
        let (rows, to_add) = mpsc::sync_channel(ROWS_AHEAD);
        self.head = thread::scope(|scope| {
            let reader = scope.spawn(move || read_all(from, after, &rows));
            self.fold(|books| {
                to_add.iter().flatten().for_each(|entry| books.add(&entry));
                Ok(())
            })?;
            reader.join().unwrap_or(Err(StoreError::Bug))
        })?;
        Ok(())
    }

    /// The fold trusts what was decided once. If the journal holds what never was decided, say so and stop.
    fn fold(&mut self, fold: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Result<(), StoreError> {
        catch_unwind(AssertUnwindSafe(|| fold(self))).unwrap_or_else(|_| {
            let seq = self.state.version().0;
            Err(StoreError::Corrupt(format!("journal entry {seq} does not fit the ones before it")))
        })
    }
}

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
    let mut books = newest_checkpoint(from)?;
    books.replay_all(from)?;
    Ok(books)
}

/// The same on one thread, up to where `enough` says so.
pub(super) fn recover_until(
    from: &Connection,
    enough: impl FnMut(Link) -> bool,
) -> Result<Books, StoreError> {
    let mut books = newest_checkpoint(from)?;
    books.replay(from, enough)?;
    Ok(books)
}

/// The newest checkpoint that is whole. One that is not costs time, not truth: the journal has it all.
fn newest_checkpoint(from: &Connection) -> Result<Books, StoreError> {
    let headers = checkpoint::headers(from).map_err(StoreError::while_("looking for checkpoints"))?;
    for header in headers {
        match catch_unwind(AssertUnwindSafe(|| header.load(from))) {
            Ok(Ok(books)) => return Ok(books),
            Ok(Err(why)) => tracing::warn!(error = %why, "passing over a checkpoint"),
            Err(_) => tracing::warn!(seq = header.link.seq, "passing over a checkpoint that does not add up"),
        }
    }
    Ok(Books::empty())
}
