//! API keys as they are kept: a public prefix and the hash of the secret.

use holdfast_domain::Moment;
use tokio_postgres::{Row, types::Type};

use super::session::{Connecting, Session, Sessions, Sql, Trouble};
use crate::ledger::{LedgerError, Role, StoredKey};

const FIND: Sql = Sql {
    text: "SELECT prefix, hash, role, holdfast.ms(created_at), holdfast.ms(revoked_at)
           FROM holdfast.api_keys WHERE prefix = $1",
    types: &[Type::TEXT],
};
const LIST: Sql = Sql {
    text: "SELECT prefix, hash, role, holdfast.ms(created_at), holdfast.ms(revoked_at)
           FROM holdfast.api_keys ORDER BY created_at, prefix",
    types: &[],
};
const PUT: Sql = Sql {
    text: "INSERT INTO holdfast.api_keys VALUES ($1, $2, $3, holdfast.at($4), holdfast.at($5))
           ON CONFLICT (prefix) DO UPDATE
           SET hash = excluded.hash, role = excluded.role, created_at = excluded.created_at,
               revoked_at = excluded.revoked_at",
    types: &[Type::TEXT, Type::BYTEA, Type::TEXT, Type::INT8, Type::INT8],
};
const REVOKE: Sql = Sql {
    text: "UPDATE holdfast.api_keys SET revoked_at = holdfast.at($2) WHERE prefix = $1 AND revoked_at IS NULL",
    types: &[Type::TEXT, Type::INT8],
};

pub(super) async fn find(session: &Session, prefix: &str) -> Result<Option<StoredKey>, Trouble> {
    let found = session.rows(&FIND, &[&prefix]).await?;
    found.first().map(stored).transpose()
}

pub(super) async fn put(session: &Session, key: &StoredKey) -> Result<(), Trouble> {
    let revoked = key.revoked_at.map(Moment::ms);
    let role = role_name(key.role);
    session
        .change(&PUT, &[&key.prefix, &&key.hash[..], &role, &key.created_at.ms(), &revoked])
        .await
        .map(drop)
}

/// Adds a key, whether or not a node runs.
pub async fn add(connecting: &Connecting, key: &StoredKey) -> Result<(), LedgerError> {
    Ok(put(&session(connecting).await?, key).await?)
}

/// Every key, the oldest first.
pub async fn list(connecting: &Connecting) -> Result<Vec<StoredKey>, LedgerError> {
    let rows = session(connecting).await?.rows(&LIST, &[]).await?;
    Ok(rows.iter().map(stored).collect::<Result<_, _>>()?)
}

/// Ends a key's life; false when there is none of that prefix, or it had ended already.
pub async fn revoke(connecting: &Connecting, prefix: &str, now: Moment) -> Result<bool, LedgerError> {
    Ok(session(connecting).await?.change(&REVOKE, &[&prefix, &now.ms()]).await? > 0)
}

/// A session on books whose schema is up to date: a key may be made before the first node ever starts.
async fn session(connecting: &Connecting) -> Result<Session, Trouble> {
    let sessions = Sessions::new(connecting, 0)?;
    super::schema::migrate(&sessions).await?;
    sessions.ordinary().await
}

fn stored(row: &Row) -> Result<StoredKey, Trouble> {
    let hash = row.get::<_, &[u8]>(1).try_into();
    Ok(StoredKey {
        prefix: row.get(0),
        hash: hash.map_err(|_| Trouble::Down("an API key's hash is not one".into()))?,
        role: if row.get::<_, &str>(2) == role_name(Role::Admin) { Role::Admin } else { Role::Seller },
        created_at: Moment::from_ms(row.get(3)),
        revoked_at: row.get::<_, Option<i64>>(4).map(Moment::from_ms),
    })
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::Seller => "seller",
    }
}
