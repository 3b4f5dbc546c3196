//! A server process with its folder: started, hurt and ended. What the server is and how one sees that it is ready is
//! for the rigs to say; this knows only processes.
//!
//! ```text
//!           launch            pause
//! (ended) ─────────► running ───────► paused
//!    ▲                 │   ◄─────────   │
//!    └── stop, kill ───┴──────resume────┘
//! ```

use std::{
    fs::{File, OpenOptions},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal};

use crate::{
    Result, RigError,
    account::Account,
    folder::Folder,
    keeper::Keeper,
    patience::{PATIENCE, poll},
    port,
};

/// How often a start is tried when somebody else has the port.
const PORT_TRIES: usize = 10;
/// What every server's log says then.
const PORT_TAKEN: &str = "ddress already in use";
/// How long the end of a server that nobody needs any more is waited for before it is killed.
const FAREWELL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Server {
    name: &'static str,
    account: Account,
    port: u16,
    child: Option<Child>,
    /// Where in the log the present run begins.
    log_from: u64,
    /// Ends the server quickly, with its shared memory if it has any.
    farewell: Signal,
    folder: Folder,
    /// Dropped last: until the folder is gone it may be needed.
    _keeper: Keeper,
}

impl Server {
    /// A server that is not running yet.
    pub(crate) fn new(
        name: &'static str,
        within: Option<&Path>,
        account: Account,
        farewell: Signal,
    ) -> Result<Self> {
        let folder = Folder::new(name, within, account)?;
        let farewell_name = if farewell == Signal::QUIT { "QUIT" } else { "KILL" };
        let keeper = Keeper::of(folder.path(), farewell_name)?;
        Ok(Self { name, account, port: 0, child: None, log_from: 0, farewell, folder, _keeper: keeper })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn account(&self) -> Account {
        self.account
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// The first start: finds a port, and another when that one was taken meanwhile.
    pub(crate) fn start(
        &mut self,
        command: impl Fn(&Folder, Account, u16) -> Result<Command>,
        ready: impl Fn(SocketAddr) -> bool,
    ) -> Result<()> {
        self.try_ports(port::free, command, ready)
    }

    /// A later start, on the same port: whoever has it now may be about to let it go.
    pub(crate) fn start_again(
        &mut self,
        command: impl Fn(&Folder, Account, u16) -> Result<Command>,
        ready: impl Fn(SocketAddr) -> bool,
    ) -> Result<()> {
        if self.is_running() {
            return Err(RigError::Failed {
                doing: format!("starting {} again", self.name),
                said: "it is running".into(),
            });
        }
        let port = self.port;
        self.try_ports(|| Ok(port), command, ready)
    }

    fn try_ports(
        &mut self,
        choose: impl Fn() -> Result<u16>,
        command: impl Fn(&Folder, Account, u16) -> Result<Command>,
        ready: impl Fn(SocketAddr) -> bool,
    ) -> Result<()> {
        let mut tries = PORT_TRIES;
        loop {
            tries -= 1;
            self.port = choose()?;
            self.launch(command(&self.folder, self.account, self.port)?)?;
            match self.await_readiness(&ready) {
                Err(RigError::Ended { log, .. }) if tries > 0 && log.contains(PORT_TAKEN) => {}
                settled => return settled,
            }
        }
    }

    fn launch(&mut self, mut command: Command) -> Result<()> {
        let name = self.name;
        let starting = || format!("starting {name}");
        let log = self.open_log().map_err(RigError::io(starting()))?;
        let errors = log.try_clone().map_err(RigError::io(starting()))?;
        command
            .current_dir(self.folder.path())
            // Logs are read here too: in one language.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // An interrupt from the keyboard is for the owner. It ends the server in its own way.
            .process_group(0);
        let child = self.account.run(&mut command).spawn().map_err(RigError::io(starting()))?;
        self.child = Some(child);
        Ok(())
    }

    fn open_log(&mut self) -> std::io::Result<File> {
        let log = OpenOptions::new().create(true).append(true).open(self.folder.log())?;
        self.log_from = log.metadata()?.len();
        Ok(log)
    }

    /// Waits until the server is ready, or says what its log says.
    fn await_readiness(&mut self, ready: &impl Fn(SocketAddr) -> bool) -> Result<()> {
        let address = self.address();
        let child = self.child.as_mut().ok_or(RigError::NotRunning { server: self.name.into() })?;
        let settled = poll(PATIENCE, || match child.try_wait() {
            Ok(Some(_)) => Some(false),
            _ => ready(address).then_some(true),
        });
        match settled {
            Some(true) => Ok(()),
            Some(false) => {
                self.child = None;
                Err(RigError::Ended { server: self.name.into(), log: self.log_tail() })
            }
            None => Err(self.late("to be ready")),
        }
    }

    /// The last lines of the present run's log.
    pub(crate) fn log_tail(&self) -> String {
        self.folder.tail(self.log_from)
    }

    pub(crate) fn late(&self, what: &str) -> RigError {
        RigError::Late { what: format!("{} {what}", self.name), waited: PATIENCE, log: self.log_tail() }
    }

    /// Asks the server to end and waits until it has, with everybody who belongs to it.
    pub(crate) fn stop(&mut self, signal: Signal) -> Result<()> {
        let pid = self.pid()?;
        let doing = || format!("stopping {}", self.name);
        rustix::process::kill_process(pid, signal)
            .map_err(|errno| RigError::Io { doing: doing(), source: errno.into() })?;
        // A paused one would not hear.
        self.folder.signal(pid, Signal::CONT).map_err(RigError::io(doing()))?;
        self.await_end(PATIENCE)?.then_some(()).ok_or_else(|| self.late("to stop"))
    }

    /// SIGKILL for the server and everybody who belongs to it, at once.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let pid = self.pid()?;
        self.folder.signal(pid, Signal::KILL).map_err(RigError::io(format!("killing {}", self.name)))?;
        self.await_end(PATIENCE)?.then_some(()).ok_or_else(|| self.late("to be dead"))
    }

    /// SIGSTOP: connections stay open, nobody answers.
    pub(crate) fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    pub(crate) fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let sent = self.folder.signal(self.pid()?, signal);
        sent.map_err(RigError::io(format!("signalling {}", self.name)))
    }

    fn pid(&self) -> Result<Pid> {
        let child = self.child.as_ref().ok_or(RigError::NotRunning { server: self.name.into() })?;
        Ok(Pid::from_child(child))
    }

    /// Whether the server and everybody who belongs to it ended in that time.
    fn await_end(&mut self, limit: Duration) -> Result<bool> {
        let Some(child) = self.child.as_mut() else {
            return Ok(true);
        };
        let ended = poll(limit, || matches!(child.try_wait(), Ok(Some(_)) | Err(_)).then_some(()));
        if ended.is_some() {
            self.child = None;
        }
        Ok(ended.is_some() && self.folder.clear())
    }

    fn end(&mut self) {
        if let Ok(pid) = self.pid() {
            let _ = self.folder.signal(pid, self.farewell);
            let _ = self.folder.signal(pid, Signal::CONT);
            let _ = self.await_end(FAREWELL);
        }
        self.folder.clear();
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A connection for one question, which never waits for long.
pub(crate) fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// How long a rig's own questions wait for their answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
