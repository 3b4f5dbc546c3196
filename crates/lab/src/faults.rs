//! Something breaks in the middle of a sale, on servers that are ours to break.
//!
//! ```text
//! buyers ─► two nodes ─► proxies ─► PostgreSQL      a long sale; the fault comes after a third of it
//!               └──────► Redis
//! ```
//! Each fault runs with the strategies it concerns. What a buyer was told, and what the store holds in the end, is judged
//! as in any other run; how much was sold meanwhile is counted in bins of time, from the same history.

use std::{sync::Arc, time::Duration};

use holdfast_checker::{Call, Evidence, History, Outcome, history::Reason};
use holdfast_engine::{
    gate::redis::{LockSettings, Settings as GateSettings},
    strategy::Strategy,
};
use holdfast_rigs::{FaultProxy, Loss, Mode, Postgres, Redis};
use tokio::time::sleep;

use crate::{
    crowd::{self, Recorded},
    house::{House, Site, Stall},
    report::model::Bin,
    schedule::Schedule,
    servers::Servers,
    shop::ShopError,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Node 0 has a lock and cannot reach PostgreSQL until the lock has run out and others have sold; then its write
    /// arrives after all.
    LockHolderPaused,
    /// Everything that Redis knew is gone.
    RedisFlushed,
    /// Commits are done, and node 0 never hears of it.
    ReplyLost,
    /// PostgreSQL is killed under load and comes back.
    PostgresKilled,
}

/// How long a lock lives here: as short as a gate allows, so that it runs out under somebody.
const LOCK_LIVE: Duration = Duration::from_millis(250);
const BUYERS: u32 = 12;
const BIN_MS: i64 = 100;

impl Fault {
    pub(crate) const ALL: &[Self] =
        &[Self::LockHolderPaused, Self::RedisFlushed, Self::ReplyLost, Self::PostgresKilled];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::LockHolderPaused => "fault_lock_holder_paused",
            Self::RedisFlushed => "fault_redis_flushed",
            Self::ReplyLost => "fault_reply_lost",
            Self::PostgresKilled => "fault_postgres_killed",
        }
    }

    /// Whom it concerns.
    pub(crate) fn strategies(self) -> &'static [Strategy] {
        match self {
            Self::LockHolderPaused => &[Strategy::Lock, Strategy::Redlock],
            Self::RedisFlushed => {
                &[Strategy::Lua, Strategy::Decr, Strategy::Bitmap, Strategy::Layered, Strategy::Lock]
            }
            Self::ReplyLost => &[Strategy::Batched, Strategy::Atomic, Strategy::Lua],
            Self::PostgresKilled => &[Strategy::Batched, Strategy::Cas],
        }
    }

    /// How long after the doors open it begins, and how long it lasts.
    const fn span(self) -> (Duration, Duration) {
        let lasts = match self {
            Self::LockHolderPaused => Duration::from_millis(700),
            Self::RedisFlushed => Duration::ZERO,
            Self::ReplyLost | Self::PostgresKilled => Duration::from_millis(300),
        };
        (Duration::from_millis(700), lasts)
    }

    pub(crate) const fn evidence(self) -> Evidence {
        Evidence { win: true, conflict: false, expiry: false }
    }
}

/// What a fault run left behind.
#[derive(Debug)]
pub(crate) struct Suffered {
    pub recorded: Recorded,
    pub from_ms: u64,
    pub to_ms: u64,
    pub bins: Vec<Bin>,
}

pub(crate) fn schedule(seed: u64) -> Schedule {
    Schedule::long_sale(BUYERS, seed, Duration::from_millis(2200))
}

pub(crate) async fn suffer(
    fault: Fault,
    strategy: Strategy,
    seed: u64,
    servers: &Servers,
) -> Result<Suffered, ShopError> {
    let postgres = tokio::task::spawn_blocking(Postgres::start).await.map_err(ShopError::of)?;
    let postgres = postgres.map_err(ShopError::of)?;
    let proxy = FaultProxy::start(postgres.address()).await.map_err(ShopError::of)?;
    let database = "lab";
    let direct = postgres.create_database(database).map_err(ShopError::of)?;
    let through = postgres.url_through(proxy.address(), database);
    let site = Site {
        postgres: vec![through, direct],
        gate: servers.gate(strategy),
        gate_settings: gate_settings(),
        ..Site::default()
    };
    let house = Arc::new(House::open(strategy, &site).await?);
    let schedule = schedule(seed);
    let stall = Stall::open(&house, schedule.goods, schedule.hold_ttl_s).await?;
    let redis = servers.redis.as_ref().map(|redis| Arc::clone(&redis.rigs)).unwrap_or_default();
    let (after, lasts) = fault.span();
    let strike = async {
        sleep(after).await;
        inflict(fault, postgres, &proxy, redis, lasts).await
    };
    let (recorded, postgres) = crowd::serve_with(Arc::new(stall), &schedule, strike).await?;
    drop(house);
    let _ = tokio::task::spawn_blocking(move || drop(postgres)).await;
    let bins = bins(&recorded.history);
    let from_ms = after.as_millis() as u64;
    Ok(Suffered { recorded, from_ms, to_ms: from_ms + lasts.as_millis() as u64, bins })
}

/// Locks run out soon and are not renewed: the point is what happens then.
fn gate_settings() -> GateSettings {
    let lock = LockSettings { live: LOCK_LIVE, renewals: 0, ..LockSettings::default() };
    GateSettings { lock, ..GateSettings::default() }
}

async fn inflict(
    fault: Fault,
    mut postgres: Postgres,
    proxy: &FaultProxy,
    redis: Arc<Vec<Redis>>,
    lasts: Duration,
) -> Postgres {
    match fault {
        Fault::LockHolderPaused => {
            proxy.set(Mode::Stall);
            sleep(lasts).await;
            proxy.set(Mode::Pass);
        }
        Fault::ReplyLost => {
            proxy.set(Mode::LoseReplies { to: b"COMMIT".to_vec(), then: Loss::Cut, times: 5 });
            sleep(lasts).await;
            proxy.set(Mode::Pass);
        }
        Fault::RedisFlushed => {
            let flush = move || redis.iter().for_each(|server| drop(server.ask(&["FLUSHALL"])));
            let _ = tokio::task::spawn_blocking(flush).await;
        }
        Fault::PostgresKilled => {
            let hurt = tokio::task::spawn_blocking(move || {
                let _ = postgres.kill();
                let _ = postgres.start_again();
                postgres
            });
            return hurt.await.expect("starting a server does not panic");
        }
    }
    postgres
}

/// What the buyers heard, a tenth of a second at a time.
fn bins(history: &History) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    let holds = history.operations.iter().filter(|op| matches!(op.call, Call::Hold { .. }));
    for op in holds {
        let at = (op.end / (BIN_MS * 1000)) as usize;
        while bins.len() <= at {
            bins.push(Bin { at_ms: bins.len() as u64 * BIN_MS as u64, won: 0, refused: 0, failed: 0 });
        }
        let bin = &mut bins[at];
        match &op.outcome {
            Outcome::Ok(_) => bin.won += 1,
            Outcome::Fail(Reason::Taken(_)) => bin.refused += 1,
            Outcome::Fail(_) | Outcome::Unknown => bin.failed += 1,
        }
    }
    bins
}
