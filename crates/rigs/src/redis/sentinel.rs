//! A private Redis with replicas and three sentinels that watch it: when the master is silent for half a second and
//! two sentinels agree, a replica takes its place.

use std::net::SocketAddr;

use super::{Redis, RedisOptions, Reply};
use crate::{
    Result, RigError, Tls,
    patience::{PATIENCE, poll},
};

/// What the sentinels call the master they watch.
const NAME: &str = "holdfast";
const SENTINELS: usize = 3;
const QUORUM: usize = 2;
const REPLICAS: usize = 2;
/// How long a server is silent before a sentinel thinks it is down.
const DOWN_AFTER_MS: usize = 500;
/// How often sentinels do what they do every ten seconds, two seconds or second, and how long they distrust everything
/// after they themselves stood still. A replica is chosen only if it has reported within three of the first.
const PERIODS_MS: [(&str, &str); 4] =
    [("info-period", "1000"), ("publish-period", "200"), ("ask-period", "200"), ("tilt-period", "1000")];
/// How long a takeover may take before another is tried.
const FAILOVER_TIMEOUT_MS: usize = 3_000;

/// A running group. Dropped, it is gone.
#[derive(Debug)]
pub struct Sentinel {
    servers: Vec<Redis>,
    sentinels: Vec<Redis>,
}

impl Sentinel {
    /// One master, two replicas, three sentinels that know all of them.
    pub fn start() -> Result<Self> {
        Self::made_of(None)
    }

    /// The same, encrypted; they name numeric addresses, which the certificate must be good for.
    pub fn with_tls(tls: &Tls) -> Result<Self> {
        Self::made_of(Some(tls))
    }

    fn made_of(tls: Option<&Tls>) -> Result<Self> {
        let server = |_| Redis::options().tls(tls.cloned()).start();
        let servers: Vec<Redis> = (0..=REPLICAS).map(server).collect::<Result<_>>()?;
        for replica in &servers[1..] {
            replica.replica_of(&servers[0])?;
        }
        let sentinels = (0..SENTINELS).map(|_| sentinel(&servers[0], tls)).collect::<Result<_>>()?;
        let group = Self { servers, sentinels };
        group.settle()?;
        Ok(group)
    }

    /// What clients ask the sentinels for.
    pub fn master_name(&self) -> &'static str {
        NAME
    }

    /// Where clients ask for the master.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sentinels.iter().map(Redis::address).collect()
    }

    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(Redis::url).collect()
    }

    /// Where it is encrypted.
    pub fn tls_urls(&self) -> Vec<String> {
        self.sentinels.iter().filter_map(Redis::tls_url).collect()
    }

    /// The servers, the first master first: that may change.
    pub fn servers(&self) -> &[Redis] {
        &self.servers
    }

    /// For killing one and starting it again.
    pub fn server_mut(&mut self, index: usize) -> &mut Redis {
        &mut self.servers[index]
    }

    pub fn sentinels(&self) -> &[Redis] {
        &self.sentinels
    }

    pub fn sentinel_mut(&mut self, index: usize) -> &mut Redis {
        &mut self.sentinels[index]
    }

    /// Which server all running sentinels take for the master; `None` while they differ.
    pub fn master(&self) -> Option<usize> {
        let mut views = self.watching().map(master_port);
        let first = views.next()??;
        views.all(|view| view == Some(first)).then_some(())?;
        self.servers.iter().position(|server| server.group_port() == first)
    }

    /// Orders a takeover while all is well and waits until it is done; the answer is the new master.
    pub fn failover(&self) -> Result<usize> {
        let old = poll(PATIENCE, || self.master()).ok_or_else(|| self.late("to agree on a master"))?;
        let asked = self.watching().next().ok_or_else(|| self.late("to be there"))?;
        // Refused while no replica has reported lately, or another takeover is under way; and given up without a word
        // when a slow disk let the reports grow old meanwhile.
        let order = || {
            let under_way = fact(asked, "flags").is_some_and(|flags| flags.contains("failover_in_progress"));
            if !under_way && self.master() == Some(old) {
                let _ = asked.ask(&["SENTINEL", "FAILOVER", NAME]);
            }
            self.successor(old)
        };
        poll(PATIENCE, order).ok_or_else(|| self.late("to find a successor"))
    }

    /// Kills the master and waits until another has taken its place; the answer is the old one and the new one.
    pub fn kill_master(&mut self) -> Result<(usize, usize)> {
        let old = poll(PATIENCE, || self.master()).ok_or_else(|| self.late("to agree on a master"))?;
        self.servers[old].kill()?;
        Ok((old, self.await_successor(old)?))
    }

    /// Waits until another server than `old` is the master, for the sentinels and for itself.
    pub fn await_successor(&self, old: usize) -> Result<usize> {
        poll(PATIENCE, || self.successor(old)).ok_or_else(|| self.late("to find a successor"))
    }

    fn successor(&self, old: usize) -> Option<usize> {
        let new = self.master().filter(|new| *new != old)?;
        (self.servers[new].info("role")? == "master").then_some(new)
    }

    /// Waits until every running sentinel knows everybody and the others follow the master: ready for a takeover.
    pub fn settle(&self) -> Result<()> {
        for sentinel in self.watching() {
            poll(PATIENCE, || knows_everybody(sentinel).then_some(()))
                .ok_or_else(|| sentinel.server.late("to know everybody"))?;
        }
        let following = || {
            let master = self.master()?;
            let mut others = self.servers.iter().enumerate().filter(|(index, _)| *index != master);
            others.all(|(_, server)| follows(server)).then_some(())
        };
        poll(PATIENCE, following).ok_or_else(|| self.late("to have all others follow the master"))
    }

    fn watching(&self) -> impl Iterator<Item = &Redis> {
        self.sentinels.iter().filter(|sentinel| sentinel.is_running())
    }

    fn late(&self, what: &str) -> RigError {
        match self.watching().next() {
            Some(sentinel) => sentinel.server.late(&format!("(a sentinel) {what}")),
            None => RigError::NotRunning { server: "every sentinel".into() },
        }
    }
}

