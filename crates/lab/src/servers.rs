//! The PostgreSQL and Redis that strategies run on: those that were named, or private ones. What is not there is said,
//! and whatever needs it is left out.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use holdfast_engine::{
    gate::redis::{self as gate, Authority},
    ledger::postgres::DialError,
    strategy::{GateNeed, Strategy},
};
use holdfast_rigs::{Postgres, Redis, missing};

use crate::{
    options::Options,
    scratch::{Databases, Mark},
    shop::ShopError,
};

/// How many nodes a strategy on PostgreSQL has: what holds on one node only is no strategy.
const NODES: usize = 2;
/// Independent servers for `redlock`.
const APART: usize = 3;

#[derive(Debug)]
pub(crate) struct Servers {
    pub postgres: Result<PostgresServer, String>,
    pub redis: Result<RedisServers, String>,
    /// For `redlock`, where fewer were named than it needs: ours, and nobody's to hurt.
    pub apart: Result<Vec<Redis>, String>,
    /// Begins the name of whatever is made there.
    pub mark: Mark,
}

#[derive(Debug)]
pub(crate) struct PostgresServer {
    /// Ours to hurt; absent when the server was named.
    pub rig: Option<Arc<Postgres>>,
    pub databases: Databases,
    pub version: String,
}

#[derive(Debug)]
pub(crate) struct RedisServers {
    /// Ours to hurt; empty when the servers were named.
    pub rigs: Arc<Vec<Redis>>,
    addresses: Vec<String>,
    /// Who vouches for them, where they were named and are encrypted; and where that is written.
    authority: Option<(Authority, PathBuf)>,
    pub version: String,
}

impl Servers {
    /// Finds or starts both. A server that was named and cannot be used is a fault; one that cannot be started is only
    /// missing.
    pub(crate) async fn find(options: &Options) -> Result<Self, ShopError> {
        let postgres = match &options.ledger {
            Some(url) => Ok(PostgresServer::named(url).await?),
            None => PostgresServer::private().await,
        };
        let redis = match &options.gate {
            Some(addresses) => Ok(RedisServers::named(addresses, options.gate_ca.as_deref()).await?),
            None => RedisServers::private().await,
        };
        let apart = match &redis {
            Ok(named) if named.addresses.len() < APART => start_apart().await,
            _ => Ok(Vec::new()),
        };
        Ok(Self { postgres, redis, apart, mark: Mark::new() })
    }

    /// Why a strategy cannot run here.
    pub(crate) fn lack(&self, strategy: Strategy) -> Option<String> {
        strategy.claiming()?;
        if let Err(why) = &self.postgres {
            return Some(why.clone());
        }
        let GateNeed::Must(_) = strategy.gate() else { return None };
        match &self.redis {
            Err(why) => Some(why.clone()),
            Ok(_) if strategy == Strategy::Redlock => self.apart.as_ref().err().map(|why| {
                format!(
                    "redlock needs {APART} independent Redis servers; name them with commas in --gate ({why})"
                )
            }),
            Ok(_) => None,
        }
    }

    /// What `--gate` would say for a strategy.
    pub(crate) fn gate(&self, strategy: Strategy) -> Option<String> {
        let redis = self.redis.as_ref().ok()?;
        match strategy.gate() {
            GateNeed::Must("redlock") if redis.addresses.len() >= APART => Some(redis.addresses.join(",")),
            GateNeed::Must("redlock") => {
                let apart: Vec<String> = self.apart.as_ref().ok()?.iter().map(Redis::url).collect();
                Some(apart.join(","))
            }
            GateNeed::Must(_) => redis.addresses.first().cloned(),
            _ => None,
        }
    }

    /// Who vouches for the gate, as `--gate-ca` would say it and as its settings have it.
    pub(crate) fn gate_ca(&self) -> Option<&Path> {
        self.redis.as_ref().ok()?.authority.as_ref().map(|(_, path)| path.as_path())
    }

    pub(crate) fn gate_settings(&self) -> gate::Settings {
        let authority = self.redis.as_ref().ok().and_then(|redis| redis.authority().cloned());
        gate::Settings { authority, ..gate::Settings::default() }
    }

    /// A fresh database, as many times as there are nodes.
    pub(crate) async fn books(&mut self) -> Result<Vec<String>, ShopError> {
        let server = self.postgres.as_mut().map_err(|why| ShopError(why.clone()))?;
        let url = server.databases.fresh().await.map_err(ShopError::of)?;
        Ok(vec![url; NODES])
    }

    /// Where the processes of these servers stand, if all of them are ours.
    pub(crate) fn own_folders(&self) -> Option<Vec<PathBuf>> {
        let mut folders = Vec::new();
        if let Ok(server) = &self.postgres {
            folders.push(server.rig.as_ref()?.folder().to_owned());
        }
        if let Ok(redis) = &self.redis {
            let rigs = redis.rigs.iter().map(|rig| rig.folder().to_owned());
            folders.extend(rigs);
            if redis.rigs.is_empty() {
                return None;
            }
        }
        Some(folders)
    }

