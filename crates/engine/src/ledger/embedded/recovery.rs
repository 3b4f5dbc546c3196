//! From disk to memory: the newest checkpoint, and what the journal adds to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
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
        // The fold trusts what was decided once. If the journal holds what never was decided, say so and stop.
        let folded = catch_unwind(AssertUnwindSafe(|| {
            while !enough(replay.at()) && replay.next(|entry, _| self.add(&entry))? {}
            Ok(())
        }));
        let misfit = |_| {
            let seq = self.state.version().0;
            Err(StoreError::Corrupt(format!("journal entry {seq} does not fit the ones before it")))
        };
        folded.unwrap_or_else(misfit)?;
        self.head = replay.at();
        Ok(())
    }
}

/// The books as the disk has them.
pub(super) fn recover(from: &Connection) -> Result<Books, StoreError> {
    let mut books = newest_checkpoint(from)?;
    books.replay(from, |_| false)?;
    Ok(books)
}

/// The books at entry `until` or soon after, unless told to stop before.
pub(super) fn recover_until(from: &Connection, until: u64, stop: &AtomicBool) -> Result<Books, StoreError> {
    let mut books = newest_checkpoint(from)?;
    books.replay(from, |at| at.seq >= until || stop.load(Ordering::Relaxed))?;
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
