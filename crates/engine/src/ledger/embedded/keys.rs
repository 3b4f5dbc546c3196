//! API keys as they are kept: a public prefix and the hash of the secret. Readable and writable beside a running
//! server, so that a key can be made while the doors are open.

use std::path::Path;

use holdfast_domain::Moment;
use rusqlite::{Connection, OptionalExtension, Row};

use super::{error::StoreError, store::Place};
use crate::ledger::{Role, StoredKey};

const COLUMNS: &str = "SELECT prefix, hash, role, created_ms, revoked_ms FROM api_keys";

/// Adds a key to the books in `dir`, whether or not a server runs on them.
pub fn add(dir: &Path, key: &StoredKey) -> Result<(), StoreError> {
    let connection = open(dir)?;
    insert(&connection, key).map_err(StoreError::while_("adding a key"))
}

/// Every key, the oldest first.
pub fn list(dir: &Path) -> Result<Vec<StoredKey>, StoreError> {
    let connection = open(dir)?;
    all(&connection).map_err(StoreError::while_("listing the keys"))
}

/// Ends a key's life; false when there is none of that prefix, or it had ended already.
pub fn revoke(dir: &Path, prefix: &str, now: Moment) -> Result<bool, StoreError> {
    let connection = open(dir)?;
    let sql = "UPDATE api_keys SET revoked_ms = ?2 WHERE prefix = ?1 AND revoked_ms IS NULL";
    let changed = connection.execute(sql, (prefix, now.ms()));
    Ok(changed.map_err(StoreError::while_("revoking a key"))? > 0)
}

fn open(dir: &Path) -> Result<Connection, StoreError> {
    std::fs::create_dir_all(dir).map_err(|source| StoreError::Folder { dir: dir.to_owned(), source })?;
    Place::beside(dir).writer()
}

pub(super) fn insert(to: &Connection, key: &StoredKey) -> rusqlite::Result<()> {
    let sql = "INSERT INTO api_keys (prefix, hash, role, created_ms, revoked_ms) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (prefix) DO UPDATE SET hash = ?2, role = ?3, created_ms = ?4, revoked_ms = ?5";
    let revoked = key.revoked_at.map(Moment::ms);
    let row = (&key.prefix, key.hash, role_name(key.role), key.created_at.ms(), revoked);
    to.execute(sql, row).map(drop)
}

pub(super) fn find(from: &Connection, prefix: &str) -> rusqlite::Result<Option<StoredKey>> {
    let mut select = from.prepare_cached(&format!("{COLUMNS} WHERE prefix = ?1"))?;
    select.query_row([prefix], stored).optional()
}

fn all(from: &Connection) -> rusqlite::Result<Vec<StoredKey>> {
    let mut select = from.prepare_cached(&format!("{COLUMNS} ORDER BY created_ms, prefix"))?;
    select.query_map([], stored)?.collect()
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredKey> {
    let role: String = row.get(2)?;
    Ok(StoredKey {
        prefix: row.get(0)?,
        hash: row.get(1)?,
        role: if role == role_name(Role::Admin) { Role::Admin } else { Role::Seller },
        created_at: Moment::from_ms(row.get(3)?),
        revoked_at: row.get::<_, Option<i64>>(4)?.map(Moment::from_ms),
    })
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::Seller => "seller",
    }
}
