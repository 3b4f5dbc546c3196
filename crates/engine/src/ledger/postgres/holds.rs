//! The rows of holds: a placed one is inserted, an older one updated while it is still open. Most of those that are placed
//! have not changed since, and go without the columns that say so.
//!
//! Several statements rather than one with `ON CONFLICT`, which looks for every new row before it inserts it: most of what a
//! sale writes is new holds.

use holdfast_domain::{Hold, HoldState, Moment};
use tokio_postgres::types::Type;

use super::{
    effects::Effects,
    parts::{Part, columns},
    rows,
    session::Sql,
    write::sparse,
};

const INSERT_FRESH: Sql = Sql {
    text: "INSERT INTO holdfast.holds (offer_id, id, holder, state, amount, currency, expires_at, version, body)
           SELECT offer_id, id, holder, 'active', amount, currency, holdfast.at(expires), version, body
           FROM (SELECT unnest($1::text[]) AS offer_id, unnest($2::text[]) AS id, unnest($3::text[]) AS holder,
                        unnest($4::bigint[]) AS amount, unnest($5::text[]) AS currency, unnest($6::bigint[]) AS expires,
                        unnest($7::bigint[]) AS version, unnest($8::bytea[]) AS body) AS t",
    types: &[
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};
const INSERT_HOLDS: Sql = Sql {
    text: "INSERT INTO holdfast.holds
               (offer_id, id, holder, state, amount, currency, expires_at, extensions, ended_at, booking_id, version, body,
                payments, pinned_until, returns_to)
           SELECT offer_id, id, holder, state, amount, currency, holdfast.at(expires), extensions,
                  holdfast.at(ended), booking_id, version, body, payments, holdfast.at(pinned), holdfast.at(returns)
           FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
                       $8::smallint[], $9::bigint[], $10::text[], $11::bigint[], $12::bytea[], $13::smallint[],
                       $14::bigint[], $15::bigint[])
                AS t(offer_id, id, holder, state, amount, currency, expires, extensions, ended, booking_id, version, body,
                     payments, pinned, returns)",
    types: &[
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT2_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT2_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
    ],
};
const UPDATE_HOLDS: Sql = Sql {
    text: "UPDATE holdfast.holds h
           SET state = t.state, expires_at = holdfast.at(t.expires), extensions = t.extensions,
               ended_at = holdfast.at(t.ended), booking_id = t.booking_id, version = t.version,
               payments = t.payments, pinned_until = holdfast.at(t.pinned),
               returns_to = holdfast.at(t.returns)
           FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::smallint[], $6::bigint[], $7::text[],
                       $8::bigint[], $9::smallint[], $10::bigint[], $11::bigint[])
                AS t(offer_id, id, state, expires, extensions, ended, booking_id, version, payments, pinned,
                     returns)
           WHERE h.offer_id = t.offer_id AND h.id = t.id AND h.state IN ('active', 'paying')",
    types: &[
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT2_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT2_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
    ],
};

/// The holds that are new and as they were placed.
pub(super) fn fresh(effects: &Effects) -> Option<Part<'_>> {
    let holds: Vec<&Hold> = new(effects).filter(|hold| is_fresh(hold)).collect();
    let columns = columns![
        holds.iter().map(|hold| rows::home(&hold.lines).as_str()).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.id.to_string()).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.holder.as_str()).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.amount.minor() as i64).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.currency.code()).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.expires_at.ms()).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.version.0 as i64).collect::<Vec<_>>(),
        holds.iter().map(|hold| rows::hold_body(hold)).collect::<Vec<_>>(),
    ];
    Part::inserting(holds.len(), &INSERT_FRESH, columns)
}

fn new(effects: &Effects) -> impl Iterator<Item = &Hold> {
    effects.placed.iter().map(|placed| &effects.holds[placed])
}

/// Whether the columns that [`INSERT_FRESH`] leaves out have nothing to say.
fn is_fresh(hold: &Hold) -> bool {
    let Hold { state, extensions, payments, returns_to, .. } = hold;
    *state == HoldState::Active && *extensions == 0 && *payments == 0 && returns_to.is_none()
}

