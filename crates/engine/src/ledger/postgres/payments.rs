//! The money side of bookings: its rows, and who looks at which payment.

use futures::future::try_join_all;
use holdfast_domain::{BookingId, Moment};
use tokio_postgres::types::Type;

use super::{
    effects::Effects,
    rows,
    session::{Args, Session, Sql, Trouble},
    write::all,
};

/// Whatever is written down about a payment ends the lease on it.
const PUT: Sql = Sql {
    text: "INSERT INTO holdfast.payments
               (offer_id, booking_id, provider, state, method, intent, attempts, due_at, captured, refunded, why)
           VALUES ($1, $2, $3, $4, $5, $6, $7, holdfast.at($8), $9, $10, $11)
           ON CONFLICT (offer_id, booking_id) DO UPDATE
           SET state = excluded.state, intent = excluded.intent, attempts = excluded.attempts, due_at = excluded.due_at,
               captured = excluded.captured, refunded = excluded.refunded, why = excluded.why, leased_until = NULL",
    types: &[
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TEXT,
    ],
};
/// Locking rule: the rows it leases, for the length of the statement, leaving out those that somebody is writing.
const LEASE: Sql = Sql {
    text: "UPDATE holdfast.payments p
           SET leased_until = clock_timestamp() + $2 * interval '1 millisecond'
           FROM (SELECT offer_id, booking_id FROM holdfast.payments
                 WHERE due_at <= holdfast.at($1) AND (leased_until IS NULL OR leased_until <= clock_timestamp())
                 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED) due
           WHERE p.offer_id = due.offer_id AND p.booking_id = due.booking_id
           RETURNING p.booking_id",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// Writes the payments of the bookings that were touched.
pub(super) async fn put(session: &Session, effects: &Effects) -> Result<(), Trouble> {
    let paid = effects.bookings.values().filter_map(|booking| Some((booking, booking.payment.as_deref()?)));
    let put = paid.map(|(booking, payment)| async move {
        let args: Args<'_> = &[
            &rows::home(&booking.lines).as_str(),
            &booking.id.to_string(),
            &payment.provider.as_str(),
            &payment.state.as_str(),
            &payment.method.as_ref().map(|method| method.as_str()),
            &payment.intent.as_ref().map(|intent| intent.as_str()),
            &i64::from(payment.attempts),
            &payment.due_at.map(Moment::ms),
            &(payment.captured.minor() as i64),
            &(payment.refunded.minor() as i64),
            &payment.why.as_ref().map(|why| why.as_str()),
        ];
        all(session.change(&PUT, args).await?, 1, "a payment is missing")
    });
    try_join_all(put).await.map(drop)
}

/// Leases payments that are due and that nobody looks at, the longest due first.
pub(super) async fn lease(
    session: &Session,
    now: Moment,
    lease_ms: i64,
    limit: i64,
) -> Result<Vec<BookingId>, Trouble> {
    let leased = session.rows(&LEASE, &[&now.ms(), &lease_ms, &limit]).await?;
    rows::booking_ids(&leased)
}
