//! Servers of our own, as other processes: the real program with the real disk beneath it, on a free port.

use std::{ffi::OsStr, io, path::Path, process::Stdio, time::Duration};

use futures::future::BoxFuture;
use holdfast_engine::mint;
use holdfast_lab::process::ServerProcess;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    failure::Failure,
    http::{Target, api::Api},
    load::{Tally, Worker, stopwatch},
    machine,
};

/// A running server; ends with this value.
#[derive(Debug)]
pub struct Server {
    process: ServerProcess,
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
        let program = std::env::current_exe().map_err(cannot_start)?;
        let process = ServerProcess::start(&program, args, &key, Stdio::inherit()).map_err(cannot_start)?;
        let started_in = started.elapsed();
        let target = process.url().parse().map_err(io::Error::other).map_err(cannot_start)?;
        Ok(Self { process, target, key, started_in })
    }

    pub fn api(&self) -> Api {
        Api::new(self.target.clone(), Some(self.key.clone()))
    }

    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.key)
    }

    pub fn pid(&self) -> u32 {
        self.process.child().id()
    }

    pub fn resident(&self) -> Result<u64, Failure> {
        machine::resident(self.pid()).map_err(|fault| {
            Failure::broken("the memory of a server cannot be read", "run this where /proc is mounted")
                .because(fault)
        })
    }

    /// Lets the server run only while `work` has its turn, and until it has written up what was sold: what a server does
    /// after the rush (it fills its tables) would otherwise be paid for by whoever comes next.
    pub fn alone(&self, work: Box<dyn Worker>) -> Result<Alone, Failure> {
        let server = Pid::from_child(self.process.child());
        kill_process(server, Signal::STOP).map_err(io::Error::from).map_err(cannot_start)?;
        Ok(Alone { server, api: self.api(), work })
    }

    /// As a power cut would: no goodbye.
    pub fn kill(self) {
        self.process.kill();
    }

    /// As an operator would, waiting until the books are closed.
    pub fn stop(self) -> Result<(), Failure> {
        let pid = Pid::from_child(self.process.child());
        kill_process(pid, Signal::TERM).map_err(io::Error::from).map_err(cannot_start)?;
        self.process.wait().map_err(cannot_start)
    }
}

/// Work for a server that stands still between its turns.
pub struct Alone {
    server: Pid,
    api: Api,
    work: Box<dyn Worker>,
}

impl Alone {
    /// A page of the journal is answered when the tables show all of it.
    async fn write_up(&mut self) -> io::Result<()> {
        self.api.get::<Value>("/v1/journal?limit=1").await.map(drop).map_err(io::Error::other)
    }
}

impl Worker for Alone {
    fn work(&mut self, stretch: Duration) -> BoxFuture<'_, io::Result<Tally>> {
        Box::pin(async move {
            kill_process(self.server, Signal::CONT)?;
            let tally = self.work.work(stretch).await?;
            self.write_up().await?;
            kill_process(self.server, Signal::STOP)?;
            Ok(tally)
        })
    }
}

fn cannot_start(fault: io::Error) -> Failure {
    let next = "run `holdfast serve` by hand to see why, and `holdfast doctor` for the disk";
    Failure::broken("a server to measure did not start", next).because(fault)
}
