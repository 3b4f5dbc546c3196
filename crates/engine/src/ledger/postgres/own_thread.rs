//! A thread of the ledger's own, for its batches and the connections they travel on.
//!
//! Between two batches of one sale nothing may be sold, and each of them waits for PostgreSQL twice. On the threads
//! that serve HTTP a batch that could go on would stand in line behind the very requests that wait for it.

use std::{io, panic::AssertUnwindSafe};

use futures::FutureExt as _;
use tokio::{
    runtime::{Handle, Runtime},
    task::JoinHandle,
};

use super::session::Trouble;

/// Ends with all that runs on it when dropped.
#[derive(Debug)]
pub(super) struct OwnThread(Option<Runtime>);

impl OwnThread {
    pub(super) fn start() -> io::Result<Self> {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        threads.worker_threads(1).thread_name("holdfast-ledger").enable_all().build().map(Some).map(Self)
    }

    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime().spawn(work)
    }

    /// For whoever begins work there later. It keeps nothing alive: once the thread has ended, nothing begins.
    pub(super) fn handle(&self) -> Handle {
        self.runtime().handle().clone()
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Whoever drops it may not block; what runs there ends at its next pause.
            runtime.shutdown_background();
        }
    }
}

/// The work, with a panic as one more way to fail: whoever does it again and again for everybody must not end with one.
/// What it may have left half done is not seen: a copy is thrown away, a transaction ends with its session.
pub(super) async fn unless_it_panics<T>(
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("work of the ledger panicked, and is begun anew");
        Err(Trouble::Down("the ledger met a fault of its own".into()))
    })
}
