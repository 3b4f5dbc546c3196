//! The tables against the state that the journal adds up to.

use std::collections::HashMap;

use holdfast_domain::{
    Booking, BookingState, Entry, Hold, HoldId, HoldState, Line, Moment, OfferState, Payment, State,
};
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use super::Report;
use crate::ledger::{
    about::about,
    embedded::{journal::Hash, tables::service_of},
};

/// A row as a list of values, to be compared whole.
type Cells = Vec<Value>;

fn cells<const N: usize>(row: &Row<'_>) -> rusqlite::Result<Cells> {
    (0..N).map(|at| row.get(at)).collect()
}

macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$(Value::from($value)),*] };
}

/// Whether the journal's table shows this entry as it is.
pub(super) fn check_entry(from: &Connection, state: &State, entry: &Entry, hash: Hash, report: &mut Report) {
    let about = about(state, &entry.event);
    let expected = row![
        entry.at.ms(),
        entry.actor.to_string(),
        entry.event.kind().to_owned(),
        about.offers.first().map(ToString::to_string),
        about.unit_keys(),
        about.hold.map(|id| id.to_string()),
        about.booking.map(|id| id.to_string()),
        about.before.map(str::to_owned),
        about.after.map(str::to_owned),
        hash.to_vec(),
    ];
    let sql = "SELECT at_ms, actor, kind, offer, units, hold, booking, before, after, hash FROM journal WHERE seq = ?1";
    let shown =
        from.prepare_cached(sql).and_then(|mut select| select.query_row([entry.seq], cells::<10>).optional());
    match shown {
        Ok(Some(shown)) if shown == expected => {}
        Ok(Some(_)) => {
            report.breaks("tables", format_args!("journal row {} differs from its entry", entry.seq))
        }
        Ok(None) => report.breaks("tables", format_args!("journal row {} is missing", entry.seq)),
        Err(why) => report.breaks("tables", format_args!("journal row {}: {why}", entry.seq)),
    }
}

/// Whether offers, holds and bookings are shown as the state has them.
pub(super) fn check_all(from: &Connection, state: &State, report: &mut Report) {
    let offers = state.offers().map(|offer| (offer.offer().id().to_string(), offer_row(offer)));
    compare(from, "offers", OFFERS, offers.collect(), report);
    let holds = state.holds().map(|hold| (hold.id.to_string(), hold_row(state, hold)));
    compare(from, "holds", HOLDS, holds.collect(), report);
    let bookings = state.bookings().map(|booking| (booking.id.to_string(), booking_row(booking)));
    compare(from, "bookings", BOOKINGS, bookings.collect(), report);
    let payments = state.bookings().filter_map(|booking| {
        booking.payment.as_ref().map(|payment| (booking.id.to_string(), payment_row(payment)))
    });
    compare(from, "payments", PAYMENTS, payments.collect(), report);
    let lines = state.holds().flat_map(|hold| lines_of(state, hold.id, &hold.lines));
    compare(from, "hold_lines", LINES, lines.collect(), report);
}

const OFFERS: &str = "SELECT id, name, kind, currency, hold_ttl_s, limit_per_holder, created_ms, opens_ms, closes_ms FROM offers";
const HOLDS: &str = "SELECT id, holder, state, amount, currency, extensions, expires_ms, ended_ms, payments, paying, pinned_ms, returns_ms FROM holds";
const BOOKINGS: &str =
    "SELECT id, hold, holder, state, amount, currency, created_ms, cancelled_ms, failed_ms FROM bookings";
const PAYMENTS: &str = "SELECT booking, provider, state, method, intent, attempts, due_ms, captured, refunded, why FROM payments";
const LINES: &str = "SELECT holds.id || '/' || n, offer, unit, qty, price, service
                     FROM hold_lines JOIN holds ON holds.seq = hold_lines.hold_seq";

