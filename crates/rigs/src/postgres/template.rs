//! A fresh data folder in a tenth of a second. `initdb` takes about one, so its result is kept below the build's
//! `target` folder and copied; a program that does not run from there makes each one anew.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{Result, RigError, account::Account, folder::Folder, program::Program};

/// Puts a data folder called `data` into the folder.
pub(super) fn copy_into(folder: &Folder, account: Account) -> Result<()> {
    let data = folder.path().join("data");
    let kept = place()?;
    if let Some(kept) = kept.as_ref().filter(|kept| kept.exists()) {
        if copy(kept, &data, account).is_ok() {
            return Ok(());
        }
        // Somebody else's, or half removed: as good as none.
        let _ = fs::remove_dir_all(&data);
    }
    initdb(folder, account)?;
    if let Some(kept) = kept {
        // Only a convenience for the next time.
        let _ = keep(&data, &kept);
    }
    Ok(())
}

fn initdb(folder: &Folder, account: Account) -> Result<()> {
    let mut command = Command::new(Program::Initdb.find()?);
    command
        .args(["--pgdata", "data", "--username", super::USER, "--auth", "trust"])
        .args(["--encoding", "UTF8", "--locale", "C", "--no-sync"])
        .current_dir(folder.path())
        .env("LC_ALL", "C");
    let made = account.run(&mut command).output().map_err(RigError::io("starting initdb"))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        return Err(RigError::Failed { doing: "initdb".into(), said });
    }
    Ok(())
}

/// Where the template for this version of PostgreSQL is kept, if we run from a build's folder.
fn place() -> Result<Option<PathBuf>> {
    let Some(target) = target() else {
        return Ok(None);
    };
    let version = Command::new(Program::Postgres.find()?)
        .arg("--version")
        .output()
        .map_err(RigError::io("asking PostgreSQL for its version"))?;
    let name: String = String::from_utf8_lossy(&version.stdout)
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' })
        .collect();
    Ok(Some(target.join("rigs").join(name.trim_matches('-'))))
}

/// Cargo marks its target folder as a cache.
fn target() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists()).map(Path::to_owned)
}

/// Appears whole or not at all, also when several processes do this at once.
fn keep(data: &Path, kept: &Path) -> io::Result<()> {
    let draft = kept.with_extension(format!("draft-{}-{:?}", process::id(), std::thread::current().id()));
    fs::create_dir_all(kept.parent().unwrap_or(kept))?;
    let moved = copy(data, &draft, Account::Oneself).and_then(|()| fs::rename(&draft, kept));
    if moved.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    moved
}

fn copy(from: &Path, to: &Path, account: Account) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    account.own(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, account)?;
        } else {
            fs::copy(entry.path(), &target)?;
            account.own(&target)?;
        }
    }
    Ok(())
}
