//! The rows that show an entry.

use holdfast_domain::{
    Amendment, Entry, Event, Hold, Inventory, Line, Moment, Offer, OfferId, Placed, State, text,
};
use rusqlite::Connection;

use super::{payments, recent::Recent};
use crate::ledger::{
    about::{About, about},
    embedded::journal::Hash,
};

/// Shows one entry in the tables.
pub(super) fn show(
    to: &Connection,
    state: &State,
    recent: &mut Recent,
    entry: &Entry,
    hash: Hash,
) -> rusqlite::Result<()> {
    let about = about(state, &entry.event);
    let (seq, at_ms) = (entry.seq, entry.at.ms());
    if let Event::HoldPlaced(placed) = &entry.event {
        insert_hold(to, state, seq, at_ms, placed)?;
        recent.placed(placed.hold, seq);
        return insert_entry(to, entry, &about, Some(seq), hash);
    }
    let hold_seq = about.hold.map_or(Ok(None), |hold| recent.row(to, hold))?;
    match &entry.event {
        Event::OfferCreated { offer } => insert_offer(to, seq, at_ms, offer)?,
        Event::OfferAmended { offer, amendment } => amend_offer(to, offer, amendment)?,
        Event::HoldExtended { expires_at, .. } => {
            let sql = "UPDATE holds SET expires_ms = ?2, returns_ms = NULL, extensions = extensions + 1 WHERE seq = ?1";
            execute(to, sql, (hold_seq, expires_at.ms()))?;
        }
        Event::HoldLeft { expires_at, .. } => {
            let sql = "UPDATE holds SET returns_ms = ifnull(returns_ms, expires_ms), expires_ms = ?2 WHERE seq = ?1";
            execute(to, sql, (hold_seq, expires_at.ms()))?;
        }
        Event::HoldReturned { expires_at, .. } => {
            let sql = "UPDATE holds SET expires_ms = ?2, returns_ms = NULL WHERE seq = ?1";
            execute(to, sql, (hold_seq, expires_at.ms()))?;
        }
        Event::HoldReleased { hold } => {
            recent.ended(*hold);
            end_hold(to, hold_seq, "released", at_ms)?;
        }
        Event::HoldExpired { hold } => {
            recent.ended(*hold);
            end_hold(to, hold_seq, "expired", at_ms)?;
        }
        Event::BookingConfirmed { booking, hold } => {
            // Whether a booking is paid for never changes, so the state may be ahead of this entry.
            let paid = state.booking(*booking).filter(|booking| booking.payment.is_some());
            end_hold(to, hold_seq, "booked", paid.map_or(at_ms, |booking| booking.created_at.ms()))?;
            match (paid, hold_seq, state.hold(*hold, Moment::MIN)) {
                (Some(_), ..) => payments::confirm(to, seq, *booking)?,
                (None, Some(hold_seq), Some(hold)) => {
                    insert_booking(to, seq, at_ms, &booking.to_string(), "confirmed", hold, hold_seq)?;
                }
                _ => {}
            }
        }
        Event::BookingCancelled { booking } => {
            let sql = "UPDATE bookings SET state = 'cancelled', cancelled_seq = ?2, cancelled_ms = ?3 WHERE id = ?1";
            execute(to, sql, (booking.to_string(), seq, at_ms))?;
            payments::cancel(to, *booking, hold_seq, at_ms)?;
        }
        Event::PaymentBegun(begun) => {
            if let (Some(hold_seq), Some(hold)) = (hold_seq, state.hold(begun.hold, Moment::MIN)) {
                insert_booking(to, seq, at_ms, &begun.booking.to_string(), "pending", hold, hold_seq)?;
            }
            payments::begin(to, seq, hold_seq, begun)?;
        }
        Event::Payment { booking, event } => payments::follow(to, seq, at_ms, *booking, hold_seq, event)?,
        Event::HoldPlaced(_) | Event::UnitsBlocked { .. } | Event::UnitsUnblocked { .. } => {}
    }
    insert_entry(to, entry, &about, hold_seq, hash)
}

pub(super) fn execute(to: &Connection, sql: &str, with: impl rusqlite::Params) -> rusqlite::Result<()> {
    to.prepare_cached(sql)?.execute(with).map(drop)
}

fn end_hold(to: &Connection, hold_seq: Option<u64>, ended: &str, at_ms: i64) -> rusqlite::Result<()> {
    let sql =
        "UPDATE holds SET state = ?2, ended_ms = ?3, paying = NULL, pinned_ms = NULL, returns_ms = NULL,
                   expires_ms = iif(?2 = 'expired', ifnull(pinned_ms, expires_ms), expires_ms)
               WHERE seq = ?1";
    execute(to, sql, (hold_seq, ended, at_ms))
}

