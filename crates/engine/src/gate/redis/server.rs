//! One Redis as the gates see it: a single server, a Cluster, or the master that Sentinels name.
//!
//! Owns the connection, its timeouts and its breaker. Requests never connect: a keeper in the background does, looks
//! at the server now and then, and notices when it is another one than before (a restart, a failover): whatever was
//! remembered there is then of no value. A request gets an answer within the timeout, or an [`Aside`].
//!
//! A command that timed out may still be carried out later; every script of the gates is written for that.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use holdfast_domain::Moment;
use parking_lot::RwLock;
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionInfo, FromRedisValue, RedisError, RedisResult, ScriptInvocation,
    Value,
    aio::MultiplexedConnection,
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo},
    sentinel::SentinelClient,
};
use sha2::{Digest, Sha256};
use tokio::{sync::Notify, task::AbortHandle};

use super::{address::Address, breaker::Breaker, dial, herald::Herald, met::Met, settings::Settings};
use crate::clock::Clock;

/// Why the gate did not judge. Bookings go on: the ledger is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aside {
    /// The breaker is open, or there is no connection.
    OutOfReach,
    TimedOut,
    /// Redis answered with an error: read-only, out of memory, loading.
    Failed,
    /// The slate is not built, or not for this epoch.
    Unready,
    /// Nobody could say lately which epoch it is.
    EpochUnknown,
}

impl Aside {
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::OutOfReach => "out_of_reach",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Unready => "unready",
            Self::EpochUnknown => "epoch_unknown",
        }
    }
}

#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    keeper: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    met: RwLock<Met<Link>>,
    breaker: Breaker,
    timeout: Duration,
    /// The connection is gone: the keeper should not sleep on.
    cut: Notify,
    /// Another life than before was seen.
    moved: Notify,
}

#[derive(Clone)]
enum Link {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::One(_) => "One",
            Self::Cluster(_) => "Cluster",
        })
    }
}

impl Server {
    /// Begins to keep a connection. Needs a Tokio runtime; needs no Redis yet. Of several that lead to the same server
    /// one has a herald.
    pub(super) fn keep(
        address: Address,
        settings: &Settings,
        clock: Arc<dyn Clock>,
        herald: Option<Herald>,
    ) -> Self {
        let shared = Arc::new(Shared {
            met: RwLock::new(Met::nobody()),
            breaker: Breaker::new(settings.failures_to_open, settings.trials, clock).told_by(herald),
            timeout: settings.timeout,
            cut: Notify::new(),
            moved: Notify::new(),
        });
        let keeper = Keeper {
            of: Arc::downgrade(&shared),
            connector: Connector::new(address, settings),
            every: settings.watch_every,
            patience: settings.connect_timeout,
        };
        Self { shared, keeper: tokio::spawn(keeper.run()).abort_handle() }
    }

    pub(super) async fn invoke<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Aside> {
        self.shared.attempt(async |link| link.invoke(call).await).await
    }

    /// The same for what undoes something asked before: said also to a server that is being left alone, for it may yet
    /// do what it was asked, and in that order.
    pub(super) async fn insist<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Aside> {
        self.shared.say(async |link| link.invoke(call).await).await
    }

    pub(super) async fn insist_on<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Aside> {
        self.shared.say(async |link| link.query(command).await).await
    }

    pub(super) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Aside> {
        self.shared.attempt(async |link| link.query(command).await).await
    }

    /// Tells one life of the servers from another; `None` while nobody has seen those that the connection leads to.
    pub(super) fn life(&self) -> Option<Arc<str>> {
        self.shared.met.read().life()
    }

    /// How often another life was seen than the one before. Counted before that life is told.
    pub(super) fn moves(&self) -> u64 {
        self.shared.met.read().moves()
    }

    /// Waits for the next move, or returns at once for one that nobody has waited for.
    pub(super) async fn moved(&self) {
        self.shared.moved.notified().await;
    }

