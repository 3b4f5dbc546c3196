//! The money side of bookings: its rows, and who looks at which payment.

use holdfast_domain::{Booking, BookingId, Moment, Payment};
use tokio_postgres::types::Type;

use super::{
    effects::Effects,
    parts::{Part, columns},
    rows,
    session::{Session, Sql, Trouble},
};

/// Whatever is written down about a payment ends the lease on it.
const PUT: Sql = Sql {
    text: "INSERT INTO holdfast.payments
               (offer_id, booking_id, provider, state, method, intent, attempts, due_at, captured, refunded, why)
           SELECT offer_id, booking_id, provider, state, method, intent, attempts, holdfast.at(due), captured, refunded, why
           FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
                       $8::bigint[], $9::bigint[], $10::bigint[], $11::text[])
                AS t(offer_id, booking_id, provider, state, method, intent, attempts, due, captured, refunded, why)
           ON CONFLICT (offer_id, booking_id) DO UPDATE
           SET state = excluded.state, intent = excluded.intent, attempts = excluded.attempts, due_at = excluded.due_at,
               captured = excluded.captured, refunded = excluded.refunded, why = excluded.why, leased_until = NULL",
    types: &[
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
    ],
};
/// Locking rule: the rows it leases, for the length of the statement, leaving out those that somebody is writing.
///
/// A lease that ends later than one begun now was given by a clock that was ahead, and counts no longer: a payment must not
/// wait for as long as that clock was wrong. Two who look at one payment do no harm, for the provider is asked with one key.
const LEASE: Sql = Sql {
    text: "UPDATE holdfast.payments p
           SET leased_until = clock_timestamp() + $2 * interval '1 millisecond'
           FROM (SELECT offer_id, booking_id FROM holdfast.payments
                 WHERE due_at <= holdfast.at($1)
                   AND (leased_until IS NULL OR leased_until <= clock_timestamp()
                        OR leased_until > clock_timestamp() + $2 * interval '1 millisecond')
                 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED) due
           WHERE p.offer_id = due.offer_id AND p.booking_id = due.booking_id
           RETURNING p.booking_id",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// The payments of the bookings that were touched.
pub(super) fn put(effects: &Effects) -> Option<Part<'_>> {
    let paid = effects.bookings.values().filter_map(|booking| Some((booking, booking.payment.as_deref()?)));
    let (bookings, payments): (Vec<&Booking>, Vec<&Payment>) = paid.unzip();
    let of = || payments.iter();
    let columns = columns![
        bookings.iter().map(|booking| rows::home(&booking.lines).as_str()).collect::<Vec<_>>(),
        bookings.iter().map(|booking| booking.id.to_string()).collect::<Vec<_>>(),
        of().map(|payment| payment.provider.as_str()).collect::<Vec<_>>(),
        of().map(|payment| payment.state.as_str()).collect::<Vec<_>>(),
        of().map(|payment| payment.method.as_ref().map(|method| method.as_str())).collect::<Vec<_>>(),
        of().map(|payment| payment.intent.as_ref().map(|intent| intent.as_str())).collect::<Vec<_>>(),
        of().map(|payment| i64::from(payment.attempts)).collect::<Vec<_>>(),
        of().map(|payment| payment.due_at.map(Moment::ms)).collect::<Vec<_>>(),
        of().map(|payment| payment.captured.minor() as i64).collect::<Vec<_>>(),
        of().map(|payment| payment.refunded.minor() as i64).collect::<Vec<_>>(),
        of().map(|payment| payment.why.as_ref().map(|why| why.as_str())).collect::<Vec<_>>(),
    ];
    Part::of(payments.len(), &PUT, columns, "a payment is missing")
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
