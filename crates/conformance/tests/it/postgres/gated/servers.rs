//! The Redis of a gate, whichever way it is set up.

use std::fmt;

use holdfast_domain::OfferId;
use holdfast_engine::gate::redis::Strategy;
use holdfast_rigs::{Redis, RedisCluster, Sentinel};
use parking_lot::Mutex;

pub(super) enum Servers {
    One(Redis),
    /// Independent ones, for a majority of them.
    Apart(Vec<Redis>),
    Cluster(RedisCluster),
    /// Behind a lock, so that its master can be killed while others ask.
    Sentinel(Mutex<Sentinel>),
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(_) => "one server",
            Self::Apart(_) => "three servers",
            Self::Cluster(_) => "a Cluster",
            Self::Sentinel(_) => "a master behind Sentinels",
        })
    }
}

impl Servers {
    /// What this gate usually stands on.
    pub(super) fn for_gate(gate: Strategy) -> Self {
        match gate {
            Strategy::Redlock => Self::Apart((0..3).map(|_| Redis::start().expect("a Redis")).collect()),
            _ => Self::One(Redis::start().expect("a Redis")),
        }
    }

    pub(super) fn cluster() -> Self {
        Self::Cluster(RedisCluster::start(3).expect("a Cluster"))
    }

    pub(super) fn sentinel() -> Self {
        Self::Sentinel(Mutex::new(Sentinel::start().expect("Sentinels")))
    }

    pub(super) fn addresses(&self) -> String {
        match self {
            Self::One(one) => one.url(),
            Self::Apart(all) => all.iter().map(Redis::url).collect::<Vec<_>>().join(","),
            Self::Cluster(cluster) => cluster.urls().join(","),
            Self::Sentinel(group) => {
                let group = group.lock();
                let hosts: Vec<_> = group.addresses().iter().map(ToString::to_string).collect();
                format!("redis+sentinel://{}/{}", hosts.join(","), group.master_name())
            }
        }
    }

    /// Asks each server that can be written to.
    fn ask_all<T>(&self, ask: impl Fn(&Redis) -> T) -> Vec<T> {
        match self {
            Self::One(one) => vec![ask(one)],
            Self::Apart(all) => all.iter().map(ask).collect(),
            Self::Cluster(cluster) => cluster.nodes().iter().map(ask).collect(),
            Self::Sentinel(group) => {
                let group = group.lock();
                let master = group.master().expect("a master");
                vec![ask(&group.servers()[master])]
            }
        }
    }

    /// Everything it remembers is gone, as for books that begin anew.
    pub(super) fn forget(&self) {
        self.ask_all(|server| drop(server.ask(&["FLUSHALL"]).expect("it forgets")));
    }

    /// Whether an offer's slate is whole. Of a Cluster only the owner of the slot says yes.
    pub(super) fn is_whole(&self, offer: &OfferId) -> bool {
        let slate = format!("hf:{{{offer}}}:slate");
        let whole = |server: &Redis| {
            let reply = server.ask(&["HEXISTS", &slate, "mark"]);
            reply.is_ok_and(|reply| reply.integer() == Some(1))
        };
        self.ask_all(whole).contains(&true)
    }

    /// Scripts that were run, over all servers: what a gate does is to run scripts.
    pub(super) fn scripts_run(&self) -> u64 {
        let calls = |server: &Redis| {
            let stats = server.ask(&["INFO", "commandstats"]).expect("an answer");
            let line = stats.text().and_then(|text| {
                text.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=").map(str::to_owned))
            });
            line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
        };
        self.ask_all(calls).into_iter().sum()
    }
}
