//! Where a running demo says where it is, so that `holdfast race` next to it needs no flags.
//!
//! A small file that only its owner can read, in the user's runtime folder or, without one, in a private folder
//! under the temporary one. It holds the demo's address and key and is removed when the demo ends; one that a
//! killed demo left behind is recognised by its process being gone.

use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::process::{Pid, getuid, test_kill_process};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    pub url: String,
    pub key: String,
    pid: u32,
}

/// The file, for as long as the demo runs.
#[derive(Debug)]
pub struct Posted(PathBuf);

impl Drop for Posted {
    fn drop(&mut self) {
        // Another demo may have posted its own since; that one is not ours to remove.
        if read(&self.0).is_some_and(|hint| hint.pid == std::process::id()) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

pub fn post(url: &str, key: &str) -> io::Result<Posted> {
    let folder = folder();
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => return Err(fault),
        _ => trusted(&folder)?,
    }
    let hint = Hint { url: url.to_owned(), key: key.to_owned(), pid: std::process::id() };
    // Written aside and renamed, so that a reader never sees half of it.
    let draft = folder.join(format!("demo-{}.json", hint.pid));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&serde_json::to_vec(&hint)?)?;
    let path = folder.join("demo.json");
    fs::rename(&draft, &path)?;
    Ok(Posted(path))
}

/// The demo that runs now, if one does.
pub fn running_demo() -> Option<Hint> {
    let folder = folder();
    trusted(&folder).ok()?;
    let hint = read(&folder.join("demo.json"))?;
    let pid = Pid::from_raw(hint.pid.try_into().ok()?)?;
    test_kill_process(pid).is_ok().then_some(hint)
}

fn read(path: &Path) -> Option<Hint> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn folder() -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR") {
        Some(runtime) => PathBuf::from(runtime).join("holdfast"),
        None => env::temp_dir().join(format!("holdfast-{}", getuid().as_raw())),
    }
}

/// In a shared folder someone else may have been first: theirs is not trusted with a key, nor to name a server.
fn trusted(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let what = format!("{} is not a private folder of this user", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}
