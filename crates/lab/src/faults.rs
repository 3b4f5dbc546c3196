//! Something breaks in the middle of a sale, on servers that are ours to break.
//!
//! ```text
//! buyers ─► two nodes ─► proxies ─► PostgreSQL      a long sale; the fault comes after a third of it
//!               └──────► Redis
//! ```
//! The nodes are in this process, except where a node is what is killed: then they are servers of their own, asked over
//! HTTP, on a folder or a database. Each fault runs with the strategies it concerns. What a buyer was told, and what the store holds in the end, is judged
//! as in any other run; how much was sold meanwhile is counted in bins of time, from the same history.

use std::{path::Path, sync::Arc, time::Duration};

use holdfast_checker::{Call, Evidence, History, Outcome, history::Reason};
use holdfast_engine::{
    gate::redis::{LockSettings, Settings as GateSettings},
    strategy::Strategy,
};
use holdfast_rigs::{FaultProxy, Loss, Mode, Postgres, Redis};
use tokio::time::{Instant, sleep};

use crate::{
    crowd::{self, Recorded},
    house::{House, Site, Stall},
    report::model::Bin,
    schedule::Schedule,
    scratch::Folder,
    served::{Recipe, Served},
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
    /// A Holdfast server is killed under load and started again on the same books.
    ServerKilled,
}

/// How long a lock lives here: as short as a gate allows, so that it runs out under somebody.
const LOCK_LIVE: Duration = Duration::from_millis(250);
const BUYERS: u32 = 12;
/// How long the sale goes on, and how long after its beginning the fault comes.
const LASTS: Duration = Duration::from_millis(2200);
const COMES_AFTER: Duration = Duration::from_millis(700);
/// When nobody is let in again, should the machine be slow.
const CLOSES_AFTER: Duration = Duration::from_secs(5);
/// How long a row takes at most, with the starting and ending of servers.
pub(crate) const TAKES: Duration = Duration::from_secs(8);
const BIN_MS: i64 = 100;

