//! A private Redis that forgets everything when it ends, unless asked to keep it.

mod cluster;
mod resp;
mod sentinel;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

pub use cluster::RedisCluster;
pub use resp::Reply;
use rustix::process::Signal;
pub use sentinel::Sentinel;

use crate::{
    Result, RigError,
    account::Account,
    folder::Folder,
    patience::{PATIENCE, poll},
    port,
    program::Program,
    server::Server,
    tls::{self, Tls},
};

/// What any server of our own needs to be told.
const SETTINGS: &[(&str, &str)] = &[("bind", "127.0.0.1"), ("protected-mode", "no"), ("daemonize", "no")];

/// What one that keeps data needs besides.
const DATA_SETTINGS: &[(&str, &str)] = &[
    ("save", "\"\""),
    ("appendonly", "no"),
    // A replica gets its copy at once, not after waiting for others to share it with.
    ("repl-diskless-sync-delay", "0"),
];

/// What one that speaks TLS needs besides. Clients show no certificate; servers of a group do, to each other.
const TLS_SETTINGS: &[(&str, &str)] = &[
    ("tls-cert-file", tls::CERTIFICATE),
    ("tls-key-file", tls::KEY),
    ("tls-ca-cert-file", tls::AUTHORITY),
    ("tls-auth-clients", "no"),
    ("tls-replication", "yes"),
];

/// How a [`Redis`] should be, before it is started.
#[derive(Debug, Clone, Default)]
pub struct RedisOptions {
    settings: Vec<(String, String)>,
    sentinel: bool,
    tls: Option<Tls>,
}

impl RedisOptions {
    /// One that keeps no data but watches others.
    fn sentinel() -> Self {
        Self { sentinel: true, ..Self::default() }
    }

    /// A line for `redis.conf`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Speaks TLS on a port of its own, and with other servers of its group; the ordinary port stays open for the rig.
    #[must_use]
    pub fn tls(mut self, tls: Option<Tls>) -> Self {
        self.tls = tls;
        self
    }

    /// Every write is on disk before it is answered, and there again after a kill.
    #[must_use]
    pub fn persistent(self) -> Self {
        self.setting("appendonly", "yes").setting("appendfsync", "always")
    }

    /// Starts it and waits until it answers.
    pub fn start(self) -> Result<Redis> {
        let program = Program::RedisServer.find()?;
        let server = Server::new("redis", None, Account::Oneself, Signal::KILL)?;
        let tls_port = match &self.tls {
            Some(tls) => {
                tls.write(server.folder(), server.account())?;
                Some(port::free()?)
            }
            None => None,
        };
        server.folder().write(CONFIG, &self.config(tls_port), server.account())?;
        let mut redis = Redis { server, program, sentinel: self.sentinel, tls_port };
        redis.launch(true)?;
        Ok(redis)
    }

    fn config(&self, tls_port: Option<u16>) -> String {
        let data = if self.sentinel { &[] } else { DATA_SETTINGS };
        let tls_port = tls_port.map(|port| port.to_string());
        let encrypted = tls_port.as_deref().map(|port| [("tls-port", port)]).into_iter().flatten();
        let encrypted = encrypted.chain(TLS_SETTINGS.iter().copied().filter(|_| self.tls.is_some()));
        let ours = SETTINGS.iter().chain(data).copied().chain(encrypted);
        let asked = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        ours.chain(asked).map(|(name, value)| format!("{name} {value}\n")).collect()
    }
}

const CONFIG: &str = "redis.conf";

/// A running server. Dropped, it is gone.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    program: PathBuf,
    sentinel: bool,
    tls_port: Option<u16>,
}

impl Redis {
    pub fn start() -> Result<Self> {
        Self::options().start()
    }

    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Where it is encrypted, by the name `localhost`; `None` unless it was asked to be.
    pub fn tls_url(&self) -> Option<String> {
        self.tls_port.map(|port| format!("rediss://localhost:{port}"))
    }