/// Compares a table, row by row and by its first column, with what it should show.
fn compare(
    from: &Connection,
    table: &str,
    sql: &str,
    mut expected: HashMap<String, Cells>,
    report: &mut Report,
) {
    let each = |row: &Row<'_>| {
        let id: String = row.get(0)?;
        let columns = row.as_ref().column_count();
        let shown: Cells = (1..columns).map(|at| row.get(at)).collect::<Result<_, _>>()?;
        match expected.remove(&id) {
            Some(row) if row == shown => {}
            Some(_) => report.breaks("tables", format_args!("{table}: {id} differs from the journal")),
            None => report.breaks("tables", format_args!("{table}: {id} is not in the journal")),
        }
        Ok(())
    };
    let read =
        from.prepare(sql).and_then(|mut select| select.query_map([], each)?.collect::<Result<Vec<_>, _>>());
    if let Err(why) = read {
        report.breaks("tables", format_args!("{table}: {why}"));
    }
    let mut missing: Vec<_> = expected.into_keys().collect();
    missing.sort_unstable();
    missing.iter().for_each(|id| report.breaks("tables", format_args!("{table}: {id} is missing")));
}

fn offer_row(at: &OfferState) -> Cells {
    let def = at.offer().def();
    row![
        def.name.clone(),
        at.offer().kind().as_str().to_owned(),
        def.currency.code().to_owned(),
        def.hold_ttl_s,
        def.limit_per_holder,
        at.created_at().ms(),
        def.opens_at.map(Moment::ms),
        def.closes_at.map(Moment::ms),
    ]
}

fn hold_row(state: &State, hold: &Hold) -> Cells {
    let (name, ended_at) = match hold.state {
        HoldState::Active => ("active", None),
        HoldState::Paying { .. } => ("paying", None),
        HoldState::Released { at } => ("released", Some(at)),
        HoldState::Expired { at } => ("expired", Some(at)),
        HoldState::Booked { booking } => ("booked", state.booking(booking).map(|booking| booking.created_at)),
    };
    let paying = match hold.state {
        HoldState::Paying { booking, pinned_until } => Some((booking.to_string(), pinned_until.ms())),
        _ => None,
    };
    row![
        hold.holder.as_str().to_owned(),
        name.to_owned(),
        hold.amount.minor() as i64,
        hold.currency.code().to_owned(),
        i64::from(hold.extensions),
        hold.expires_at.ms(),
        ended_at.map(Moment::ms),
        i64::from(hold.payments),
        paying.as_ref().map(|(booking, _)| booking.clone()),
        paying.map(|(_, pinned)| pinned),
        hold.returns_to.map(Moment::ms),
    ]
}

fn booking_row(booking: &Booking) -> Cells {
    let (cancelled_at, failed_at) = match booking.state {
        BookingState::Pending | BookingState::Confirmed => (None, None),
        BookingState::Cancelled { at } => (Some(at.ms()), None),
        BookingState::Failed { at } => (None, Some(at.ms())),
    };
    row![
        booking.hold.to_string(),
        booking.holder.as_str().to_owned(),
        booking.state.as_str().to_owned(),
        booking.amount.minor() as i64,
        booking.currency.code().to_owned(),
        booking.created_at.ms(),
        cancelled_at,
        failed_at,
    ]
}

fn payment_row(payment: &Payment) -> Cells {
    row![
        payment.provider.as_str().to_owned(),
        payment.state.as_str().to_owned(),
        payment.method.as_ref().map(|method| method.as_str().to_owned()),
        payment.intent.as_ref().map(|intent| intent.as_str().to_owned()),
        payment.attempts,
        payment.due_at.map(Moment::ms),
        payment.captured.minor() as i64,
        payment.refunded.minor() as i64,
        payment.why.as_ref().map(|why| why.as_str().to_owned()),
    ]
}

fn lines_of(state: &State, hold: HoldId, lines: &[Line]) -> Vec<(String, Cells)> {
    let row = |(n, line): (usize, &Line)| {
        let offer = state.offer(&line.offer)?.offer();
        let cells = row![
            line.offer.to_string(),
            offer.key(line.unit),
            line.qty,
            line.price.minor() as i64,
            service_of(offer, line).map(str::to_owned),
        ];
        Some((format!("{hold}/{n}"), cells))
    };
    lines.iter().enumerate().filter_map(row).collect()
}
