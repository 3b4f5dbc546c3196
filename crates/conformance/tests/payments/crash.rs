//! A server that dies between any two steps: whatever it was doing never returns, and whoever drives the test is told
//! and lets go of it. A dead server asks nothing more of anybody.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use holdfast_domain::{BookingId, HoldId, IntentId, OfferId};
use holdfast_engine::{
    ledger::{
        BookingFilter, BookingView, Cells, Change, Health, HoldView, JournalFilter, JournalRecord, Ledger,
        LedgerError, OfferView, Page, PageRequest, Reply, Request, Snapshot, StoredKey,
    },
    payments::provider::{Intent, NewIntent, Provider, ProviderError, Refund, StepKey},
};
use tokio::sync::{Notify, broadcast};

/// Counts the edges of steps and dies at the one it was told to. A step has two: before it, and after it before its
/// outcome is known.
#[derive(Debug)]
pub(crate) struct Fuse {
    left: AtomicI64,
    blown: Notify,
}

impl Fuse {
    pub(crate) fn never() -> Arc<Self> {
        Self::after(i64::MAX)
    }

    pub(crate) fn after(edges: i64) -> Arc<Self> {
        Arc::new(Self { left: AtomicI64::new(edges), blown: Notify::new() })
    }

    async fn edge(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            self.blown.notify_one();
            pending::<()>().await;
        }
    }

    /// What the work came to, or `None` when the server died of it.
    pub(crate) async fn survive<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.blown.notified() => None,
            done = work => Some(done),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Mortal<T: ?Sized> {
    pub inner: Arc<T>,
    pub fuse: Arc<Fuse>,
}

impl<T: ?Sized> Mortal<T> {
    async fn step<R>(&self, work: impl Future<Output = R>) -> R {
        self.fuse.edge().await;
        let done = work.await;
        self.fuse.edge().await;
        done
    }
}

#[async_trait]
impl Provider for Mortal<dyn Provider> {
    async fn create(&self, new: &NewIntent, key: StepKey) -> Result<Intent, ProviderError> {
        self.step(self.inner.create(new, key)).await
    }
    async fn confirm(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.step(self.inner.confirm(intent, key)).await
    }
    async fn retrieve(&self, intent: &IntentId) -> Result<Intent, ProviderError> {
        self.step(self.inner.retrieve(intent)).await
    }
    async fn cancel(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.step(self.inner.cancel(intent, key)).await
    }
    async fn capture(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.step(self.inner.capture(intent, key)).await
    }
    async fn refund(
        &self,
        intent: &IntentId,
        booking: BookingId,
        key: StepKey,
    ) -> Result<Refund, ProviderError> {
        self.step(self.inner.refund(intent, booking, key)).await
    }
    async fn refunds(&self, intent: &IntentId) -> Result<Vec<Refund>, ProviderError> {
        self.step(self.inner.refunds(intent)).await
    }
}

/// The mistake that all this is about: whoever hears nothing of a charge takes that for a no.
#[derive(Debug)]
pub(crate) struct Careless(pub Arc<dyn Provider>);

#[async_trait]
impl Provider for Careless {
    async fn create(&self, new: &NewIntent, key: StepKey) -> Result<Intent, ProviderError> {
        self.0.create(new, key).await
    }
    async fn confirm(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.0.confirm(intent, key).await.map_err(|fault| match fault {
            ProviderError::Unknown { why, .. } => ProviderError::Refused { why },
            other => other,
        })
    }
    async fn retrieve(&self, intent: &IntentId) -> Result<Intent, ProviderError> {
        self.0.retrieve(intent).await
    }
    async fn cancel(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.0.cancel(intent, key).await
    }
    async fn capture(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.0.capture(intent, key).await
    }
    async fn refund(
        &self,
        intent: &IntentId,
        booking: BookingId,
        key: StepKey,
    ) -> Result<Refund, ProviderError> {
        self.0.refund(intent, booking, key).await
    }
    async fn refunds(&self, intent: &IntentId) -> Result<Vec<Refund>, ProviderError> {
        self.0.refunds(intent).await
    }
}

#[async_trait]
impl Ledger for Mortal<dyn Ledger> {
    async fn execute(&self, request: Request) -> Result<Reply, LedgerError> {
        self.step(self.inner.execute(request)).await
    }
    async fn offer(&self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        self.inner.offer(id).await
    }
    async fn offers(&self, after: Option<OfferId>, limit: usize) -> Result<Page<OfferView>, LedgerError> {
        self.inner.offers(after, limit).await
    }
    async fn snapshot(&self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        self.inner.snapshot(id, cells).await
    }
    async fn hold(&self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        self.inner.hold(id).await
    }
    async fn holds_ending(&self, offer: &OfferId, limit: usize) -> Result<Vec<HoldView>, LedgerError> {
        self.inner.holds_ending(offer, limit).await
    }
    async fn booking(&self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        self.inner.booking(id).await
    }
    async fn bookings(
        &self,
        filter: BookingFilter,
        page: PageRequest,
    ) -> Result<Page<BookingView>, LedgerError> {
        self.inner.bookings(filter, page).await
    }
    async fn payments_due(&self, limit: usize, lease: Duration) -> Result<Vec<BookingView>, LedgerError> {
        self.inner.payments_due(limit, lease).await
    }
    async fn payments_parked(&self) -> Result<usize, LedgerError> {
        self.inner.payments_parked().await
    }
    async fn journal(
        &self,
        filter: JournalFilter,
        page: PageRequest,
    ) -> Result<Page<JournalRecord>, LedgerError> {
        self.inner.journal(filter, page).await
    }
    fn changes(&self) -> broadcast::Receiver<Arc<[Change]>> {
        self.inner.changes()
    }
    async fn health(&self) -> Health {
        self.inner.health().await
    }
    async fn find_key(&self, prefix: &str) -> Result<Option<StoredKey>, LedgerError> {
        self.inner.find_key(prefix).await
    }
    async fn add_key(&self, key: StoredKey) -> Result<(), LedgerError> {
        self.inner.add_key(key).await
    }
}