    /// Where others of its group find it.
    pub(crate) fn group_port(&self) -> u16 {
        self.tls_port.unwrap_or_else(|| self.address().port())
    }

    /// Everything it writes.
    pub fn folder(&self) -> &Path {
        self.server.folder().path()
    }

    /// Its log, which grows from start to start.
    pub fn log(&self) -> PathBuf {
        self.server.folder().log()
    }

    /// One command over a connection of its own. What Redis refuses is an error.
    pub fn ask(&self, words: &[&str]) -> Result<Reply> {
        resp::ask(self.address(), words)
    }

    /// Until the next start.
    pub fn config_set(&self, name: &str, value: &str) -> Result<()> {
        self.ask(&["CONFIG", "SET", name, value]).map(drop)
    }

    /// Makes this a copy of `master` and waits until it is one.
    pub fn replica_of(&self, master: &Redis) -> Result<()> {
        let port = master.group_port().to_string();
        self.ask(&["REPLICAOF", "127.0.0.1", &port])?;
        poll(PATIENCE, || self.info("master_link_status").filter(|status| status == "up"))
            .map(drop)
            .ok_or_else(|| self.server.late("to follow its master"))
    }

    /// Makes this a master of its own, whatever it followed.
    pub fn replica_of_none(&self) -> Result<()> {
        self.ask(&["REPLICAOF", "NO", "ONE"]).map(drop)
    }

    /// A line of `INFO`.
    pub fn info(&self, name: &str) -> Option<String> {
        info(self.address(), name)
    }

    pub fn is_running(&self) -> bool {
        self.server.is_running()
    }

    /// An orderly end.
    pub fn stop(&mut self) -> Result<()> {
        self.server.stop(Signal::TERM)
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        self.server.kill()
    }

    /// Starts it again where it was, after [`stop`](Self::stop) or [`kill`](Self::kill), with what it kept: nothing,
    /// unless it is [`persistent`](RedisOptions::persistent).
    pub fn start_again(&mut self) -> Result<()> {
        self.launch(false)
    }

    /// Starts it again without what it kept.
    pub fn start_again_empty(&mut self) -> Result<()> {
        if self.is_running() {
            return self.start_again();
        }
        let folder = self.server.folder().path();
        forget(&folder.join("dump.rdb"), |path| fs::remove_file(path))?;
        forget(&folder.join("appendonlydir"), |path| fs::remove_dir_all(path))?;
        self.start_again()
    }

    /// SIGSTOP: connections stay open, and nobody answers.
    pub fn pause(&self) -> Result<()> {
        self.server.pause()
    }

    pub fn resume(&self) -> Result<()> {
        self.server.resume()
    }

    fn launch(&mut self, first: bool) -> Result<()> {
        let Self { server, program, sentinel, .. } = self;
        let config = server.folder().path().join(CONFIG);
        let command = |_: &Folder, _, port: u16| {
            let mut command = Command::new(&*program);
            command.arg(CONFIG);
            if *sentinel {
                command.arg("--sentinel");
            }
            command.args(["--port", &port.to_string()]);
            Ok(command)
        };
        let ready = |address| serves(address, &config);
        if first { server.start(command, ready) } else { server.start_again(command, ready) }
    }
}

/// While it loads it listens and refuses, and somebody else may have been quicker on the port: only one with this
/// configuration counts.
fn serves(address: SocketAddr, config: &Path) -> bool {
    let loaded = resp::ask(address, &["PING"]).is_ok();
    loaded && info(address, "config_file").is_some_and(|file| Path::new(&file) == config)
}

/// A line of `INFO`, which sentinels answer too.
fn info(address: SocketAddr, name: &str) -> Option<String> {
    let info = resp::ask(address, &["INFO"]).ok()?;
    let value = info.text()?.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

fn forget(path: &Path, remove: impl Fn(&Path) -> std::io::Result<()>) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    remove(path).map_err(RigError::io(format!("removing {}", path.display())))
}
