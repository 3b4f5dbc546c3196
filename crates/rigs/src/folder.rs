//! The folder of a rig: everything it writes, and the place where every process of it stands. PostgreSQL's processes
//! leave their process group and outlive a killed parent, but none of them ever leaves its working directory: asking
//! who stands here finds all of them, and nobody else.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{Result, RigError, account::Account, patience::poll};

/// How many lines of a log an error shows.
const TAIL: usize = 25;

#[derive(Debug)]
pub(crate) struct Folder {
    /// Removed on drop.
    place: TempDir,
}

impl Folder {
    /// A new one below `within`, or below the system's folder for temporary files. Names are short: the path of a
    /// Unix socket has hardly more than a hundred bytes.
    pub(crate) fn new(kind: &str, within: Option<&Path>, account: Account) -> Result<Self> {
        let doing = || format!("making a folder for {kind}");
        let within = within.map_or_else(std::env::temp_dir, Path::to_owned);
        // The processes that stand in it are compared with its real path.
        let within = within.canonicalize().map_err(RigError::io(doing()))?;
        let made = tempfile::Builder::new().prefix(&format!("rig-{kind}-")).tempdir_in(within);
        let place = made.map_err(RigError::io(doing()))?;
        account.own(place.path()).map_err(RigError::io(doing()))?;
        Ok(Self { place })
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Writes a file that the account may read.
    pub(crate) fn write(&self, name: &str, text: &str, account: Account) -> Result<PathBuf> {
        let path = self.path().join(name);
        fs::write(&path, text)
            .and_then(|()| account.own(&path))
            .map_err(RigError::io(format!("writing {}", path.display())))?;
        Ok(path)
    }

    /// Writes a file that nobody but the account may read.
    pub(crate) fn write_secret(&self, name: &str, text: &str, account: Account) -> Result<PathBuf> {
        let path = self.write(name, text, account)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
            .map_err(RigError::io(format!("keeping {} to its owner", path.display())))?;
        Ok(path)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// The last lines of the log, which is read from `from` on.
    pub(crate) fn tail(&self, from: u64) -> String {
        let text = read_from(&self.log(), from).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }

    /// Every process that stands here, dead ones excepted.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let stands_here = |entry: &fs::DirEntry| {
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.path()))
        };
        entries
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                stands_here(&entry).then_some(())?;
                Pid::from_raw(pid)
            })
            .collect()
    }

    /// Sends a signal to everyone here, `first` before the others, and again to whoever came meanwhile.
    pub(crate) fn signal(&self, first: Pid, signal: Signal) -> io::Result<()> {
        send(first, signal)?;
        let mut told = vec![first];
        loop {
            let new: Vec<Pid> = self.processes().into_iter().filter(|pid| !told.contains(pid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for pid in new {
                send(pid, signal)?;
                told.push(pid);
            }
        }
    }

    /// Kills everyone here and waits until nobody is left.
    pub(crate) fn clear(&self) -> bool {
        poll(crate::patience::PATIENCE, || {
            let left = self.processes();
            for pid in &left {
                let _ = send(*pid, Signal::KILL);
            }
            left.is_empty().then_some(())
        })
        .is_some()
    }
}

/// The text of a file from a place on.
fn read_from(path: &Path, from: u64) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A process that is gone already needs no signal.
fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    match kill_process(pid, signal) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        sent => sent.map_err(io::Error::from),
    }
}
