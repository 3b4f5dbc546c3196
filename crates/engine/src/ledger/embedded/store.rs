//! The folder and the file in it: who may open them, and how SQLite is set up.
//!
//! A folder has one owner, kept by a lock on `holdfast.lock` that the operating system drops with the process.
//! Anyone may still open the file beside the owner to read it, or to add an API key.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use crate::private_file;

const SCHEMA: &str = include_str!("schema.sql");
const VIEWS: &str = include_str!("views.sql");
/// From the format before each to that one.
const UPGRADES: [&str; 3] =
    [include_str!("upgrade_2.sql"), include_str!("upgrade_3.sql"), include_str!("upgrade_4.sql")];
const FORMAT: i64 = 1 + UPGRADES.len() as i64;
/// 3.51.3: the first release without the WAL-reset corruption bug.
const OLDEST_SQLITE: i32 = 3_051_003;
const FILE: &str = "holdfast.db";
const LOCK: &str = "holdfast.lock";

/// Where the books are kept.
#[derive(Debug, Clone)]
pub enum Storage {
    /// In this folder, created when missing.
    Dir(PathBuf),
    /// In this process, gone with it.
    Memory,
}

/// A place that connections can be opened to.
#[derive(Debug, Clone)]
pub(super) enum Place {
    File(PathBuf),
    /// A name in SQLite's own memory file system, shared by the connections of this process.
    Memory(String),
}

/// Keeps other processes out for as long as it lives.
#[derive(Debug)]
pub(super) struct FolderLock(#[expect(dead_code, reason = "held, never read")] File);

impl Place {
    /// Takes the folder, or a fresh place in memory.
    pub(super) fn claim(storage: &Storage) -> Result<(Self, Option<FolderLock>), StoreError> {
        match storage {
            Storage::Dir(dir) => {
                let lock = lock(dir)?;
                Ok((Self::File(dir.join(FILE)), Some(lock)))
            }
            Storage::Memory => Ok((Self::fresh_memory(), None)),
        }
    }

    /// The file of a folder that somebody else may own.
    pub(super) fn beside(dir: &Path) -> Self {
        Self::File(dir.join(FILE))
    }

    /// The same, which must be there already.
    pub(super) fn existing(dir: &Path) -> Result<Self, StoreError> {
        let file = dir.join(FILE);
        match file.metadata() {
            Ok(_) => Ok(Self::File(file)),
            Err(source) => Err(StoreError::NoBooks { dir: dir.to_owned(), source }),
        }
    }

    fn fresh_memory() -> Self {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let name = NAMES.fetch_add(1, Ordering::Relaxed);
        Self::Memory(format!("file:/holdfast-{}-{name}?vfs=memdb", std::process::id()))
    }

    pub(super) const fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }

    fn connect(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match self {
            Self::File(path) => Connection::open_with_flags(path, flags)?,
            Self::Memory(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
        };
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// The writer's own connection: everything committed is settled, and the file is kept within `max_bytes`.
    pub(super) fn owner(&self, max_bytes: Option<u64>) -> Result<Connection, StoreError> {
        let connection = self.writer()?;
        if self.is_file() {
            settle(&connection)?;
            // The log is copied beside the sale, not by the commit that happens to make it too long.
            let by_hand = connection.pragma_update(None, "wal_autocheckpoint", 0);
            by_hand.map_err(StoreError::while_("opening the books"))?;
        }
        if let Some(max_bytes) = max_bytes {
            limit(&connection, max_bytes).map_err(StoreError::while_("limiting the size of the file"))?;
        }
        Ok(connection)
    }

    /// A connection that may write, with the schema in place.
    pub(super) fn writer(&self) -> Result<Connection, StoreError> {
        check_sqlite()?;
        let doing = "opening the books";
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        if let Self::File(path) = self {
            private_file::make(path);
        }
        let mut connection = self.connect(flags).map_err(StoreError::while_(doing))?;
        self.set_up(&connection).map_err(StoreError::while_(doing))?;
        create_schema(&mut connection)?;
        Ok(connection)
    }

    fn set_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.is_file() {
            connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        }
        connection.pragma_update(None, "synchronous", "full")?;
        // SQLite looks through all of its cache at a commit that moved a page of a tree, which is nearly every one.
        connection.pragma_update(None, "cache_size", -16_384)?;
        connection.pragma_update(None, "wal_autocheckpoint", 16_384)?;
        connection.pragma_update(None, "temp_store", "memory")
    }

    pub(super) fn reader(&self) -> Result<Connection, StoreError> {
        let flags = match self {
            Self::File(_) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::Memory(_) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        self.connect(flags).map_err(StoreError::while_("opening the books to read"))
    }
}

/// Work beside the sale that did not come about.
#[derive(Debug)]
pub(super) enum Setback {
    /// Undone; the connection is as good as before.
    RolledBack(StoreError),
    /// The connection cannot be trusted any more.
    Fatal(StoreError),
}

/// Runs `work` in a transaction whose commit does not wait for the disk: for what can be done again after a
/// crash. Transactions keep their order, so a later commit that does wait makes this one durable too.
pub(super) fn unhurried<T>(
    connection: &Connection,
    doing: &'static str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, Setback> {
    let run = |sql| connection.execute_batch(sql).map_err(StoreError::while_(doing));
    run("PRAGMA synchronous = normal; BEGIN IMMEDIATE").map_err(Setback::Fatal)?;
    let worked = work().and_then(|value| run("COMMIT").map(|()| value));
    if worked.is_err() && !connection.is_autocommit() {
        run("ROLLBACK").map_err(Setback::Fatal)?;
    }
    run("PRAGMA synchronous = full").map_err(Setback::Fatal)?;
    worked.map_err(Setback::RolledBack)
}

/// Brings everything that was ever committed home into the file, and waits until it is there.
///
/// After a failed flush, or a process that died before its own, some of the log may be in the system's memory
/// only, and a later flush need not notice. Copying all of it anew settles the matter.
pub(super) fn settle(connection: &Connection) -> Result<(), StoreError> {
    let settled = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match settled.map_err(StoreError::while_("settling the books"))? {
        0 => Ok(()),
        _ => Err(StoreError::Busy),
    }
}

/// Whether a commit can be had at all: one that needs room, and one that gives it back.
pub(super) fn probe(connection: &Connection) -> Result<(), StoreError> {
    let run = |sql| connection.execute_batch(sql).map_err(StoreError::while_("trying to write"));
    let tried = run("BEGIN IMMEDIATE; INSERT OR REPLACE INTO meta VALUES ('probe', zeroblob(65536)); COMMIT")
        .and_then(|()| run("DELETE FROM meta WHERE name = 'probe'"));
    if tried.is_err() && !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    tried
}

fn check_sqlite() -> Result<(), StoreError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreError::OldSqlite { found: rusqlite::version() });
    }
    Ok(())
}

