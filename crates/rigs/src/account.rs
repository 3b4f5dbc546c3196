//! Whom a server runs as. PostgreSQL and pgbouncer refuse to run as root, so a rig that root starts steps down.

use std::{
    io,
    os::unix::{fs::chown, process::CommandExt},
    path::Path,
    process::Command,
};

use crate::{Result, RigError};

/// In this order: the one that PostgreSQL's package makes, then the one that everybody has.
const ORDINARY: [&str; 2] = ["postgres", "nobody"];

#[derive(Debug, Clone, Copy)]
pub(crate) enum Account {
    /// Whoever we are.
    Oneself,
    Other {
        uid: u32,
        gid: u32,
    },
}

impl Account {
    /// Ourselves, or somebody ordinary when we are root.
    pub(crate) fn ordinary() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Oneself);
        }
        let found = ORDINARY.iter().find_map(|name| Some((number("-u", name)?, number("-g", name)?)));
        let (uid, gid) = found.ok_or_else(|| RigError::Failed {
            doing: "looking for a user to run the server as".into(),
            said: format!("root may not, and there is none of {}", ORDINARY.join(", ")),
        })?;
        Ok(Self::Other { uid, gid })
    }

    /// Lets `command` run as this account.
    pub(crate) fn run<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match *self {
            Self::Oneself => command,
            Self::Other { uid, gid } => command.uid(uid).gid(gid),
        }
    }

    /// Makes this account the owner of a file or folder.
    pub(crate) fn own(&self, path: &Path) -> io::Result<()> {
        match *self {
            Self::Oneself => Ok(()),
            Self::Other { uid, gid } => chown(path, Some(uid), Some(gid)),
        }
    }
}

fn number(which: &str, name: &str) -> Option<u32> {
    let id = Command::new("id").args([which, name]).output().ok()?;
    std::str::from_utf8(&id.stdout).ok()?.trim().parse().ok()
}
