//! Loading the copy: one load at a time, on the ledger's own thread, for whoever needs it.
//!
//! ```text
//! no copy ─ somebody needs it ─► a load is under way ─► there is a copy
//!    ▲                             │      ▲ whoever needs it meanwhile waits for the same load
//!    └──────────── it failed ──────┘
//! ```
//! Books may be so large, or PostgreSQL so far away, that a load outlasts everybody's patience. Those who waited are
//! then told so and the load goes on: begun again for each of them, it would never end.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{RwLock, broadcast, watch},
};

use super::{
    replica::{Replica, Time},
    session::{Sessions, Trouble},
};
use crate::ledger::{Change, changes::standing, embedded::instant_now};

/// The node's copy, while there is one.
pub(super) type SharedCopy = Arc<RwLock<Option<Replica>>>;

/// How a load ended, once it has.
type Ended = Option<Result<(), Trouble>>;

#[derive(Debug)]
pub(super) struct Loads {
    work: Work,
    thread: Handle,
    last: Mutex<Option<watch::Receiver<Ended>>>,
}

/// What a load needs.
#[derive(Debug, Clone)]
struct Work {
    copy: SharedCopy,
    sessions: Sessions,
    time: Time,
    changes: broadcast::Sender<Arc<[Change]>>,
}

impl Loads {
    pub(super) fn new(
        copy: SharedCopy,
        sessions: Sessions,
        time: Time,
        changes: broadcast::Sender<Arc<[Change]>>,
        thread: Handle,
    ) -> Self {
        Self { work: Work { copy, sessions, time, changes }, thread, last: Mutex::default() }
    }

    /// Returns when the load that is under way has ended; where there is none, one begins.
    pub(super) async fn ended(&self) -> Result<(), Trouble> {
        let mut load = self.under_way();
        let ended = load.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| Err(Trouble::Down("the load of the books was given up".into())))
    }

    fn under_way(&self) -> watch::Receiver<Ended> {
        let mut last = self.last.lock();
        // One that panicked, or whose thread has gone, leaves a closed channel behind.
        let goes_on = |load: &&watch::Receiver<Ended>| load.borrow().is_none() && load.has_changed().is_ok();
        if let Some(load) = last.as_ref().filter(goes_on) {
            return load.clone();
        }
        let (told, load) = watch::channel(None);
        let work = self.work.clone();
        self.thread.spawn(async move {
            // Nobody may be waiting any more; the copy is there for the next.
            drop(told.send(Some(work.load().await)));
        });
        last.insert(load).clone()
    }
}

impl Work {
    async fn load(&self) -> Result<(), Trouble> {
        // Nobody but a load puts a copy there, and there is one load at a time: what is missing now stays missing until
        // this one is through. So everything that was ever applied to a copy was committed before this look.
        if self.copy.read().await.is_some() {
            return Ok(());
        }
        let began = instant_now();
        let mut session = self.sessions.following().await?;
        let loaded = Replica::load(&mut session, &self.time).await?;
        let mut copy = self.copy.write().await;
        // What happened since the copy before this one is told by nobody. Said before anybody can change the new one.
        drop(self.changes.send(standing(&loaded.state).into()));
        *copy = Some(loaded);
        drop(copy);
        let took = began.elapsed();
        tracing::info!(took_ms = took.as_millis() as u64, "the books are loaded");
        metrics::histogram!("holdfast_ledger_load_seconds").record(took.as_secs_f64());
        Ok(())
    }
}
