//! Looking at the Redis servers that an address names: whether they answer, and how they are set up.
//!
//! For whoever starts a node or looks after one. Every look is a connection of its own, never the gate's.

use std::{collections::HashMap, time::Duration};

use redis::{ConnectionInfo, FromRedisValue, RedisError, RedisResult, aio::MultiplexedConnection, cmd};

use super::{
    OpenError,
    address::Address,
    dial::{self, Authority},
};
use crate::{
    clock::{Clock, SystemClock},
    tls::Encryption,
};

/// Whether these are addresses that can be used; if not, the rule that they break.
pub fn address(addresses: &str, authority: Option<&Authority>) -> Result<(), String> {
    const RULE: &str = "must be redis://host:port, several of them with commas between them, or \
                        redis+sentinel://host,host/name; or the same with rediss";
    match Address::parse(addresses, authority) {
        Ok(parsed) if authority.is_some() && !parsed.is_encrypted() => {
            Err("gate_ca counts with rediss:// only: without it nobody is asked who they are".to_owned())
        }
        Ok(_) => Ok(()),
        // Not the address itself: it may carry a password.
        Err(OpenError::Address { why, .. }) => Err(format!("{RULE}: {why}")),
        Err(other) => Err(other.to_string()),
    }
}

/// One server and what was seen there, or why nothing was.
#[derive(Debug, Clone)]
pub struct Look {
    /// Host and port; a master behind Sentinels is called by its name.
    pub server: String,
    pub seen: Result<Seen, String>,
}

/// What is so, without judging it. Empty where the server does not say.
#[derive(Debug, Clone)]
pub struct Seen {
    pub version: String,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// `master` or `slave`.
    pub role: String,
    /// In bytes; 0 for no limit.
    pub max_memory: u64,
    pub eviction: String,
    pub append_only: bool,
    /// `always`, `everysec` or `no`.
    pub append_fsync: String,
    /// When snapshots are written; empty for never.
    pub snapshots: String,
    /// `ok` or `fail`, of a member of a Cluster.
    pub cluster_state: Option<String>,
    pub encryption: Encryption,
    pub round_trip: Duration,
    /// By how much its clock is ahead of ours; half a round trip of it is noise.
    pub clock_ahead_ms: i64,
}

/// Looks at every server that is named; behind Sentinels, at those and at the master they name.
pub async fn look(
    addresses: &str,
    authority: Option<&Authority>,
    patience: Duration,
) -> Result<Vec<Look>, OpenError> {
    let mut looks = Vec::new();
    match Address::parse(addresses, authority)? {
        Address::Servers(servers) => {
            for server in servers {
                looks.push(look_at(&server, server.addr().to_string(), patience).await);
            }
        }
        Address::Sentinel { sentinels, master, login, scheme } => {
            let mut found = None;
            for sentinel in sentinels {
                let named = master_of(&sentinel, &master, patience).await;
                found = found.or_else(|| named.clone().ok());
                let look = look_at(&sentinel, format!("sentinel {}", sentinel.addr()), patience).await;
                // A Sentinel that answers and knows no such master is of no use.
                looks.push(Look { seen: named.and(look.seen), ..look });
            }
            if let Some(address) = found {
                let place = dial::server(&format!("{scheme}{address}"), authority);
                let place = place.map(|place| place.set_redis_settings(login));
                let name = format!("{master} ({address})");
                looks.push(match place {
                    Ok(place) => look_at(&place, name, patience).await,
                    Err(fault) => Look { server: name, seen: Err(fault.to_string()) },
                });
            }
        }
    }
    Ok(looks)
}

async fn master_of(sentinel: &ConnectionInfo, master: &str, patience: Duration) -> Result<String, String> {
    let asked = async {
        let mut connection = connect(sentinel, patience).await?;
        dial::master_named_by(&mut connection, master).await
    };
    match asked.await {
        Ok(Some(place)) => Ok(place),
        Ok(None) => Err(format!("it knows no master {master:?}")),
        Err(fault) => Err(fault.to_string()),
    }
}

async fn look_at(server: &ConnectionInfo, name: String, patience: Duration) -> Look {
    let seen = async {
        let mut connection = connect(server, patience).await?;
        look_with(&mut connection, dial::encryption(server)).await
    };
    Look { server: name, seen: seen.await.map_err(|fault: RedisError| fault.to_string()) }
}

async fn connect(server: &ConnectionInfo, patience: Duration) -> RedisResult<MultiplexedConnection> {
    dial::to_one(server, &dial::bounds(patience)).await
}

async fn look_with(connection: &mut MultiplexedConnection, encryption: Encryption) -> RedisResult<Seen> {
    let info: String = cmd("INFO").query_async(connection).await?;
    let said = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    };
    let round_trip = round_trip(connection).await?;
    // A Sentinel does not tell the time, and nothing ends by its clock.
    let clock_ahead_ms = match said("redis_mode").as_str() {
        "sentinel" => 0,
        _ => clock_ahead(connection, round_trip).await?,
    };
    let cluster_state = match said("cluster_enabled").as_str() {
        "1" => Some(cluster_state(connection).await?),
        _ => None,
    };
    Ok(Seen {
        version: said("redis_version"),
        mode: said("redis_mode"),
        role: said("role"),
        max_memory: said("maxmemory").parse().unwrap_or(0),
        eviction: said("maxmemory_policy"),
        append_only: said("aof_enabled") == "1",
        append_fsync: setting(connection, "appendfsync").await,
        snapshots: setting(connection, "save").await,
        cluster_state,
        encryption,
        round_trip,
        clock_ahead_ms,
    })
}

const MEASUREMENTS: usize = 9;

/// The median of a few.
async fn round_trip(connection: &mut MultiplexedConnection) -> RedisResult<Duration> {
    let mut took = Vec::with_capacity(MEASUREMENTS);
    for _ in 0..MEASUREMENTS {
        let began = tokio::time::Instant::now();
        cmd("PING").query_async::<()>(connection).await?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took[MEASUREMENTS / 2])
}

async fn clock_ahead(connection: &mut MultiplexedConnection, round_trip: Duration) -> RedisResult<i64> {
    let ours = SystemClock::new();
    let (seconds, micros): (i64, i64) = cmd("TIME").query_async(connection).await?;
    let theirs = seconds * 1000 + micros / 1000 + round_trip.as_millis() as i64 / 2;
    Ok(theirs - ours.now().ms())
}

async fn cluster_state(connection: &mut MultiplexedConnection) -> RedisResult<String> {
    let info: String = cmd("CLUSTER").arg("INFO").query_async(connection).await?;
    let state = info.lines().find_map(|line| line.strip_prefix("cluster_state:"));
    Ok(state.unwrap_or_default().trim().to_owned())
}

/// Hosted servers and Sentinels may not tell; then nobody can judge it.
async fn setting(connection: &mut MultiplexedConnection, name: &str) -> String {
    let mut question = cmd("CONFIG");
    question.arg("GET").arg(name);
    let answer = question.query_async::<redis::Value>(connection).await;
    let told = answer.ok().and_then(|value| HashMap::<String, String>::from_redis_value(value).ok());
    told.and_then(|mut told| told.remove(name)).unwrap_or_default()
}
