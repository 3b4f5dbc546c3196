//! Locks on one server or on a majority of several, with the owner's name in each.
//!
//! Owns taking, renewing and giving back; knows nothing of requests. A lock is had when most servers gave it and enough
//! of its life is left. A command that timed out may still take a lock later: it then runs out by itself.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures::future::join_all;
use redis::Script;
use tokio::time::Instant;

use super::{
    server::{Aside, Server},
    settings::LockSettings,
};

static LOCK: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lock.lua")));
static UNLOCK: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("unlock.lua")));
static RENEW: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("renew.lua")));

/// What clocks and the network may be off by, beside their drift.
const CLOCK_GRAIN: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(super) struct Quorum {
    servers: Vec<Server>,
    live: Duration,
    drift: Duration,
}

/// Who locks what. Each inner list belongs to one offer, hence to one slot of a Cluster; the lists are in one order for
/// everybody, so that nobody waits in a circle.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) owner: Arc<str>,
    pub(super) by_offer: Vec<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    Busy,
}

impl Quorum {
    pub(super) fn new(servers: Vec<Server>, settings: &LockSettings) -> Self {
        let drift = settings.live * settings.drift_percent / 100 + CLOCK_GRAIN;
        Self { servers, live: settings.live, drift }
    }

    pub(super) fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn majority(&self) -> usize {
        self.servers.len() / 2 + 1
    }

    /// Takes every lock or none. An [`Aside`] when too few servers could say.
    pub(super) async fn take(&self, keys: &Keys) -> Result<Taken, Aside> {
        let began = Instant::now();
        for of_offer in &keys.by_offer {
            let taken = self.take_of_offer(&keys.owner, of_offer).await;
            let lives_on = began.elapsed() + self.drift < self.live;
            if taken != Ok(Taken::Yes) || !lives_on {
                self.give_back(keys).await;
                return taken.map(|_| Taken::Busy);
            }
        }
        Ok(Taken::Yes)
    }

    async fn take_of_offer(&self, owner: &str, keys: &[String]) -> Result<Taken, Aside> {
        let votes = self.everywhere(&LOCK, keys, owner, Some(self.live)).await;
        let given = votes.iter().filter(|vote| **vote == Ok(true)).count();
        let busy = votes.iter().filter(|vote| **vote == Ok(false)).count();
        let trouble = votes.iter().find_map(|vote| vote.err());
        match trouble {
            _ if given >= self.majority() => Ok(Taken::Yes),
            Some(aside) if given + busy < self.majority() => Err(aside),
            _ => Ok(Taken::Busy),
        }
    }

    /// Whether most servers let the locks live on.
    pub(super) async fn renew(&self, keys: &Keys) -> bool {
        for of_offer in &keys.by_offer {
            let votes = self.everywhere(&RENEW, of_offer, &keys.owner, Some(self.live)).await;
            if votes.iter().filter(|vote| **vote == Ok(true)).count() < self.majority() {
                return false;
            }
        }
        true
    }

    /// Everywhere, also where the lock seemed to be refused: the answer may have been lost.
    pub(super) async fn give_back(&self, keys: &Keys) {
        for of_offer in &keys.by_offer {
            self.everywhere(&UNLOCK, of_offer, &keys.owner, None).await;
        }
    }

    async fn everywhere(
        &self,
        script: &Script,
        keys: &[String],
        owner: &str,
        live: Option<Duration>,
    ) -> Vec<Result<bool, Aside>> {
        let mut call = script.prepare_invoke();
        keys.iter().for_each(|key| {
            call.key(key);
        });
        call.arg(owner);
        live.iter().for_each(|live| {
            call.arg(live.as_millis() as u64);
        });
        join_all(self.servers.iter().map(|server| server.invoke(&call))).await
    }
}
