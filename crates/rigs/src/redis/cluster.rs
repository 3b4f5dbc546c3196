//! A private Redis Cluster: masters that share the slots, with or without replicas. Needs Redis 7.

use std::net::SocketAddr;

use super::{Redis, RedisOptions};
use crate::{
    Result, RigError, Tls,
    patience::{PATIENCE, poll},
    port,
};

const SLOTS: usize = 16_384;
/// After this long without an answer a node counts as failed; replicas take over soon after.
const NODE_TIMEOUT_MS: &str = "1500";

/// A running cluster. Dropped, it is gone.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    masters: usize,
}

impl RedisCluster {
    /// Masters only: while one is down, so are its slots.
    pub fn start(masters: usize) -> Result<Self> {
        Self::with_replicas(masters, 0)
    }

    /// With `each` replicas for every master, one of which takes over when it dies. A majority of the masters has to
    /// agree on that, so it takes three.
    pub fn with_replicas(masters: usize, each: usize) -> Result<Self> {
        Self::made_of(masters, each, None)
    }

    /// Masters only, encrypted; they tell each other's numeric addresses, which the certificate must be good for.
    pub fn with_tls(masters: usize, tls: &Tls) -> Result<Self> {
        Self::made_of(masters, 0, Some(tls))
    }

    fn made_of(masters: usize, each: usize, tls: Option<&Tls>) -> Result<Self> {
        let (nodes, buses): (Vec<Redis>, Vec<u16>) =
            (0..masters * (1 + each)).map(|_| node(tls)).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let cluster = Self { nodes, masters };
        cluster.share_slots()?;
        cluster.introduce(&buses)?;
        cluster.appoint_replicas()?;
        cluster.settle()?;
        Ok(cluster)
    }

    /// Masters first, then the replicas: that is how they were started, and may change.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// For killing one and starting it again.
    pub fn node_mut(&mut self, index: usize) -> &mut Redis {
        &mut self.nodes[index]
    }

    /// Where clients may begin; each node knows the others.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Redis::address).collect()
    }

    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Redis::url).collect()
    }

    /// Where it is encrypted.
    pub fn tls_urls(&self) -> Vec<String> {
        self.nodes.iter().filter_map(Redis::tls_url).collect()
    }

    /// Which node answers for a key now, as the running ones see it.
    pub fn owner_of(&self, key: &str) -> Result<usize> {
        let asked = self.running().next().ok_or(RigError::NotRunning { server: "the cluster".into() })?;
        let slot = asked.ask(&["CLUSTER", "KEYSLOT", key])?.integer();
        let ranges = asked.ask(&["CLUSTER", "SLOTS"])?;
        let owner = ranges.items().iter().find_map(|range| {
            let [first, last, master, ..] = range.items() else {
                return None;
            };
            let holds = (first.integer()..=last.integer()).contains(&slot);
            holds.then(|| master.items().get(1)?.integer()).flatten()
        });
        let at_port = |port| self.nodes.iter().position(|node| i64::from(node.address().port()) == port);
        owner.and_then(at_port).ok_or_else(|| RigError::Failed {
            doing: format!("looking for the owner of {key}"),
            said: "no node has its slot".into(),
        })
    }

    /// Waits until all running nodes find that every slot is served and everybody is known.
    pub fn settle(&self) -> Result<()> {
        self.wait_for("the cluster to agree", |node| {
            let facts = node.ask(&["CLUSTER", "INFO"]).ok()?;
            let facts = facts.text()?;
            let agreed = facts.contains("cluster_state:ok")
                && facts.contains(&format!("cluster_slots_ok:{SLOTS}"))
                && facts.contains(&format!("cluster_known_nodes:{}\r", self.nodes.len()));
            let follows = node.info("role")? == "master" || node.info("master_link_status")? == "up";
            (agreed && follows).then_some(())
        })
    }

    fn running(&self) -> impl Iterator<Item = &Redis> {
        self.nodes.iter().filter(|node| node.is_running())
    }

    fn share_slots(&self) -> Result<()> {
        for (index, node) in self.nodes[..self.masters].iter().enumerate() {
            let first = index * SLOTS / self.masters;
            let last = (index + 1) * SLOTS / self.masters - 1;
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])?;
            // Distinct from the start, so that they need not argue it out.
            node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        Ok(())
    }

    /// One meets all; they hear of each other from it.
    fn introduce(&self, buses: &[u16]) -> Result<()> {
        let Some((first, others)) = self.nodes.split_first() else {
            return Ok(());
        };
        for (node, bus) in others.iter().zip(&buses[1..]) {
            let port = node.group_port().to_string();
            first.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus.to_string()])?;
        }
        let all = format!("cluster_known_nodes:{}\r", self.nodes.len());
        self.wait_for("the nodes to know each other", |node| {
            node.ask(&["CLUSTER", "INFO"]).ok()?.text()?.contains(&all).then_some(())
        })
    }

    fn appoint_replicas(&self) -> Result<()> {
        let (masters, replicas) = self.nodes.split_at(self.masters);
        for (replica, master) in replicas.iter().zip(masters.iter().cycle()) {
            let id = master.ask(&["CLUSTER", "MYID"])?;
            let id = id.text().unwrap_or_default();
            // It may know the master by address and not yet by name.
            poll(PATIENCE, || replica.ask(&["CLUSTER", "REPLICATE", id]).ok())
                .ok_or_else(|| replica.server.late("to become a replica"))?;
        }
        Ok(())
    }

    /// Waits until something is true of every running node.
    fn wait_for(&self, what: &str, mut holds: impl FnMut(&Redis) -> Option<()>) -> Result<()> {
        for node in self.running() {
            poll(PATIENCE, || holds(node)).ok_or_else(|| node.server.late(&format!("waits for {what}")))?;
        }
        Ok(())
    }
}

/// A node that knows nobody yet, and the port of its bus.
fn node(tls: Option<&Tls>) -> Result<(Redis, u16)> {
    let bus = port::free()?;
    let mut options = RedisOptions::default().tls(tls.cloned());
    if tls.is_some() {
        options = options.setting("tls-cluster", "yes");
    }
    let options = options
        .setting("cluster-enabled", "yes")
        .setting("cluster-config-file", "nodes.conf")
        .setting("cluster-node-timeout", NODE_TIMEOUT_MS)
        .setting("cluster-announce-ip", "127.0.0.1")
        .setting("cluster-port", &bus.to_string());
    Ok((options.start()?, bus))
}