/// The holds that are new and have changed since.
pub(super) fn placed(effects: &Effects) -> Option<Part<'_>> {
    let holds: Vec<&Hold> = new(effects).filter(|hold| !is_fresh(hold)).collect();
    let of = Columns::of(effects, &holds);
    let columns = columns![
        of.offers,
        of.ids,
        holds.iter().map(|hold| hold.holder.as_str()).collect::<Vec<_>>(),
        of.states,
        holds.iter().map(|hold| hold.amount.minor() as i64).collect::<Vec<_>>(),
        holds.iter().map(|hold| hold.currency.code()).collect::<Vec<_>>(),
        of.expires,
        of.extensions,
        of.ended,
        of.bookings,
        of.versions,
        holds.iter().map(|hold| rows::hold_body(hold)).collect::<Vec<_>>(),
        of.payments,
        of.pinned,
        of.returns,
    ];
    Part::inserting(holds.len(), &INSERT_HOLDS, columns)
}

/// The holds that were there before and changed.
pub(super) fn changed(effects: &Effects) -> Option<Part<'_>> {
    let older = effects.holds.values().filter(|hold| !effects.placed.contains(&hold.id));
    let holds: Vec<&Hold> = older.collect();
    let of = Columns::of(effects, &holds);
    let columns = columns![
        of.offers,
        of.ids,
        of.states,
        of.expires,
        of.extensions,
        of.ended,
        of.bookings,
        of.versions,
        of.payments,
        of.pinned,
        of.returns,
    ];
    Part::of(holds.len(), &UPDATE_HOLDS, columns, "a hold has already ended")
}

/// What changes in the life of a hold, column by column.
struct Columns<'a> {
    offers: Vec<&'a str>,
    ids: Vec<String>,
    states: Vec<&'static str>,
    expires: Vec<i64>,
    extensions: Vec<i16>,
    ended: Vec<Option<i64>>,
    bookings: Vec<Option<String>>,
    versions: Vec<i64>,
    payments: Vec<i16>,
    pinned: Vec<Option<i64>>,
    returns: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    fn of(effects: &Effects, holds: &[&'a Hold]) -> Self {
        Self {
            offers: holds.iter().map(|hold| rows::home(&hold.lines).as_str()).collect(),
            ids: holds.iter().map(|hold| hold.id.to_string()).collect(),
            states: holds.iter().map(|hold| rows::hold_state(hold.state)).collect(),
            expires: holds.iter().map(|hold| hold.expires_at.ms()).collect(),
            extensions: holds.iter().map(|hold| i16::from(hold.extensions)).collect(),
            ended: sparse(holds.iter().map(|hold| ended_at(effects, hold).map(Moment::ms))),
            bookings: sparse(holds.iter().map(|hold| booking_of(hold))),
            versions: holds.iter().map(|hold| hold.version.0 as i64).collect(),
            payments: holds.iter().map(|hold| i16::from(hold.payments)).collect(),
            pinned: sparse(holds.iter().map(|hold| pinned_until(hold).map(Moment::ms))),
            returns: sparse(holds.iter().map(|hold| hold.returns_to.map(Moment::ms))),
        }
    }
}

fn ended_at(effects: &Effects, hold: &Hold) -> Option<Moment> {
    match hold.state {
        HoldState::Active | HoldState::Paying { .. } => None,
        HoldState::Released { at } | HoldState::Expired { at } => Some(at),
        HoldState::Booked { booking } => effects.bookings.get(&booking).map(|booking| booking.created_at),
    }
}

fn booking_of(hold: &Hold) -> Option<String> {
    match hold.state {
        HoldState::Booked { booking } | HoldState::Paying { booking, .. } => Some(booking.to_string()),
        _ => None,
    }
}

const fn pinned_until(hold: &Hold) -> Option<Moment> {
    match hold.state {
        HoldState::Paying { pinned_until, .. } => Some(pinned_until),
        _ => None,
    }
}
