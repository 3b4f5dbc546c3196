//! What the machine under us is like and allows.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    time::Duration,
};

use rustix::{
    fs::statvfs,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

pub use holdfast_lab::cpu_time;

use crate::load::stopwatch;

/// Every connection is an open file, and the usual soft limit of 1,024 is there for programs older than that:
/// raise it to what the administrator allows. Failing to is harmless; `doctor` reports what was found.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// How many files this process may have open; `None` for no limit.
pub fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `/proc/cpuinfo` calls the processor.
pub fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    model.map_or_else(|| "unknown".into(), |(_, model)| model.trim().to_owned())
}

pub fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map_or_else(|_| std::env::consts::OS.to_owned(), |release| format!("Linux {}", release.trim()))
}

/// Bytes that this user may still write where `path` is.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.f_bavail * found.f_frsize)
}

/// The type of the filesystem that holds `path`, as the mount table names it.
pub fn filesystem(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((Path::new(words.next()?), words.next()?))
    });
    // The deepest mount point above the path is the one it lies on; of two there, the later hides the earlier.
    let above = mounted.filter(|(point, _)| path.starts_with(point));
    above.max_by_key(|(point, _)| point.components().count()).map(|(_, kind)| kind.to_owned())
}

/// A file that keeps nothing, or keeps it on another machine, cannot keep a promise of durability.
pub fn is_memory(filesystem: &str) -> bool {
    matches!(filesystem, "tmpfs" | "ramfs" | "devtmpfs")
}

/// SQLite's write-ahead log needs memory shared between processes, which these do not give.
pub fn is_network(filesystem: &str) -> bool {
    matches!(
        filesystem,
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "ceph" | "glusterfs" | "fuse.sshfs"
    )
}

/// How long it takes to put 4 kB durably on the disk under `folder`: the middle of several tries.
pub fn fsync_latency(folder: &Path) -> io::Result<Duration> {
    const TRIES: usize = 32;
    let path = folder.join(format!(".holdfast-fsync-{}", std::process::id()));
    let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
    let tries = time_syncs(file, TRIES);
    fs::remove_file(&path)?;
    let mut tries = tries?;
    tries.sort_unstable();
    Ok(tries[TRIES / 2])
}

fn time_syncs(mut file: File, tries: usize) -> io::Result<Vec<Duration>> {
    let block = [0x5a; 4096];
    let mut once = || {
        let started = stopwatch();
        file.write_all(&block)?;
        file.sync_data()?;
        Ok(started.elapsed())
    };
    (0..tries).map(|_| once()).collect()
}

/// The memory that a process keeps in RAM, in bytes.
pub fn resident(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib =
        line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no VmRSS in its status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_something_of_this_machine() {
        let here = std::env::temp_dir();
        assert!(cores() > 0 && !cpu().is_empty() && !kernel().is_empty());
        assert!(free_space(&here).unwrap() > 0);
        assert!(fsync_latency(&here).unwrap() > Duration::ZERO);
        assert!(resident(std::process::id()).unwrap() > 100_000);
        assert!(filesystem(&here).is_some());
        assert!(cpu_time(std::process::id()) > Duration::ZERO);
    }
}
