//! Locks on one server or on a majority of several, with the owner's name in each.
//!
//! Owns taking, renewing and giving back; knows nothing of requests. A lock is had when most servers gave it and enough
//! of its life is left. A command that timed out may still take a lock later: it then runs out by itself.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures::future::join_all;
use redis::{Script, ScriptInvocation};
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
    /// The servers that were asked for a lock, and may have given it or give it yet. In the order of the servers.
    touched: Vec<bool>,
}

impl Keys {
    pub(super) fn new(owner: Arc<str>, by_offer: Vec<Vec<String>>) -> Self {
        Self { owner, by_offer, touched: Vec::new() }
    }

    fn touch(&mut self, votes: &[Vote]) {
        self.touched.resize(votes.len(), false);
        for (touched, vote) in self.touched.iter_mut().zip(votes) {
            *touched |= *vote != Err(Aside::OutOfReach);
        }
    }
}

/// What one server said: whether it gave, renewed or took back.
type Vote = Result<bool, Aside>;

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
    pub(super) async fn take(&self, keys: &mut Keys) -> Result<Taken, Aside> {
        let began = Instant::now();
        for at in 0..keys.by_offer.len() {
            let votes = self.everywhere(&LOCK, &keys.by_offer[at], &keys.owner, Some(self.live)).await;
            keys.touch(&votes);
            let taken = self.count(&votes);
            let lives_on = began.elapsed() + self.drift < self.live;
            if taken != Ok(Taken::Yes) || !lives_on {
                self.give_back(keys).await;
                return taken.map(|_| Taken::Busy);
            }
        }
        Ok(Taken::Yes)
    }

    fn count(&self, votes: &[Vote]) -> Result<Taken, Aside> {
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

    /// Wherever a lock was asked for, also where it seemed to be refused: the answer may have been lost. And also where
    /// nobody else is sent any more: a server that stood still takes the lock when it goes on, and with nobody to give
    /// it back others would be kept out for the whole of its life.
    pub(super) async fn give_back(&self, keys: &Keys) {
        for of_offer in &keys.by_offer {
            let call = call(&UNLOCK, of_offer, &keys.owner, None);
            let touched = self.servers.iter().zip(&keys.touched).filter(|(_, touched)| **touched);
            join_all(touched.map(|(server, _)| server.insist::<bool>(&call))).await;
        }
    }

    async fn everywhere(
        &self,
        script: &Script,
        keys: &[String],
        owner: &str,
        live: Option<Duration>,
    ) -> Vec<Vote> {
        let call = call(script, keys, owner, live);
        join_all(self.servers.iter().map(|server| server.invoke(&call))).await
    }
}

fn call<'a>(
    script: &'a Script,
    keys: &[String],
    owner: &str,
    live: Option<Duration>,
) -> ScriptInvocation<'a> {
    let mut call = script.prepare_invoke();
    keys.iter().for_each(|key| {
        call.key(key);
    });
    call.arg(owner);
    live.iter().for_each(|live| {
        call.arg(live.as_millis() as u64);
    });
    call
}
