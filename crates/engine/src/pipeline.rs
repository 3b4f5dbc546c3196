//! The walk of a request, left to right, in one function.
//!
//! ```text
//! submit ─► admission ─► ledger
//! ```
//! Later stages join here: a rate limit and a waiting room before the ledger is asked, a gate that may only
//! refuse. Only the ledger's committed write is a yes.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{Actor, Command};
use tokio::sync::Semaphore;

use crate::ledger::{IdempotencyKey, Ledger, LedgerError, Reply, Request};

#[derive(Debug, Clone)]
pub struct Limits {
    /// Commands between admission and answer; one more hears "overloaded" at once.
    pub max_in_flight: usize,
    /// A command not begun within this time is dropped unstarted.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_in_flight: 4096, deadline: Duration::from_secs(5) }
    }
}

#[derive(Debug)]
pub struct Pipeline {
    ledger: Arc<dyn Ledger>,
    admission: Semaphore,
    limits: Limits,
}

impl Pipeline {
    pub fn new(ledger: Arc<dyn Ledger>, limits: Limits) -> Self {
        Self { admission: Semaphore::new(limits.max_in_flight), ledger, limits }
    }

    /// The whole walk of a command.
    pub async fn submit(
        &self,
        command: Command,
        actor: Actor,
        key: Option<IdempotencyKey>,
    ) -> Result<Reply, LedgerError> {
        let _admitted = self.admission.try_acquire().map_err(|_| LedgerError::Overloaded)?;
        let deadline = self.deadline();
        self.ledger.execute(Request { command, actor, key, deadline }).await
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a deadline is measured on the monotonic clock, not in domain time"
    )]
    fn deadline(&self) -> std::time::Instant {
        std::time::Instant::now() + self.limits.deadline
    }

    /// Reads go straight to the ledger: they change nothing and are never gated.
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }
}
