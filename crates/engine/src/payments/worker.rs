//! The worker: looks for payments that are due, whoever began them, and drives them. It replaces lost webhooks, takes
//! over from nodes that died, and calls off what was abandoned. The ledger leases what it hands out, so that nodes do
//! not all do the same; should two do so nevertheless, the provider's keys and the monotone transitions make it one.

use std::sync::Arc;

use futures::{StreamExt, stream};
use tokio::time::sleep;
use tracing::warn;

use super::saga::Payments;
use crate::pipeline::SubmitError;

impl Payments {
    /// Works until it is dropped, which is safe at any moment: what was not reported is due again.
    pub async fn work(self: Arc<Self>) {
        let mut said = false;
        loop {
            match self.round().await {
                Ok(driven) if driven == self.settings.at_once => continue,
                Ok(_) => said = false,
                // Said once an outage: the ledger says more, and more often.
                Err(fault) if !said => {
                    warn!(%fault, "due payments cannot be looked after");
                    said = true;
                }
                Err(_) => {}
            }
            tokio::select! {
                () = sleep(self.settings.poll) => {}
                () = self.nudged.notified() => {}
            }
        }
    }

    /// Drives what is due, a bounded number at once; how many there were.
    pub async fn round(&self) -> Result<usize, SubmitError> {
        let due = self.pipeline.ledger().payments_due(self.settings.at_once, self.settings.lease).await?;
        let count = due.len();
        metrics::gauge!("holdfast_payments_due").set(count as f64);
        let drive = |id| async move {
            if let Err(fault) = self.drive(id).await {
                warn!(booking = %id, %fault, "a payment could not be looked after; it stays due");
            }
        };
        let ids = due.into_iter().map(|view| view.booking.id);
        stream::iter(ids.map(drive)).buffer_unordered(self.settings.at_once).collect::<()>().await;
        Ok(count)
    }
}
