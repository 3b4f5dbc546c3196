//! A private PostgreSQL: its own data, its own port, trusting whoever connects, and as durable as a real one
//! (`fsync` is on unless asked otherwise).

mod template;
mod wire;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;
pub(crate) use wire::ask;

use crate::{
    Result, RigError,
    account::Account,
    program::Program,
    server::Server,
    tls::{self, Tls},
};

/// The superuser, who owns every database.
pub(crate) const USER: &str = "postgres";

/// What a server of our own needs to be told; everything else is PostgreSQL's default, `fsync = on` included.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    ("max_connections", "300"),
    ("shared_buffers", "64MB"),
    // Shared memory lies in the folder, so that a killed server leaves none behind elsewhere.
    ("dynamic_shared_memory_type", "mmap"),
    ("log_line_prefix", "%m [%p] "),
];

/// After a crash the whole data folder is flushed. File by file that takes seconds (1.4 to 3.5 were seen), and a killed
/// server has lost nothing of the kernel's memory. The whole disk at once takes a fifth of one, but waits for what
/// others write there too: 2.7 were seen on a busy machine. Known since PostgreSQL 14.
const QUICK_RECOVERY: (&str, &str) = ("recovery_init_sync_method", "syncfs");

/// How a [`Postgres`] should be, before it is started.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    settings: Vec<(String, String)>,
    within: Option<PathBuf>,
    tls: Option<Tls>,
}

impl PostgresOptions {
    /// A line for `postgresql.conf`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Offers TLS, and takes connections without it as well.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Where its folder is made; otherwise among the temporary files, which may not be on a real disk.
    #[must_use]
    pub fn within(mut self, folder: impl Into<PathBuf>) -> Self {
        self.within = Some(folder.into());
        self
    }

    /// Starts it and waits until it takes questions.
    pub fn start(self) -> Result<Postgres> {
        let program = Program::Postgres.find()?;
        let mut server = Server::new("postgres", self.within.as_deref(), Account::ordinary()?, Signal::QUIT)?;
        template::copy_into(server.folder(), server.account())?;
        if let Some(tls) = &self.tls {
            tls.write(server.folder(), server.account())?;
        }
        self.write_settings(server.folder().path())?;
        let data = server.folder().path().join("data");
        server.start(|_, _, port| Ok(command(&program, port)), |address| serves(address, &data))?;
        Ok(Postgres { server, program })
    }

    fn write_settings(&self, folder: &Path) -> Result<()> {
        let writing = || RigError::io("writing the settings of PostgreSQL");
        let path = folder.join("data/postgresql.conf");
        // The file that initdb makes names every setting there is.
        let mut text = fs::read_to_string(&path).map_err(writing())?;
        let quick = text.contains(QUICK_RECOVERY.0).then_some(QUICK_RECOVERY);
        let sockets = folder.display().to_string();
        let sockets = [("unix_socket_directories", sockets.as_str())];
        let [certificate, key] =
            [tls::CERTIFICATE, tls::KEY].map(|file| folder.join(file).display().to_string());
        let encrypted = [("ssl", "on"), ("ssl_cert_file", &certificate), ("ssl_key_file", &key)];
        let encrypted = encrypted.into_iter().filter(|_| self.tls.is_some());
        let asked = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        // The last line about a setting counts.
        for (name, value) in
            SETTINGS.iter().copied().chain(quick).chain(sockets).chain(encrypted).chain(asked)
        {
            text.push_str(&format!("{name} = {}\n", quoted(value)));
        }
        fs::write(&path, text).map_err(writing())
    }
}

/// A running server. Dropped, it is gone.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    program: PathBuf,
}

impl Postgres {
    /// One with the settings that suit most tests.
    pub fn start() -> Result<Self> {
        Self::options().start()
    }

    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Of the database that is always there.
    pub fn url(&self) -> String {
        self.url_for(USER)
    }

    pub fn url_for(&self, database: &str) -> String {
        self.url_through(self.address(), database)
    }

    /// The same database by way of something that stands in between, a proxy for instance.
    pub fn url_through(&self, address: SocketAddr, database: &str) -> String {
        format!("postgres://{USER}@{address}/{database}")
    }

    /// Everything it writes; its Unix socket lies here too.
    pub fn folder(&self) -> &Path {
        self.server.folder().path()
    }

    /// Its log, which grows from start to start.
    pub fn log(&self) -> PathBuf {
        self.server.folder().log()
    }

    /// Makes an empty database; the answer is its URL.
    pub fn create_database(&self, name: &str) -> Result<String> {
        self.ask(USER, &format!("CREATE DATABASE {}", identifier(name)))?;
        Ok(self.url_for(name))
    }

    /// Runs SQL over a connection of its own; the rows of all its statements, as text.
    pub fn ask(&self, database: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        ask(self.address(), database, sql)
    }

    /// Changes a setting for good, as far as that goes without a restart.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        self.ask(USER, &format!("ALTER SYSTEM SET {} = {}", identifier(name), quoted(value)))?;
        self.ask(USER, "SELECT pg_reload_conf()").map(drop)
    }

    pub fn is_running(&self) -> bool {
        self.server.is_running()
    }

    /// An orderly end: clients are disconnected, everything is written down.
    pub fn stop(&mut self) -> Result<()> {
        self.server.stop(Signal::INT)
    }

    /// SIGKILL for every process of it at once.
    pub fn kill(&mut self) -> Result<()> {
        self.server.kill()
    }

    /// Starts it again where it was, after [`stop`](Self::stop) or [`kill`](Self::kill); recovers and waits until it
    /// takes questions.
    pub fn start_again(&mut self) -> Result<()> {
        let data = self.server.folder().path().join("data");
        self.server
            .start_again(|_, _, port| Ok(command(&self.program, port)), |address| serves(address, &data))
    }

    /// An orderly end and a new start.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        self.start_again()
    }

    /// SIGSTOP for every process of it: connections stay open, and nobody answers.
    pub fn pause(&self) -> Result<()> {
        self.server.pause()
    }

    pub fn resume(&self) -> Result<()> {
        self.server.resume()
    }
}

impl Drop for Postgres {
    /// A killed server that is not started again leaves a few bytes of System V shared memory, which no folder holds.
    /// Their number is in its notes; one that ended in order has neither.
    fn drop(&mut self) {
        if self.is_running() {
            return;
        }
        let notes = notes(&self.server.folder().path().join("data"));
        let segment = notes.get(6).and_then(|line| line.split_whitespace().nth(1));
        if let Some(segment) = segment {
            let _ = Command::new("ipcrm").args(["-m", segment]).output();
        }
    }
}

fn command(program: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    command.args(["-D", "data", "-p", &port.to_string()]);
    command
}

/// It says so itself in a file, and somebody else may have been quicker on the port: only an answer from these data
/// counts. Asking before it is ready would fill its log with refusals.
fn serves(address: SocketAddr, data: &Path) -> bool {
    let notes = notes(data);
    if notes.get(7).map(String::as_str) != Some("ready") {
        return false;
    }
    let rows = ask(address, USER, "SHOW data_directory").unwrap_or_default();
    rows.iter().flatten().flatten().any(|answer| Path::new(answer) == data)
}

/// What a running server notes about itself, by line: the fifth and sixth tell where it listens, the seventh its
/// shared memory, the eighth its state.
fn notes(data: &Path) -> Vec<String> {
    let text = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
