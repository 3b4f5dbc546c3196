//! What can be wrong with the books on disk. Each fault ends with what to do next.

use std::{io, path::PathBuf};

use rusqlite::{ErrorCode, ffi};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "{} is in use by {}; stop that one first, or choose another folder",
        dir.display(),
        owner.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    InUse { dir: PathBuf, owner: Option<u32> },
    #[error("cannot use the folder {}: {source}; check that it exists and may be written to", dir.display())]
    Folder { dir: PathBuf, source: io::Error },
    #[error("there are no books in {}: {source}; name the folder that `holdfast serve --data` was given", dir.display())]
    NoBooks { dir: PathBuf, source: io::Error },
    #[error("SQLite {found} has a bug that can corrupt the books; build with 3.51.3 or newer")]
    OldSqlite { found: &'static str },
    #[error("the books have format {found}, this program knows up to {known}; use the newer program")]
    NewerFormat { found: i64, known: i64 },
    #[error("the disk is full while {doing}; free some space, the ledger resumes by itself")]
    DiskFull { doing: &'static str },
    #[error("input/output error while {doing}: {source}; check the disk, the ledger retries by itself")]
    Disk { doing: &'static str, source: rusqlite::Error },
    #[error("SQLite failed while {doing}: {source}; run `holdfast doctor`")]
    Sqlite { doing: &'static str, source: rusqlite::Error },
    #[error(
        "the books are being read by somebody who does not finish; close other programs that have the file open"
    )]
    Busy,
    #[error("deciding a command failed halfway; the books were read anew from disk; please report this")]
    Bug,
    #[error("the books are damaged: {0}; run `holdfast verify`, then restore a backup")]
    Corrupt(String),
}

impl StoreError {
    /// Names what was being done when SQLite failed.
    pub(super) fn while_(doing: &'static str) -> impl Fn(rusqlite::Error) -> Self + Copy {
        move |source| match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { doing },
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
                Self::Disk { doing, source }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt(format!("SQLite, while {doing}: {source}"))
            }
            _ => Self::Sqlite { doing, source },
        }
    }

    /// What is wrong with the file itself, where it is the file and not whoever reads it: its bytes, the tables that should be
    /// in it, or an end that comes too soon.
    pub(super) fn damage(&self) -> Option<String> {
        let is_cut = |source: &rusqlite::Error| {
            source.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHORT_READ)
        };
        match self {
            Self::Corrupt(what) => Some(what.clone()),
            Self::Sqlite { doing, source } => Some(format!("SQLite, while {doing}: {source}")),
            Self::Disk { doing, source } if is_cut(source) => {
                Some(format!("SQLite, while {doing}: {source}"))
            }
            _ => None,
        }
    }
}