impl Fault {
    pub(crate) const ALL: &[Self] = &[
        Self::LockHolderPaused,
        Self::RedisFlushed,
        Self::ReplyLost,
        Self::PostgresKilled,
        Self::ServerKilled,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::LockHolderPaused => "fault_lock_holder_paused",
            Self::RedisFlushed => "fault_redis_flushed",
            Self::ReplyLost => "fault_reply_lost",
            Self::PostgresKilled => "fault_postgres_killed",
            Self::ServerKilled => "fault_server_killed",
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
            Self::ServerKilled => &[Strategy::Writer, Strategy::Batched, Strategy::Lock, Strategy::Lua],
        }
    }

    /// Whether PostgreSQL or Redis is what breaks: then they must be ours.
    pub(crate) const fn breaks_servers(self) -> bool {
        !matches!(self, Self::ServerKilled)
    }

    /// How long what has no end of its own lasts.
    const fn lasts(self) -> Duration {
        match self {
            Self::LockHolderPaused => Duration::from_millis(700),
            Self::ReplyLost => Duration::from_millis(300),
            Self::RedisFlushed | Self::PostgresKilled | Self::ServerKilled => Duration::ZERO,
        }
    }

    /// Whoever is to be killed in the middle of something must have something to do at every moment.
    pub(crate) fn schedule(self, seed: u64) -> Schedule {
        let pause_ms = if self == Self::ServerKilled { 8 } else { 20 };
        Schedule::long_sale(BUYERS, seed, LASTS, pause_ms)
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

/// Lets everybody shop in the middle of the fault. `program` is whose `serve` is killed.
pub(crate) async fn suffer(
    fault: Fault,
    strategy: Strategy,
    seed: u64,
    servers: &mut Servers,
    program: Option<&Path>,
) -> Result<Suffered, ShopError> {
    match (fault, program) {
        (Fault::ServerKilled, Some(program)) => killed(strategy, seed, servers, program).await,
        (Fault::ServerKilled, None) => Err(ShopError("there is no program to start and kill".to_owned())),
        _ => hurt(fault, strategy, seed, servers).await,
    }
}

/// A fault of the servers that the nodes stand on.
async fn hurt(fault: Fault, strategy: Strategy, seed: u64, servers: &Servers) -> Result<Suffered, ShopError> {
    let postgres = tokio::task::spawn_blocking(Postgres::start).await.map_err(ShopError::of)?;
    let postgres = postgres.map_err(ShopError::of)?;
    let proxy = FaultProxy::start(postgres.address()).await.map_err(ShopError::of)?;
    let database = "lab";
    let direct = postgres.create_database(database).map_err(ShopError::of)?;
    let through = postgres.url_through(proxy.address(), database);
    let site = Site {
        postgres: vec![through, direct],
        gate: servers.gate(strategy),
        gate_settings: GateSettings { authority: servers.gate_settings().authority, ..gate_settings() },
        ..Site::default()
    };
    let house = Arc::new(House::open(strategy, &site).await?);
    let schedule = fault.schedule(seed);
    let stall = Stall::open(&house, schedule.goods, schedule.hold_ttl_s).await?;
    let redis = servers.redis.as_ref().map(|redis| Arc::clone(&redis.rigs)).unwrap_or_default();
    let strike = timed(inflict(fault, postgres, &proxy, redis));
    let (recorded, (postgres, lasted)) =
        crowd::serve_with(Arc::new(stall), &schedule, CLOSES_AFTER, strike).await?;
    drop(house);
    let _ = tokio::task::spawn_blocking(move || drop(postgres)).await;
    Ok(Suffered::of(recorded, lasted))
}

/// A node is killed and started again, on the embedded ledger the only one, on PostgreSQL one of two.
async fn killed(
    strategy: Strategy,
    seed: u64,
    servers: &mut Servers,
    program: &Path,
) -> Result<Suffered, ShopError> {
    let folder = Folder::make().map_err(ShopError::of)?;
    let mut books = Vec::new();
    let nodes = match strategy.claiming() {
        None => {
            books.push(("--data", folder.path().join("books").into()));
            1
        }
        Some(_) => {
            let urls = servers.books().await?;
            books.push(("--ledger", urls[0].clone().into()));
            if let Some(gate) = servers.gate(strategy) {
                // Those that are started for redlock are not encrypted, and need nobody to vouch for them.
                let authority = servers.gate_ca().filter(|_| gate.starts_with("rediss"));
                books.extend(authority.map(|path| ("--gate-ca", path.as_os_str().to_owned())));
                books.push(("--gate", gate.into()));
            }
            urls.len()
        }
    };
    let schedule = Fault::ServerKilled.schedule(seed);
    let recipe = Recipe::new(program, folder.path(), strategy, &books);
    let shop = Served::open(recipe, nodes, servers.mark, &schedule).await?;
    let strike = timed(shop.kill_and_start_again());
    let (recorded, (back, lasted)) =
        crowd::serve_with(Arc::clone(&shop) as _, &schedule, CLOSES_AFTER, strike).await?;
    back?;
    let _ = tokio::task::spawn_blocking(move || drop(shop)).await;
    Ok(Suffered::of(recorded, lasted))
}

/// Strikes when its time has come, and says how long it took.
async fn timed<T>(strike: impl Future<Output = T>) -> (T, Duration) {
    sleep(COMES_AFTER).await;
    let began = Instant::now();
    (strike.await, began.elapsed())
}

impl Suffered {
    fn of(recorded: Recorded, lasted: Duration) -> Self {
        let bins = bins(&recorded.history);
        let from_ms = COMES_AFTER.as_millis() as u64;
        // That a sale ends by the clock is the plan here, and no shortcoming.
        let recorded = Recorded { cut: false, ..recorded };
        Self { recorded, from_ms, to_ms: from_ms + lasted.as_millis() as u64, bins }
    }
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
) -> Postgres {
    match fault {
        // Not a fault of these servers.
        Fault::ServerKilled => {}
        Fault::LockHolderPaused => {
            proxy.set(Mode::Stall);
            sleep(fault.lasts()).await;
            proxy.set(Mode::Pass);
        }
        Fault::ReplyLost => {
            proxy.set(Mode::LoseReplies { to: b"COMMIT\0".to_vec(), then: Loss::Cut, times: 5 });
            sleep(fault.lasts()).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_can_be_opened_with_these_locks() {
        assert_eq!(gate_settings().faults(), Vec::<String>::new());
        assert!(Fault::LockHolderPaused.lasts() > 2 * LOCK_LIVE, "the lock runs out under its holder");
    }
}
