//! What a gate may ask of these books. It never stands in line with the claims: a gate that hears nothing steps aside, and
//! then the crowd it was to keep away stands there too.

use async_trait::async_trait;
use holdfast_domain::OfferId;
use tokio_postgres::types::Type;

use super::{
    PostgresLedger,
    answers::digest,
    session::{Sql, Trouble},
};
use crate::{
    gate::{Epoch, GateBooks, OfferClaims},
    ledger::{IdempotencyKey, LedgerError, views::live_claims},
};

const EPOCH: Sql = Sql { text: "SELECT epoch FROM holdfast.gate_epoch", types: &[] };
/// Locking rule: the one row, for the length of the statement. Who comes second finds another epoch and leaves it.
const NEXT: Sql =
    Sql { text: "UPDATE holdfast.gate_epoch SET epoch = epoch + 1 WHERE epoch = $1", types: &[Type::INT8] };

#[async_trait]
impl GateBooks for PostgresLedger {
    async fn epoch(&self) -> Result<Epoch, LedgerError> {
        let rows = self.books.sessions.following().await?.rows(&EPOCH, &[]).await?;
        let row = rows.first().ok_or_else(|| Trouble::Down("the gate's epoch is missing".into()))?;
        Ok(Epoch(row.get::<_, i64>(0) as u64))
    }

    async fn next_epoch(&self, Epoch(seen): Epoch) -> Result<Epoch, LedgerError> {
        self.books.sessions.following().await?.change(&NEXT, &[&(seen as i64)]).await?;
        self.epoch().await
    }

    async fn live_claims(&self, offer: &OfferId) -> Result<Option<OfferClaims>, LedgerError> {
        let copy = self.level().await?;
        Ok(live_claims(&copy.state, offer, copy.about_now(&self.books.time)))
    }

    async fn answered(&self, key: &IdempotencyKey) -> Result<bool, LedgerError> {
        Ok(self.known.is(digest(key)).await?)
    }
}