fn insert_offer(to: &Connection, seq: u64, at_ms: i64, offer: &Offer) -> rusqlite::Result<()> {
    let def = offer.def();
    execute(
        to,
        "INSERT INTO offers (seq, id, name, kind, currency, hold_ttl_s, limit_per_holder, created_ms, opens_ms, closes_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        (
            seq,
            def.id.as_str(),
            &def.name,
            offer.kind().as_str(),
            def.currency.code(),
            def.hold_ttl_s,
            def.limit_per_holder,
            at_ms,
            def.opens_at.map(Moment::ms),
            def.closes_at.map(Moment::ms),
        ),
    )
}

/// Writes what the amendment changes, and nothing else: the state may know of later ones already.
fn amend_offer(to: &Connection, id: &OfferId, amendment: &Amendment) -> rusqlite::Result<()> {
    let Amendment { name, hold_ttl_s, limit_per_holder, opens_at, closes_at, capacities: _, closed: _ } =
        amendment;
    // The offer has its name composed; so has the table.
    let name =
        name.as_ref().map(|name| text::line("name", name, usize::MAX / 4).unwrap_or_else(|_| name.clone()));
    execute(
        to,
        "UPDATE offers SET
             name = ifnull(?2, name),
             hold_ttl_s = ifnull(?3, hold_ttl_s),
             limit_per_holder = iif(?4, ?5, limit_per_holder),
             opens_ms = iif(?6, ?7, opens_ms),
             closes_ms = iif(?8, ?9, closes_ms)
         WHERE id = ?1",
        (
            id.as_str(),
            name,
            hold_ttl_s,
            limit_per_holder.is_some(),
            limit_per_holder.flatten(),
            opens_at.is_some(),
            opens_at.flatten().map(Moment::ms),
            closes_at.is_some(),
            closes_at.flatten().map(Moment::ms),
        ),
    )
}

fn insert_hold(
    to: &Connection,
    state: &State,
    seq: u64,
    at_ms: i64,
    placed: &Placed,
) -> rusqlite::Result<()> {
    execute(
        to,
        "INSERT INTO holds (seq, id, holder, state, amount, currency, placed_ms, expires_ms)
         VALUES (?1, ?2, ?3, 'active', ?4, ?5, ?6, ?7)",
        (
            seq,
            placed.hold.to_string(),
            placed.holder.as_str(),
            placed.amount.minor(),
            placed.currency.code(),
            at_ms,
            placed.expires_at.ms(),
        ),
    )?;
    for (n, line) in placed.lines.iter().enumerate() {
        let Some(offer) = state.offer(&line.offer) else { continue };
        let unit = offer.offer().key(line.unit);
        let service = service_of(offer.offer(), line);
        execute(
            to,
            "INSERT INTO hold_lines VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (seq, n, line.offer.as_str(), unit, line.qty, line.price.minor(), service),
        )?;
    }
    Ok(())
}

/// The key of the service that a line of a calendar claims.
pub(in super::super) fn service_of<'a>(offer: &'a Offer, line: &Line) -> Option<&'a str> {
    let Inventory::Slots(calendar) = offer.inventory() else { return None };
    calendar.services().get(usize::from(line.service?)).map(|service| service.key.as_str())
}

fn insert_booking(
    to: &Connection,
    seq: u64,
    at_ms: i64,
    id: &str,
    state: &str,
    hold: &Hold,
    hold_seq: u64,
) -> rusqlite::Result<()> {
    execute(
        to,
        "INSERT INTO bookings (seq, id, hold, hold_seq, holder, state, amount, currency, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        (
            seq,
            id,
            hold.id.to_string(),
            hold_seq,
            hold.holder.as_str(),
            state,
            hold.amount.minor(),
            hold.currency.code(),
            at_ms,
        ),
    )?;
    hold.lines.iter().try_for_each(|line| {
        execute(to, "INSERT OR IGNORE INTO booking_offers VALUES (?1, ?2)", (line.offer.as_str(), seq))
    })
}

fn insert_entry(
    to: &Connection,
    entry: &Entry,
    about: &About,
    hold_seq: Option<u64>,
    hash: Hash,
) -> rusqlite::Result<()> {
    execute(
        to,
        "INSERT INTO journal (seq, at_ms, actor, kind, offer, units, hold, hold_seq, booking, before, after, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        (
            entry.seq,
            entry.at.ms(),
            entry.actor.to_string(),
            entry.event.kind(),
            about.offers.first().map(OfferId::as_str),
            about.unit_keys(),
            about.hold.map(|id| id.to_string()),
            hold_seq,
            about.booking.map(|id| id.to_string()),
            about.before,
            about.after,
            hash,
        ),
    )?;
    for offer in &about.offers {
        execute(to, "INSERT INTO journal_offers VALUES (?1, ?2)", (offer.as_str(), entry.seq))?;
    }
    for (offer, unit) in &about.units {
        let row = (unit, about.offers[*offer].as_str(), entry.seq);
        execute(to, "INSERT OR IGNORE INTO journal_units VALUES (?1, ?2, ?3)", row)?;
    }
    Ok(())
}