    pub(super) fn trouble_since(&self) -> Option<Moment> {
        self.shared.breaker.trouble_since()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Link {
    async fn invoke<T: FromRedisValue>(&mut self, call: &ScriptInvocation<'_>) -> RedisResult<T> {
        match self {
            Self::One(one) => call.invoke_async(one).await,
            Self::Cluster(cluster) => call.invoke_async(cluster).await,
        }
    }

    async fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        match self {
            Self::One(one) => command.query_async(one).await,
            Self::Cluster(cluster) => command.query_async(cluster).await,
        }
    }

    /// What every master says of itself, under this heading: Redis 6 takes one at a time.
    async fn introduce(&mut self, heading: &str) -> RedisResult<Value> {
        let mut info = redis::cmd("INFO");
        info.arg(heading);
        match self {
            Self::One(one) => info.query_async(one).await,
            Self::Cluster(cluster) => {
                let everybody = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                cluster.route_command(info, everybody).await
            }
        }
    }
}

impl Shared {
    async fn attempt<T>(&self, work: impl AsyncFnOnce(&mut Link) -> RedisResult<T>) -> Result<T, Aside> {
        if self.met.read().is_nobody() || !self.breaker.admits() {
            return Err(Aside::OutOfReach);
        }
        self.say(work).await
    }

    /// Whatever the breaker thinks.
    async fn say<T>(&self, work: impl AsyncFnOnce(&mut Link) -> RedisResult<T>) -> Result<T, Aside> {
        let met = self.met.read().link();
        let Some((number, mut link)) = met else { return Err(Aside::OutOfReach) };
        match tokio::time::timeout(self.timeout, work(&mut link)).await {
            Ok(Ok(answer)) => {
                self.breaker.went_well();
                Ok(answer)
            }
            Ok(Err(error)) => Err(self.failed(number, &error)),
            Err(_) => {
                self.breaker.went_wrong();
                Err(Aside::TimedOut)
            }
        }
    }

    fn failed(&self, number: u64, error: &RedisError) -> Aside {
        if error.is_timeout() {
            self.breaker.went_wrong();
            return Aside::TimedOut;
        }
        if error.is_io_error() || error.is_connection_dropped() {
            self.cut(number);
            return Aside::OutOfReach;
        }
        tracing::debug!(%error, "Redis refused the gate's command");
        self.breaker.went_wrong();
        Aside::Failed
    }

    /// What was seen through this connection. The breaker hears of it only where nobody has cut it meanwhile.
    fn seen(&self, number: u64, life: Arc<str>) -> bool {
        let mut met = self.met.write();
        let moves = met.moves();
        let there = met.seen(number, life);
        if there {
            self.breaker.seen_well();
        }
        if met.moves() != moves {
            self.moved.notify_one();
        }
        there
    }

    fn cut(&self, number: u64) {
        let mut met = self.met.write();
        if met.cut(number) {
            self.breaker.cut();
            self.cut.notify_one();
        }
    }
}

/// Connects, and looks at the servers now and then.
struct Keeper {
    of: Weak<Shared>,
    connector: Connector,
    every: Duration,
    patience: Duration,
}

impl Keeper {
    async fn run(mut self) {
        let mut soon = self.every.min(Duration::from_millis(20));
        while let Some(shared) = self.of.upgrade() {
            let well = self.look_after(&shared).await;
            // A server that is away is tried again soon, then less and less often, up to the usual pace.
            soon = if well { self.every.min(Duration::from_millis(20)) } else { (soon * 2).min(self.every) };
            let pause = if well { self.every } else { soon };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = shared.cut.notified(), if well => {}
            }
        }
    }

    async fn look_after(&mut self, shared: &Shared) -> bool {
        let met = shared.met.read().link();
        let Some((number, link)) = met else { return self.connect(shared).await };
        let well = self.look_at(shared, number, link).await;
        // Asked also of a master that says nothing: another may have taken its place.
        if self.connector.has_moved().await {
            shared.cut(number);
            return false;
        }
        well
    }