fn sentinel(master: &Redis, tls: Option<&Tls>) -> Result<Redis> {
    let (ip, port) = (master.address().ip(), master.group_port());
    let sentinel = RedisOptions::sentinel()
        .tls(tls.cloned())
        .setting("sentinel", &format!("monitor {NAME} {ip} {port} {QUORUM}"))
        .setting("sentinel", &format!("down-after-milliseconds {NAME} {DOWN_AFTER_MS}"))
        .setting("sentinel", &format!("failover-timeout {NAME} {FAILOVER_TIMEOUT_MS}"))
        .setting("sentinel", &format!("parallel-syncs {NAME} {REPLICAS}"))
        .start()?;
    for (period, ms) in PERIODS_MS {
        // Only Redis 7 can be told; others take their ten seconds to hear of a change.
        let _ = sentinel.ask(&["SENTINEL", "DEBUG", period, ms]);
    }
    Ok(sentinel)
}

fn master_port(sentinel: &Redis) -> Option<u16> {
    let reply = sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]).ok()?;
    u16::try_from(reply.items().get(1)?.integer()?).ok()
}

/// A fact that the sentinel knows of the master.
fn fact(sentinel: &Redis, name: &str) -> Option<String> {
    let facts = sentinel.ask(&["SENTINEL", "MASTER", NAME]).ok()?;
    let pair = facts.items().chunks(2).find(|pair| pair[0].text() == Some(name))?;
    pair.get(1)?.text().map(str::to_owned)
}

fn knows_everybody(sentinel: &Redis) -> bool {
    let fact = |name| fact(sentinel, name);
    fact("flags").as_deref() == Some("master")
        && fact("num-slaves") == Some(REPLICAS.to_string())
        && fact("num-other-sentinels") == Some((SENTINELS - 1).to_string())
        && all_reported(sentinel)
}

/// A replica that has not reported cannot be chosen.
fn all_reported(sentinel: &Redis) -> bool {
    let replicas = sentinel.ask(&["SENTINEL", "REPLICAS", NAME]);
    replicas.is_ok_and(|replicas| {
        replicas.items().iter().all(|facts| {
            let up = [Some("master-link-status"), Some("ok")];
            facts.items().chunks(2).any(|pair| pair.iter().map(Reply::text).eq(up))
        })
    })
}

fn follows(server: &Redis) -> bool {
    server.info("master_link_status").is_some_and(|status| status == "up")
}
