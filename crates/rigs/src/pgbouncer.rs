//! A private pgbouncer in transaction mode: between two transactions a client may find itself on another connection,
//! so whatever a session remembers (prepared statements, settings, advisory locks, `LISTEN`) cannot be relied on.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;

use crate::{
    Postgres, Result,
    account::Account,
    folder::Folder,
    postgres::{USER, ask},
    program::Program,
    server::Server,
};

/// What one of our own needs to be told.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addr", "127.0.0.1"),
    ("unix_socket_dir", ""),
    ("auth_type", "trust"),
    ("auth_file", "users"),
    ("admin_users", USER),
    ("pool_mode", "transaction"),
    ("max_client_conn", "1000"),
    ("default_pool_size", "20"),
    // Clients set it when they connect; it means nothing to what passes here.
    ("ignore_startup_parameters", "extra_float_digits"),
];

const CONFIG: &str = "pgbouncer.ini";
const PIDFILE: &str = "pid";

/// How a [`PgBouncer`] should be, before it is started.
#[derive(Debug, Clone, Default)]
pub struct PgBouncerOptions {
    settings: Vec<(String, String)>,
}

impl PgBouncerOptions {
    /// A line for `pgbouncer.ini`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Starts one before a PostgreSQL, or before whatever stands before that.
    pub fn start(self, postgres: SocketAddr) -> Result<PgBouncer> {
        let program = Program::PgBouncer.find()?;
        let server = Server::new("pgbouncer", None, Account::ordinary()?, Signal::KILL)?;
        server.folder().write("users", &format!("\"{USER}\" \"\"\n"), server.account())?;
        let mut bouncer = PgBouncer { server, program, postgres, options: self };
        bouncer.launch(true)?;
        Ok(bouncer)
    }

    fn config(&self, folder: &Folder, port: u16, postgres: SocketAddr) -> String {
        let (host, postgres_port) = (postgres.ip(), postgres.port());
        let ours = SETTINGS.iter().map(|(name, value)| format!("{name} = {value}\n"));
        let asked = self.settings.iter().map(|(name, value)| format!("{name} = {value}\n"));
        let lines: String = ours.chain(asked).collect();
        let pidfile = folder.path().join(PIDFILE);
        format!(
            "[databases]\n* = host={host} port={postgres_port}\n\n\
             [pgbouncer]\nlisten_port = {port}\npidfile = {}\n{lines}",
            pidfile.display()
        )
    }
}

/// A running pgbouncer. Dropped, it is gone; the PostgreSQL behind it is not.
#[derive(Debug)]
pub struct PgBouncer {
    server: Server,
    program: PathBuf,
    postgres: SocketAddr,
    options: PgBouncerOptions,
}

impl PgBouncer {
    pub fn start(postgres: &Postgres) -> Result<Self> {
        Self::options().start(postgres.address())
    }

    pub fn options() -> PgBouncerOptions {
        PgBouncerOptions::default()
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// A database of the PostgreSQL behind it, by way of this.
    pub fn url_for(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", self.address())
    }

    /// Runs SQL by way of this, over a connection of its own; the rows, as text. The database `pgbouncer` is the
    /// bouncer's own console (`SHOW POOLS`).
    pub fn ask(&self, database: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        ask(self.address(), database, sql)
    }

    /// Everything it writes.
    pub fn folder(&self) -> &Path {
        self.server.folder().path()
    }

    pub fn log(&self) -> PathBuf {
        self.server.folder().log()
    }

    pub fn is_running(&self) -> bool {
        self.server.is_running()
    }

    /// An end at once: clients are disconnected.
    pub fn stop(&mut self) -> Result<()> {
        self.server.stop(Signal::TERM)
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        self.server.kill()
    }

    /// Starts it again where it was, after [`stop`](Self::stop) or [`kill`](Self::kill).
    pub fn start_again(&mut self) -> Result<()> {
        self.launch(false)
    }

    /// SIGSTOP: connections stay open, and nothing passes.
    pub fn pause(&self) -> Result<()> {
        self.server.pause()
    }

    pub fn resume(&self) -> Result<()> {
        self.server.resume()
    }

    fn launch(&mut self, first: bool) -> Result<()> {
        let Self { server, program, postgres, options } = self;
        let pidfile = server.folder().path().join(PIDFILE);
        let command = |folder: &Folder, account: Account, port| {
            folder.write(CONFIG, &options.config(folder, port, *postgres), account)?;
            let mut command = Command::new(&*program);
            command.arg(CONFIG);
            Ok(command)
        };
        let ready = |address| is_ours(address, &pidfile);
        if first { server.start(command, ready) } else { server.start_again(command, ready) }
    }
}

/// Asks its console: the PostgreSQL behind it may be down, and somebody else may have been quicker on the port.
fn is_ours(address: SocketAddr, pidfile: &Path) -> bool {
    let config = ask(address, "pgbouncer", "SHOW CONFIG").unwrap_or_default();
    config.iter().flatten().flatten().any(|value| Path::new(value) == pidfile)
}