    /// And looks, but asks no Sentinel whether that is the master: it was just named.
    async fn connect(&mut self, shared: &Shared) -> bool {
        match tokio::time::timeout(self.patience, self.connector.connect()).await {
            Ok(Ok(link)) => {
                let number = shared.met.write().meet(link.clone());
                self.look_at(shared, number, link).await
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "the gate cannot connect to Redis");
                shared.breaker.cut();
                false
            }
            Err(_) => {
                shared.breaker.cut();
                false
            }
        }
    }

    async fn look_at(&self, shared: &Shared, number: u64, mut link: Link) -> bool {
        let patience = if shared.breaker.is_open() { self.patience } else { 2 * shared.timeout };
        match tokio::time::timeout(patience, look_at(&mut link)).await {
            Ok(Ok(life)) => shared.seen(number, life),
            // An answer, but not the one that was wanted: it can be read, perhaps, but not be written to.
            Ok(Err(error))
                if !error.is_io_error() && !error.is_connection_dropped() && !error.is_timeout() =>
            {
                shared.breaker.cut();
                if self.connector.follows_a_name() {
                    shared.cut(number);
                }
                false
            }
            Ok(Err(_)) => {
                shared.cut(number);
                false
            }
            Err(_) => {
                shared.breaker.went_wrong();
                false
            }
        }
    }
}

