//! Servers of our own, as other processes: the real program with the real disk beneath it, on a free port.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use futures::future::BoxFuture;
use holdfast_engine::mint;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    failure::Failure,
    http::{Target, api::Api},
    load::{Tally, Worker, stopwatch},
    machine,
};

/// A running server; ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    pub target: Target,
    pub key: String,
    /// From starting the program to its saying that it is ready.
    pub started_in: Duration,
}

impl Server {
    /// On the embedded ledger.
    pub fn start(data: &Path) -> Result<Self, Failure> {
        Self::start_with(&["--data".as_ref(), data.as_os_str()])
    }

    /// With these arguments to `serve`.
    pub fn start_with(args: &[impl AsRef<OsStr>]) -> Result<Self, Failure> {
        let key = format!("bench-{:032x}", mint::random_bits());
        let started = stopwatch();
        let mut child = command(args, &key)?.spawn().map_err(cannot_start)?;
        let ready = first_line(&mut child);
        let started_in = started.elapsed();
        match ready.and_then(|line| announced(&line)) {
            Ok(target) => Ok(Self { child, target, key, started_in }),
            Err(fault) => {
                end(&mut child);
                Err(cannot_start(fault))
            }
        }
    }

    pub fn api(&self) -> Api {
        Api::new(self.target.clone(), Some(self.key.clone()))
    }

    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.key)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn resident(&self) -> Result<u64, Failure> {
        machine::resident(self.pid()).map_err(|fault| {
            Failure::broken("the memory of a server cannot be read", "run this where /proc is mounted")
                .because(fault)
        })
    }

    /// Lets the server run only while `work` has its turn: what a server does after the rush (it fills its tables)
    /// would otherwise be paid for by whoever comes next.
    pub fn alone(&self, work: Box<dyn Worker>) -> Result<Alone, Failure> {
        let server = Pid::from_child(&self.child);
        kill_process(server, Signal::STOP).map_err(io::Error::from).map_err(cannot_start)?;
        Ok(Alone { server, work })
    }

    /// As a power cut would: no goodbye.
    pub fn kill(mut self) {
        end(&mut self.child);
    }

    /// As an operator would, waiting until the books are closed.
    pub fn stop(mut self) -> Result<(), Failure> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).map_err(io::Error::from).map_err(cannot_start)?;
        self.child.wait().map(drop).map_err(cannot_start)
    }
}

/// Work for a server that stands still between its turns.
pub struct Alone {
    server: Pid,
    work: Box<dyn Worker>,
}

impl Worker for Alone {
    fn work(&mut self, stretch: Duration) -> BoxFuture<'_, io::Result<Tally>> {
        Box::pin(async move {
            kill_process(self.server, Signal::CONT)?;
            let tally = self.work.work(stretch).await;
            kill_process(self.server, Signal::STOP)?;
            tally
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn command(args: &[impl AsRef<OsStr>], key: &str) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(cannot_start)?);
    // What this shell has set for its own server is not what is measured here.
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOLDFAST_"));
    ours.for_each(|(name, _)| {
        command.env_remove(name);
    });
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]).args(args);
    command.env("HOLDFAST_ADMIN_KEY", key).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

fn first_line(child: &mut Child) -> io::Result<String> {
    let stdout = child.stdout.take().ok_or_else(|| io::Error::other("its output is not connected"))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    Ok(line)
}

fn announced(line: &str) -> io::Result<Target> {
    let url = line.trim().strip_prefix("listening on ").and_then(|url| url.parse().ok());
    url.ok_or_else(|| io::Error::other(format!("instead of its address it said {line:?}")))
}

fn end(child: &mut Child) {
    // It may have ended by itself; either way it is gone afterwards.
    let _ = child.kill();
    let _ = child.wait();
}

fn cannot_start(fault: io::Error) -> Failure {
    let next = "run `holdfast serve` by hand to see why, and `holdfast doctor` for the disk";
    Failure::broken("a server to measure did not start", next).because(fault)
}