fn limit(connection: &Connection, max_bytes: u64) -> rusqlite::Result<()> {
    let page: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    connection.pragma_update_and_check(None, "max_page_count", (max_bytes / page).max(1), |_| Ok(()))
}

fn create_schema(connection: &mut Connection) -> Result<(), StoreError> {
    let found = format_of(connection).map_err(StoreError::while_("reading the format of the books"))?;
    match found {
        FORMAT => Ok(()),
        0 => make_tables(connection).map_err(StoreError::while_("making the tables")),
        1..FORMAT => upgrade(connection).map_err(StoreError::while_("bringing the tables up to date")),
        found => Err(StoreError::NewerFormat { found, known: FORMAT }),
    }
}

fn format_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn make_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have made them while this one waited for the lock.
    if format_of(&transaction)? == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.execute_batch(VIEWS)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()
}

/// Brings books of an earlier program up to date, all at once or not at all.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = format_of(&transaction)?;
    for sql in UPGRADES.iter().skip((found - 1).max(0) as usize) {
        transaction.execute_batch(sql)?;
    }
    transaction.execute_batch(VIEWS)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

fn lock(dir: &Path) -> Result<FolderLock, StoreError> {
    let folder = |source| StoreError::Folder { dir: dir.to_owned(), source };
    fs::create_dir_all(dir).map_err(folder)?;
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).open(dir.join(LOCK)).map_err(folder)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::InUse { dir: dir.to_owned(), owner: owner_of(&mut file) });
        }
        Err(TryLockError::Error(source)) => return Err(folder(source)),
    }
    write_owner(&mut file).map_err(folder)?;
    Ok(FolderLock(file))
}

fn owner_of(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_owner(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
