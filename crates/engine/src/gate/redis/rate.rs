//! How often one holder may ask: the same bucket for all nodes in Redis, and one of the node's own while Redis is away.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use holdfast_domain::HolderId;
use parking_lot::Mutex;
use redis::Script;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{server::Server, settings::RateSettings};
use crate::gate::Quota;

static RATE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("rate.lua")));

#[derive(Debug)]
pub(super) struct Rate {
    server: Arc<Server>,
    /// The time in which one request leaks out of the bucket.
    each: Duration,
    burst: u32,
    most_local: usize,
    /// When each holder's own bucket will be empty.
    local: Mutex<HashMap<HolderId, Instant>>,
}

impl Rate {
    pub(super) fn new(server: Arc<Server>, settings: &RateSettings) -> Self {
        let RateSettings { burst, per_second, local_holders } = *settings;
        let each = Duration::from_secs(1) / per_second;
        Self { server, each, burst, most_local: local_holders, local: Mutex::default() }
    }

    /// Counts a request of this holder, or says when it may come again.
    pub(super) async fn admit(&self, holder: &HolderId) -> Result<(), Quota> {
        let mut call = RATE.prepare_invoke();
        // A holder's name is anybody's text: its hash has no braces, and is short.
        let digest = Sha256::digest(holder.as_str());
        let name: String = digest[..12].iter().map(|byte| format!("{byte:02x}")).collect();
        call.key(format!("hf:rate:{{{name}}}")).arg(self.each.as_micros() as u64).arg(self.burst);
        let wait = match self.server.invoke::<u64>(&call).await {
            Ok(wait) => Duration::from_micros(wait),
            Err(_) => self.admit_locally(holder, Instant::now()),
        };
        if wait.is_zero() { Ok(()) } else { Err(self.quota(wait)) }
    }

    fn quota(&self, retry_after: Duration) -> Quota {
        Quota { burst: self.burst, window: self.each * self.burst, retry_after }
    }

    fn admit_locally(&self, holder: &HolderId, now: Instant) -> Duration {
        let mut local = self.local.lock();
        if local.len() >= self.most_local {
            local.retain(|_, empty_at| *empty_at > now);
        }
        let empty_at = local.get(holder).copied().unwrap_or(now).max(now) + self.each;
        let wait = empty_at.saturating_duration_since(now + self.each * self.burst);
        // With more busy holders than a node may remember, the rest is let through: the ledger bounds itself.
        if wait.is_zero() && (local.len() < self.most_local || local.contains_key(holder)) {
            local.insert(holder.clone(), empty_at);
        }
        wait
    }
}
