//! From disk to memory: the state that the journal adds up to.

use std::panic::{AssertUnwindSafe, catch_unwind};

use holdfast_domain::{Moment, State, apply};
use rusqlite::Connection;

use super::{
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
}

/// Folds the journal, checking its chain.
pub(super) fn recover(from: &Connection) -> Result<Books, StoreError> {
    let mut books = Books::empty();
    let mut replay = Replay::new(from, books.head);
    // The fold trusts what was decided once. If the journal holds what never was decided, say so and stop.
    let folded = catch_unwind(AssertUnwindSafe(|| {
        while replay.next(|entry, _| {
            apply(&mut books.state, &entry.event, entry.at);
            books.last_at = books.last_at.max(entry.at);
        })? {}
        Ok(())
    }));
    match folded {
        Ok(result) => result?,
        Err(_) => {
            let next = books.state.version().0;
            return Err(StoreError::Corrupt(format!("journal entry {next} does not fit the ones before it")));
        }
    }
    books.head = replay.at();
    Ok(books)
}
