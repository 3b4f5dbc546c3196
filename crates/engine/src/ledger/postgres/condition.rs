//! Whether this node can sell: whether PostgreSQL answers, and whether it takes what is written.
//!
//! ```text
//!             a look fails                 a write is refused: no room, or read-only
//!   answers ───────────────► silent   takes writes ───────────────► takes none
//!           ◄───────────────                       ◄───────────────
//!            a look succeeds                   a proof succeeds
//! ```
//! These are two states, because a full or read-only server answers every look. While it takes no writes nothing is
//! decided that would have to be written: each such attempt would cost the copy of the books. So no sale can show that it
//! does again, and the node proves it by itself.

use std::{sync::Arc, time::Duration};

use parking_lot::RwLock;

use super::{
    Books,
    session::{Sql, Trouble},
};
use crate::ledger::Health;

/// How often it is tried whether writes are taken again.
const PROOF_EVERY: Duration = Duration::from_secs(1);

/// Takes room as a sale would, more than is likely to be left on pages that are there. It is rolled back.
const PROOF: Sql = Sql {
    text: "INSERT INTO holdfast.answers (key, fingerprint, status, body, at)
           SELECT sha256(n::text::bytea), '', 200,
                  (SELECT string_agg(sha256((n * 32 + part)::text::bytea), '') FROM generate_series(1, 32) AS part),
                  clock_timestamp()
           FROM generate_series(1, 64) AS n",
    types: &[],
};

#[derive(Debug, Default)]
pub(super) struct Condition {
    /// Why nobody answers, while that is so.
    silent: RwLock<Option<String>>,
    /// Why nothing can be written, while that is so.
    unwritable: RwLock<Option<Arc<str>>>,
}

impl Condition {
    /// How a look at the journal ended.
    pub(super) fn looked(&self, trouble: Option<&Trouble>) {
        let silent = trouble.filter(|trouble| !is_passing(trouble)).map(Trouble::to_string);
        let mut known = self.silent.write();
        match (&*known, &silent) {
            (None, Some(why)) => tracing::error!(%why, "PostgreSQL is out of reach"),
            (Some(_), None) => tracing::info!("PostgreSQL is back"),
            _ => {}
        }
        *known = silent;
    }

    /// What a request met with. Whether that is over, looks and proofs will tell.
    pub(super) fn met(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Unwritable(why) => {
                if self.unwritable.write().replace(Arc::clone(why)).is_none() {
                    tracing::error!(%why, "PostgreSQL takes no writes");
                }
            }
            other if is_passing(other) => {}
            other => self.looked(Some(other)),
        }
    }

    /// Ask before anything is decided that would have to be written.
    pub(super) fn takes_writes(&self) -> Result<(), Trouble> {
        self.unwritable.read().as_ref().map_or(Ok(()), |why| Err(Trouble::Unwritable(Arc::clone(why))))
    }

    fn proven(&self) {
        *self.unwritable.write() = None;
        tracing::info!("PostgreSQL takes writes again");
    }

    pub(super) fn health(&self) -> Health {
        let silent = self.silent.read().clone();
        let unwritable = self.unwritable.read().as_ref().map(ToString::to_string);
        let degraded: Vec<String> = silent.into_iter().chain(unwritable).collect();
        Health { ready: degraded.is_empty(), degraded }
    }
}

/// Somebody else was quicker: that says nothing about PostgreSQL.
const fn is_passing(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Lost(_) | Trouble::Busy(_))
}

/// Tries, for as long as no writes are taken, whether they are again.
pub(super) async fn run(books: Arc<Books>) {
    loop {
        tokio::time::sleep(PROOF_EVERY).await;
        if books.condition.takes_writes().is_err() {
            match prove(&books).await {
                Err(trouble @ (Trouble::Unwritable(_) | Trouble::Down(_))) => books.condition.met(&trouble),
                // Whatever else it says, it is not that it takes no writes: the next sale will find out.
                _ => books.condition.proven(),
            }
        }
    }
}

async fn prove(books: &Books) -> Result<(), Trouble> {
    let mut session = books.sessions.ordinary().await?;
    session.begin().await?;
    let proof = session.change(&PROOF, &[]).await;
    session.roll_back().await;
    proof.map(drop)
}
