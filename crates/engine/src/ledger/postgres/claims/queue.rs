//! `queue`: a line before each offer, and a few workers who serve it.
//!
//! ```text
//! hold for "hall" ─► line of "hall" (bounded) ─► worker ─► atomic
//! hold for "fest" ─► line of "fest" (bounded) ─► worker ─► atomic
//! ```
//! However many come at once for one offer, only so many are in the database for it: the rest wait their turn here,
//! in order, and one hot offer cannot take the connections of all others. A full line refuses at once. A request
//! over several offers stands in the line of the first.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::{Command, OfferId};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::ledger::{LedgerError, Request};

#[derive(Debug)]
pub(crate) struct Queues {
    lines: Mutex<HashMap<OfferId, Arc<Line>>>,
    workers: usize,
    bound: usize,
}

#[derive(Debug)]
struct Line {
    /// Served in the order of arrival.
    workers: Semaphore,
    /// Who waits or is being served.
    places: Semaphore,
}

impl Queues {
    /// Beyond this many lines, those that nobody stands in are forgotten.
    const MANY: usize = 1024;

    pub(crate) fn new(workers: usize, bound: usize) -> Self {
        Self { lines: Mutex::default(), workers, bound }
    }

    /// Waits for its turn and then does the work. Whoever leaves the line gives up its place.
    pub(crate) async fn serve<T>(
        &self,
        request: &Request,
        work: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        let Some(offer) = first_offer(&request.command) else { return work.await };
        let line = self.line(offer);
        let _place = line.places.try_acquire().map_err(|_| LedgerError::Overloaded)?;
        let _worker = line.workers.acquire().await.map_err(|_| LedgerError::Overloaded)?;
        work.await
    }

    fn line(&self, offer: &OfferId) -> Arc<Line> {
        let mut lines = self.lines.lock();
        if lines.len() >= Self::MANY {
            lines.retain(|_, line| line.places.available_permits() < self.bound);
        }
        let open = || Line { workers: Semaphore::new(self.workers), places: Semaphore::new(self.bound) };
        Arc::clone(lines.entry(offer.clone()).or_insert_with(|| Arc::new(open())))
    }
}

fn first_offer(command: &Command) -> Option<&OfferId> {
    match command {
        Command::PlaceHold { asks, .. } | Command::RecallHold { asks, .. } => {
            asks.first().map(|ask| &ask.offer)
        }
        _ => None,
    }
}
