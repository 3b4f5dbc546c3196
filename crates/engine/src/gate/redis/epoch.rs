//! Which epoch it is, and whether what Redis remembers may be believed at all.
//!
//! The books count the epochs; every node looks now and then. A slate is believed only under the mark it was built
//! for: the epoch, and the life of the servers that hold it. So whatever Redis loses (a restart, an old dump, a
//! failover to a replica that lags) is found out by the mark, not guessed.
//!
//! When a node could not tell Redis that something is free again, others would go on refusing it. Then the node begins
//! the next epoch in the books: all slates are out of date, everywhere, within one look, and are built anew.
//!
//! A node that finds itself before other servers than before does the same. Those it left may have acknowledged an end
//! that these, where others have long built their slates, never hear of: a master lives on for a while after another was
//! promoted, and a node that has not heard of it goes on reporting there.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;
use tokio::{sync::Notify, task::AbortHandle, time::Instant};

use super::{
    server::{Aside, Server},
    settings::Settings,
};
use crate::{
    gate::{Epoch, GateBooks},
    ledger::LedgerError,
};

#[derive(Debug)]
pub(super) struct Epochs {
    shared: Arc<Shared>,
    watch: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    books: Arc<dyn GateBooks>,
    server: Arc<Server>,
    seen: RwLock<Option<(Epoch, Instant)>>,
    believed: Duration,
    /// Reports that could not be delivered so far.
    lost: AtomicU64,
    /// How many of those, and of the moves to other servers, an epoch has been begun for.
    made_good: AtomicU64,
    wake: Notify,
}

impl Epochs {
    pub(super) fn watch(books: Arc<dyn GateBooks>, server: Arc<Server>, settings: &Settings) -> Self {
        let shared = Arc::new(Shared {
            books,
            server,
            seen: RwLock::new(None),
            believed: settings.epoch_believed,
            lost: AtomicU64::new(0),
            made_good: AtomicU64::new(0),
            wake: Notify::new(),
        });
        let watch = tokio::spawn(watch(Arc::downgrade(&shared), settings.watch_every)).abort_handle();
        Self { shared, watch }
    }

    /// What a slate must be marked with to be believed now.
    pub(super) fn mark(&self) -> Result<String, Aside> {
        // Before the count of what was lost: whoever sees a new life sees that it was moved to.
        let life = self.shared.server.life().ok_or(Aside::OutOfReach)?;
        if self.shared.lost() != self.shared.made_good.load(Ordering::Acquire) {
            return Err(Aside::EpochUnknown);
        }
        let seen = *self.shared.seen.read();
        let (epoch, at) = seen.ok_or(Aside::EpochUnknown)?;
        if at.elapsed() > self.shared.believed {
            return Err(Aside::EpochUnknown);
        }
        Ok(format!("{epoch}.{life}"))
    }

    /// Redis could not be told of an end: nothing it remembers may be believed any more.
    pub(super) fn lost_a_report(&self) {
        self.shared.lost.fetch_add(1, Ordering::AcqRel);
        self.shared.wake.notify_one();
    }
}

impl Drop for Epochs {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn watch(shared: Weak<Shared>, every: Duration) {
    while let Some(shared) = shared.upgrade() {
        let looked = tokio::time::timeout(shared.believed, shared.look()).await;
        if let Ok(Err(error)) = looked {
            tracing::debug!(%error, "the gate cannot read the epoch");
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = shared.wake.notified() => {}
            () = shared.server.moved() => {}
        }
    }
}

impl Shared {
    /// Reports that did not arrive, and moves, each of which may have lost one that did.
    fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire) + self.server.moves()
    }

    async fn look(&self) -> Result<(), LedgerError> {
        let lost = self.lost();
        let seen = self.seen.read().map(|(epoch, _)| epoch);
        // Before the question: an answer is as old as the moment it was asked for.
        let asked = Instant::now();
        let mut epoch = self.books.epoch().await?;
        if lost != self.made_good.load(Ordering::Acquire) {
            // After the epoch just read, not the one last seen: somebody may have begun that one, and built its slates,
            // before what was lost.
            epoch = self.books.next_epoch(epoch).await?;
        }
        if seen.is_some_and(|seen| seen != epoch) {
            tracing::info!(%epoch, "the gate begins a new epoch");
        }
        *self.seen.write() = Some((epoch, asked));
        self.made_good.store(lost, Ordering::Release);
        Ok(())
    }
}
