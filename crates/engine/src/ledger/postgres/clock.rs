//! PostgreSQL's time for whoever cannot wait to ask: the gate, which must know about when a hold ends.
//!
//! As near as the node's copy has heard it, which is a fraction of a second ago while anything works. Nothing is
//! decided by it: the ledger asks PostgreSQL.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use holdfast_domain::Moment;

use super::{Books, PostgresLedger};
use crate::clock::{Clock, SystemClock};

#[derive(Debug)]
struct BooksClock {
    books: Arc<Books>,
    own: SystemClock,
    /// By how much PostgreSQL's clock was ahead of ours when last heard.
    ahead_ms: AtomicI64,
    /// Never goes back, though PostgreSQL's may.
    latest_ms: AtomicI64,
}

impl PostgresLedger {
    /// PostgreSQL's clock, as near as this node has it. Waits for the copy once: later what was last known will do, but
    /// before anything is known there is only this machine's clock, which may be hours off and cannot be taken back.
    pub async fn clock(&self) -> Arc<dyn Clock> {
        let own = SystemClock::new();
        let ahead_ms = match self.books.loaded().await {
            Ok(copy) => copy.about_now(&self.books.time).ms() - own.now().ms(),
            Err(_) => 0,
        };
        let (ahead_ms, latest_ms) = (AtomicI64::new(ahead_ms), AtomicI64::new(i64::MIN));
        Arc::new(BooksClock { books: Arc::clone(&self.books), own, ahead_ms, latest_ms })
    }
}

impl Clock for BooksClock {
    fn now(&self) -> Moment {
        let own = self.own.now().ms();
        // Whoever has the copy now will not have it for long: what was last known will do.
        if let Ok(copy) = self.books.copy.try_read()
            && let Some(copy) = &*copy
        {
            self.ahead_ms.store(copy.about_now(&self.books.time).ms() - own, Ordering::Relaxed);
        }
        let now = own + self.ahead_ms.load(Ordering::Relaxed);
        Moment::from_ms(self.latest_ms.fetch_max(now, Ordering::Relaxed).max(now))
    }
}