/// Whether the servers can be written to, and which life they lead. A process has a life, and so has the history that
/// it writes, which begins anew with every promotion: a master that was a replica for a while is the same process, with
/// the memory of whoever it followed.
async fn look_at(link: &mut Link) -> RedisResult<Arc<str>> {
    let mut write = redis::cmd("SET");
    write.arg("hf:gate:seen").arg(1).arg("PX").arg(10_000);
    link.query::<String>(&write).await?;
    let mut lives = Vec::new();
    for (heading, name) in [("server", "run_id:"), ("replication", "master_replid:")] {
        lines_of(name, &link.introduce(heading).await?, &mut lives);
    }
    lives.sort_unstable();
    let digest = Sha256::digest(lives.concat());
    Ok(digest[..6].iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

/// What one server or many say in lines that begin with this name.
fn lines_of(name: &str, value: &Value, found: &mut Vec<String>) {
    let mut read = |text: &str| {
        found.extend(text.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned));
    };
    match value {
        Value::BulkString(bytes) => read(&String::from_utf8_lossy(bytes)),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => read(text),
        Value::Array(all) => all.iter().for_each(|value| lines_of(name, value, found)),
        Value::Map(pairs) => pairs.iter().for_each(|(_, value)| lines_of(name, value, found)),
        _ => {}
    }
}

/// Finds the servers and connects to them.
struct Connector {
    address: Address,
    config: AsyncConnectionConfig,
    settings: Settings,
    /// The Sentinels, once they have named a master, and which of them is asked first.
    sentinel: Option<SentinelClient>,
    asks_first: usize,
    /// Where the connection leads, for a master found by name.
    master: Option<String>,
    looks: u32,
    /// A connection to one Sentinel, and to which.
    ear: Option<MultiplexedConnection>,
    listens_to: usize,
}

impl Connector {
    /// How many looks at the server from one question to all Sentinels to the next. That one connects to the master
    /// they name, to see whether it is one: too dear for every look.
    const LOOKS_A_QUESTION: u32 = 4;

    fn new(address: Address, settings: &Settings) -> Self {
        let config = dial::bounds(settings.connect_timeout);
        Self {
            address,
            config,
            settings: settings.clone(),
            sentinel: None,
            asks_first: 0,
            master: None,
            looks: 0,
            ear: None,
            listens_to: 0,
        }
    }

    fn follows_a_name(&self) -> bool {
        matches!(self.address, Address::Sentinel { .. })
    }

    async fn connect(&mut self) -> RedisResult<Link> {
        match self.address.clone() {
            Address::Servers(servers) => self.to_servers(&servers).await,
            Address::Sentinel { .. } => {
                let master = self.named_master().await?;
                self.master = Some(master.addr().to_string());
                self.looks = 0;
                self.to_one(&master).await
            }
        }
    }

    async fn to_one(&self, server: &ConnectionInfo) -> RedisResult<Link> {
        dial::to_one(server, &self.config).await.map(Link::One)
    }

    /// One server, or a Cluster where the first that answers says so. Of several that are no Cluster only the first
    /// is used: nodes that write to different servers would hide from each other what they release.
    async fn to_servers(&self, servers: &[ConnectionInfo]) -> RedisResult<Link> {
        let mut fault = None;
        for (at, server) in servers.iter().enumerate() {
            match self.to_one(server).await {
                Ok(mut link) => {
                    let mut info = redis::cmd("INFO");
                    info.arg("cluster");
                    let about: String = link.query(&info).await?;
                    if about.contains("cluster_enabled:1") {
                        return self.to_cluster(servers).await;
                    }
                    if at == 0 {
                        return Ok(link);
                    }
                    break;
                }
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        Err(fault.unwrap_or_else(|| {
            RedisError::from((redis::ErrorKind::InvalidClientConfig, "no server is named"))
        }))
    }

    async fn to_cluster(&self, servers: &[ConnectionInfo]) -> RedisResult<Link> {
        let Settings { authority, connect_timeout, .. } = &self.settings;
        dial::to_cluster(servers, authority.as_ref(), *connect_timeout).await.map(Link::Cluster)
    }

    /// The master, as the first Sentinel says that can. The client library believes them in their order, so one that says
    /// nothing at all keeps all others from being heard for longer than anybody here waits: whoever has not named a master,
    /// or not in time, is asked last from then on.
    async fn named_master(&mut self) -> RedisResult<ConnectionInfo> {
        let Address::Sentinel { sentinels, master, login, .. } = &self.address else {
            return Err(RedisError::from((redis::ErrorKind::InvalidClientConfig, "no Sentinel is named")));
        };
        let mut client = match self.sentinel.take() {
            Some(client) => client,
            None => {
                let mut sentinels = sentinels.clone();
                let first = self.asks_first % sentinels.len();
                sentinels.rotate_left(first);
                dial::by_name(&sentinels, master, login, self.settings.authority.as_ref())?
            }
        };
        // Whoever waits for this may give up in the middle of it.
        let asked_first = self.asks_first;
        self.asks_first += 1;
        let named = client.async_get_client().await?.get_connection_info().clone();
        self.asks_first = asked_first;
        self.sentinel = Some(client);
        Ok(named)
    }

    /// Whether the Sentinels name another master than the one connected to.
    async fn has_moved(&mut self) -> bool {
        if !self.follows_a_name() {
            return false;
        }
        self.looks = self.looks.wrapping_add(1);
        let patience = self.settings.connect_timeout;
        if !self.looks.is_multiple_of(Self::LOOKS_A_QUESTION) {
            let heard = tokio::time::timeout(patience, self.hears_of_another()).await;
            if heard != Ok(true) {
                return false;
            }
        }
        let named = tokio::time::timeout(patience, self.named_master()).await;
        // Sentinels that cannot say keep nobody from a master that works.
        let Ok(Ok(master)) = named else { return false };
        self.master.as_ref() != Some(&master.addr().to_string())
    }

    /// Whether one Sentinel names another, which is a reason to ask them all: it may be behind the others. One that
    /// does not answer is not listened to next time.
    async fn hears_of_another(&mut self) -> bool {
        let Address::Sentinel { sentinels, master, .. } = &self.address else { return false };
        let listens_to = self.listens_to;
        let sentinel = &sentinels[listens_to % sentinels.len()];
        self.listens_to += 1;
        let mut ear = match self.ear.take() {
            Some(ear) => ear,
            None => match dial::to_one(sentinel, &self.config).await {
                Ok(ear) => ear,
                Err(_) => return false,
            },
        };
        let Ok(Some(named)) = dial::master_named_by(&mut ear, master).await else { return false };
        self.ear = Some(ear);
        self.listens_to = listens_to;
        self.master.as_ref() != Some(&named)
    }
}
