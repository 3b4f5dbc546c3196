//! `lock` and `redlock`: whoever wants a unit locks it first, so that the ledger is not asked by everybody at once.
//!
//! ```text
//! ask ─► lock every unit, in one order ─┬─ taken ─► ledger ─► settle: unlock
//!                                       ├─ busy: again after a pause with jitter, then Busy
//!                                       └─ Redis in trouble: aside, unlocked
//! ```
//! A heartbeat renews the locks while the ledger works, a bounded number of times.
//!
//! The lock is never trusted. It can be lost under its holder (a failover, a pause longer than its life), and two then
//! hold it; so the ledger behind it claims by the unit's own version, which is the fence. There is no token from Redis:
//! a Redis that forgot would hand out old ones.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use holdfast_domain::Command;
use tokio::{task::AbortHandle, time::Instant};

use super::{
    Parts,
    counting::{count, passed},
    quorum::{Keys, Quorum, Taken},
    server::Server,
    settings::{LockSettings, Settings},
};
use crate::{
    gate::{
        Gate, MustHear, Note, Pass, Verdict,
        wish::{Wish, Wishes},
    },
    ledger::{LedgerError, Reply, Request},
    mint,
};

#[derive(Debug)]
pub(super) struct Lock {
    quorum: Arc<Quorum>,
    wishes: Wishes,
    settings: LockSettings,
}

/// Locks that are held, and renewed until this is settled or dropped.
#[derive(Debug)]
pub(crate) struct Locked {
    keys: Keys,
    heartbeat: AbortHandle,
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.heartbeat.abort();
    }
}

impl Lock {
    pub(super) fn open(servers: Vec<Server>, settings: &Settings, parts: Parts) -> Self {
        Self {
            quorum: Arc::new(Quorum::new(servers, &settings.lock)),
            wishes: Wishes::new(parts.ledger, settings.offer_believed),
            settings: settings.lock.clone(),
        }
    }

    async fn take(&self, mut keys: Keys) -> Verdict {
        let began = Instant::now();
        let verdict = loop {
            match self.quorum.take(&mut keys).await {
                Ok(Taken::Yes) => break passed("pass", Pass(Note::Locked(self.hold(keys)))),
                Err(aside) => {
                    metrics::counter!("holdfast_gate_aside_total", "reason" => aside.reason()).increment(1);
                    break passed("aside", Pass::freely());
                }
                Ok(Taken::Busy) if began.elapsed() >= self.settings.wait => {
                    count("busy");
                    break Verdict::Busy;
                }
                Ok(Taken::Busy) => {
                    let (least, most) = self.settings.pause;
                    tokio::time::sleep(mint::wait_between(least, most)).await;
                }
            }
        };
        metrics::histogram!("holdfast_gate_lock_wait_seconds").record(began.elapsed().as_secs_f64());
        verdict
    }

    fn hold(&self, keys: Keys) -> Locked {
        let (quorum, renewed) = (Arc::clone(&self.quorum), keys.clone());
        let (renewals, every) = (self.settings.renewals, self.settings.live / 3);
        let heartbeat = tokio::spawn(beat(quorum, renewed, renewals, every)).abort_handle();
        Locked { keys, heartbeat }
    }
}

async fn beat(quorum: Arc<Quorum>, keys: Keys, renewals: u32, every: Duration) {
    for _ in 0..renewals {
        tokio::time::sleep(every).await;
        if !quorum.renew(&keys).await {
            metrics::counter!("holdfast_gate_locks_lost_total").increment(1);
            return;
        }
    }
}

/// Offers in the order of their names, units in the order of their numbers: one order for everybody.
fn keys(wish: &Wish) -> Keys {
    let mut parts: Vec<_> = wish.parts.iter().filter(|part| !part.lines.is_empty()).collect();
    parts.sort_unstable_by_key(|part| part.id());
    let of_part = |part: &&crate::gate::wish::Part| {
        let mut units: Vec<_> = part.units().map(|(unit, _)| unit).collect();
        units.sort_unstable();
        units.into_iter().map(|unit| format!("hf:{{{}}}:lock:{unit}", part.id())).collect()
    };
    let owner = format!("{:032x}", mint::random_bits());
    Keys::new(owner.into(), parts.iter().map(of_part).collect())
}

#[async_trait]
impl Gate for Lock {
    async fn ask(&self, request: &Request) -> Verdict {
        if !matches!(request.command, Command::PlaceHold { .. }) {
            return Verdict::Pass(Pass::freely());
        }
        let Some(wish) = self.wishes.read(request).await else {
            return passed("unjudged", Pass::freely());
        };
        let keys = keys(&wish);
        if keys.by_offer.is_empty() {
            return passed("unjudged", Pass::freely());
        }
        self.take(keys).await
    }

    async fn settle(&self, Pass(note): Pass, _: &Result<Reply, LedgerError>) {
        if let Note::Locked(locked) = note {
            locked.heartbeat.abort();
            self.quorum.give_back(&locked.keys).await;
        }
    }

    fn must_hear(&self) -> MustHear {
        MustHear::Everything
    }

    fn degraded(&self) -> Vec<String> {
        self.quorum.servers().iter().filter_map(super::out_of_reach).collect()
    }
}
