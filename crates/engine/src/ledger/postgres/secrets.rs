//! What all nodes must know and nobody else: the secret that signs browser sessions, so that a visitor is the same to
//! every node and after every restart.

use tokio_postgres::types::Type;

use super::session::{Connecting, Sessions, Sql, Trouble};
use crate::ledger::LedgerError;

/// The first node to come decides; all of them read what it decided.
const OFFER: Sql = Sql {
    text: "INSERT INTO holdfast.secrets VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    types: &[Type::TEXT, Type::BYTEA],
};
const READ: Sql = Sql { text: "SELECT value FROM holdfast.secrets WHERE name = $1", types: &[Type::TEXT] };

const SESSION: &str = "session";

/// The secret that signs browser sessions: `fresh`, unless the books have one already. The schema must be there.
pub async fn session(connecting: &Connecting, fresh: [u8; 32]) -> Result<[u8; 32], LedgerError> {
    let session = Sessions::new(connecting, 0)?.ordinary().await?;
    session.change(&OFFER, &[&SESSION, &&fresh[..]]).await?;
    let rows = session.rows(&READ, &[&SESSION]).await?;
    let kept = rows.first().and_then(|row| row.get::<_, &[u8]>(0).try_into().ok());
    let odd =
        || Trouble::Down("the session secret in holdfast.secrets is not 32 bytes; delete its row".into());
    Ok(kept.ok_or_else(odd)?)
}