    /// Removes what was made on a server that stays; a private one goes as a whole.
    pub(crate) async fn leave(&mut self) {
        if let Ok(server) = &mut self.postgres
            && server.rig.is_none()
        {
            server.databases.drop_all().await;
        }
        if let Ok(redis) = &self.redis
            && redis.rigs.is_empty()
        {
            redis.forget(self.mark).await;
        }
    }
}

impl PostgresServer {
    async fn named(url: &str) -> Result<Self, ShopError> {
        Self::at(url, None)
            .await
            .map_err(|fault| ShopError(format!("the PostgreSQL of --ledger cannot be used: {fault}")))
    }

    async fn private() -> Result<Self, String> {
        let lacking = missing(holdfast_rigs::Program::POSTGRES);
        if let Some(program) = lacking.first() {
            return Err(program.to_string());
        }
        let started = tokio::task::spawn_blocking(Postgres::start).await;
        let rig = started.map_err(|fault| fault.to_string())?.map_err(|fault| fault.to_string())?;
        let url = rig.url();
        Self::at(&url, Some(Arc::new(rig))).await.map_err(|fault| fault.to_string())
    }

    async fn at(url: &str, rig: Option<Arc<Postgres>>) -> Result<Self, DialError> {
        let databases = Databases::on(url).await?;
        let row = databases.server().query_one("SHOW server_version", &[]).await?;
        Ok(Self { rig, databases, version: row.get(0) })
    }
}

impl RedisServers {
    async fn named(addresses: &str, ca: Option<&Path>) -> Result<Self, ShopError> {
        let unusable =
            |fault: redis::RedisError| ShopError(format!("the Redis of --gate cannot be used: {fault}"));
        let read = |path: &Path| Ok((Authority::read(path).map_err(ShopError)?, path.to_owned()));
        let authority = ca.map(read).transpose()?;
        // Sentinels share one address; everything else stands apart by commas.
        let are_sentinels = is_sentinel(addresses);
        let addresses: Vec<String> = match are_sentinels {
            true => vec![addresses.to_owned()],
            false => addresses.split(',').map(str::to_owned).collect(),
        };
        let version = match are_sentinels {
            true => "behind Sentinels".to_owned(),
            false => {
                version(&addresses[0], authority.as_ref().map(|(read, _)| read)).await.map_err(unusable)?
            }
        };
        Ok(Self { rigs: Arc::default(), addresses, authority, version })
    }

    async fn private() -> Result<Self, String> {
        let rigs = start_apart().await?;
        let addresses: Vec<String> = rigs.iter().map(Redis::url).collect();
        let version = version(&addresses[0], None).await.map_err(|fault| fault.to_string())?;
        Ok(Self { rigs: Arc::new(rigs), addresses, authority: None, version })
    }

    /// Removes the keys of this run from servers that can be spoken to directly. Elsewhere, and where this fails, what
    /// the gates wrote ends by itself, after a day at most.
    async fn forget(&self, mark: Mark) {
        for address in self.addresses.iter().filter(|address| !is_sentinel(address)) {
            let _ = forget_keys(
                address,
                self.authority(),
                &[&format!("hf:{{lab-{mark}*"), &format!("lab_{mark}*")],
            )
            .await;
        }
    }

    /// The server that single-server strategies and the mistakes use, where it can be spoken to directly.
    pub(crate) fn first(&self) -> Option<&str> {
        self.addresses.first().map(String::as_str).filter(|address| !is_sentinel(address))
    }

    pub(crate) fn authority(&self) -> Option<&Authority> {
        self.authority.as_ref().map(|(read, _)| read)
    }
}

/// Private servers, as many as `redlock` needs.
async fn start_apart() -> Result<Vec<Redis>, String> {
    let lacking = missing(holdfast_rigs::Program::REDIS);
    if let Some(program) = lacking.first() {
        return Err(program.to_string());
    }
    let start = || (0..APART).map(|_| Redis::start()).collect::<Result<Vec<_>, _>>();
    let started = tokio::task::spawn_blocking(start).await;
    started.map_err(|fault| fault.to_string())?.map_err(|fault| fault.to_string())
}

fn is_sentinel(address: &str) -> bool {
    ["redis+sentinel://", "rediss+sentinel://"].iter().any(|scheme| address.starts_with(scheme))
}

async fn version(address: &str, authority: Option<&Authority>) -> redis::RedisResult<String> {
    let mut connection = gate::connect(address, authority).await?;
    let info: String = redis::cmd("INFO").arg("server").query_async(&mut connection).await?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}

async fn forget_keys(
    address: &str,
    authority: Option<&Authority>,
    patterns: &[&str],
) -> redis::RedisResult<()> {
    let mut connection = gate::connect(address, authority).await?;
    for pattern in patterns {
        let mut cursor = 0u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000);
            let (next, keys): (u64, Vec<String>) = scan.query_async(&mut connection).await?;
            if !keys.is_empty() {
                let _: u64 = redis::cmd("UNLINK").arg(keys).query_async(&mut connection).await?;
            }
            if next == 0 {
                break;
            }
            cursor = next;
        }
    }
    Ok(())
}
