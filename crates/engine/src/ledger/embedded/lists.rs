//! Lists that the tables answer: the journal and the bookings, a page at a time.
//!
//! However long the books are, a page costs little: each query follows one index from where the page begins, and stops
//! after so many rows.

use std::fmt::Write as _;

use holdfast_domain::{BookingId, Moment, PaymentState};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::ledger::{BookingFilter, JournalFilter, JournalRecord, Order, Page};

/// The most entries of a unit that are looked at to find its bookings: where most of them are holds that came to
/// nothing, a page is short.
const GLANCE: i64 = 20_000;

/// A query put together from the conditions that a filter asks for.
struct Query<'a> {
    sql: String,
    with: Vec<&'a dyn ToSql>,
}

impl<'a> Query<'a> {
    fn new(select: &str) -> Self {
        Self { sql: select.to_owned(), with: Vec::new() }
    }

    /// Adds SQL in which `?` stands for `value`.
    fn and(&mut self, condition: &str, value: &'a dyn ToSql) {
        self.with.push(value);
        let numbered = condition.replace('?', &format!("?{}", self.with.len()));
        write!(self.sql, " {numbered}").expect("writing to a string");
    }

    /// Reads on from a gap, in order of the column.
    fn from(&mut self, seq: &str, order: Order, gap: &'a i64, fetch: &'a usize) {
        let (beyond, way) = match order {
            Order::OldestFirst => (">", "ASC"),
            Order::NewestFirst => ("<=", "DESC"),
        };
        self.and(&format!("AND {seq} {beyond} ?"), gap);
        self.and(&format!("ORDER BY {seq} {way} LIMIT ?"), fetch);
    }

    fn run<T>(
        &self,
        from: &Connection,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut select = from.prepare_cached(&self.sql)?;
        select.query_map(&self.with[..], read)?.collect()
    }
}

/// Cuts the one row too many that was fetched to see whether there are more.
fn page<T>(mut data: Vec<T>, limit: usize, order: Order, seq: impl Fn(&T) -> i64) -> Page<T> {
    let more = data.len() > limit;
    data.truncate(limit);
    let next = data.last().filter(|_| more).map(|last| order.behind(seq(last)).to_string());
    Page { data, next }
}

/// What [`record`] reads of an entry.
const ENTRIES: &str =
    "SELECT journal.seq, at_ms, actor, kind, journal.offer, units, hold, booking, before, after,
                              lower(hex(hash)) FROM";

pub(super) fn journal(
    from: &Connection,
    filter: &JournalFilter,
    gap: i64,
    limit: usize,
) -> rusqlite::Result<Page<JournalRecord>> {
    let fetch = limit + 1;
    let offer = filter.offer.as_ref().map(|offer| offer.as_str());
    let hold = filter.hold.map(|hold| hold.to_string());
    let booking = filter.booking.map(|booking| booking.to_string());
    let (mut query, seq) = match hold.is_none() && booking.is_none() {
        true => followed(&offer, &filter.unit),
        false => (sifted(&offer, &filter.unit), "journal.seq"),
    };
    if let Some(hold) = &hold {
        query.and("AND hold_seq = (SELECT seq FROM holds WHERE id = ?)", hold);
    }
    if let Some(booking) = &booking {
        query.and("AND journal.seq IN (SELECT seq FROM bookings WHERE id = ?", booking);
        query.and("UNION ALL SELECT cancelled_seq FROM bookings WHERE id = ?", booking);
        query.and("UNION ALL SELECT seq FROM payment_entries WHERE booking = ?)", booking);
    }
    query.from(seq, filter.order, &gap, &fetch);
    Ok(page(query.run(from, record)?, limit, filter.order, |record| record.seq as i64))
}

/// The entries of a unit or an offer have an index of their own to follow; the column that is their order in it.
fn followed<'a>(offer: &'a Option<&str>, unit: &'a Option<String>) -> (Query<'a>, &'static str) {
    match (offer, unit) {
        (Some(offer), Some(unit)) => {
            let mut query = Query::new(&format!("{ENTRIES} journal_units CROSS JOIN journal USING (seq)"));
            query.and("WHERE journal_units.unit = ?", unit);
            query.and("AND journal_units.offer = ?", offer);
            (query, "journal_units.seq")
        }
        (Some(offer), None) => {
            let mut query = Query::new(&format!("{ENTRIES} journal_offers CROSS JOIN journal USING (seq)"));
            query.and("WHERE journal_offers.offer = ?", offer);
            (query, "journal_offers.seq")
        }
        (None, _) => (sifted(offer, unit), "journal.seq"),
    }
}

/// A booking and a hold have few entries, and what else is asked is sifted from those.
fn sifted<'a>(offer: &'a Option<&str>, unit: &'a Option<String>) -> Query<'a> {
    let mut query = Query::new(&format!("{ENTRIES} journal WHERE true"));
    if let Some(unit) = unit {
        query.and("AND journal.seq IN (SELECT u.seq FROM journal_units AS u WHERE u.unit = ?", unit);
        match offer {
            Some(offer) => query.and("AND u.offer = ?)", offer),
            None => query.sql.push(')'),
        }
    } else if let Some(offer) = offer {
        query.and(
            "AND EXISTS (SELECT 1 FROM journal_offers AS o WHERE o.offer = ? AND o.seq = journal.seq)",
            offer,
        );
    }
    query
}

fn record(row: &Row<'_>) -> rusqlite::Result<JournalRecord> {
    let units: String = row.get(5)?;
    Ok(JournalRecord {
        seq: row.get(0)?,
        at: Moment::from_ms(row.get(1)?),
        actor: row.get(2)?,
        kind: row.get(3)?,
        offer: row.get(4)?,
        units: units.split_ascii_whitespace().map(str::to_owned).collect(),
        hold: row.get(6)?,
        booking: row.get(7)?,
        before: row.get(8)?,
        after: row.get(9)?,
        hash: row.get(10)?,
    })
}

/// The ids of a page of bookings, by when they were made.
pub(super) fn bookings(
    from: &Connection,
    filter: &BookingFilter,
    gap: i64,
    limit: usize,
) -> rusqlite::Result<Page<BookingId>> {
    let fetch = limit + 1;
    let offer = filter.offer.as_ref().map(|offer| offer.as_str()).unwrap_or_default();
    let holder = filter.holder.as_ref().map(|holder| holder.as_str());
    let payment = filter.payment.map(PaymentState::as_str);
    let intent = filter.intent.as_ref().map(|intent| intent.as_str());
    let mut end = None;
    let (mut query, seq) = match &filter.unit {
        // A booking was made by an entry about its units.
        Some(unit) => {
            end = end_of_look(from, unit, offer, filter.order, gap)?;
            let mut query = Query::new("SELECT seq, id FROM journal_units CROSS JOIN bookings USING (seq)");
            query.and("WHERE journal_units.unit = ?", unit);
            query.and("AND journal_units.offer = ?", &offer);
            (query, "journal_units.seq")
        }
        None if filter.offer.is_some() => {
            let mut query = Query::new("SELECT seq, id FROM booking_offers JOIN bookings USING (seq)");
            query.and("WHERE booking_offers.offer = ?", &offer);
            (query, "booking_offers.seq")
        }
        None => (Query::new("SELECT seq, id FROM bookings WHERE true"), "bookings.seq"),
    };
    if let Some(holder) = &holder {
        query.and("AND holder = ?", holder);
    }
    if let Some(payment) = &payment {
        query.and("AND bookings.seq IN (SELECT booking_seq FROM payments WHERE state = ?)", payment);
    }
    if let Some(intent) = &intent {
        query.and("AND bookings.seq IN (SELECT booking_seq FROM payments WHERE intent = ?)", intent);
    }
    if let Some(end) = &end {
        let within = match filter.order {
            Order::OldestFirst => "AND journal_units.seq <= ?",
            Order::NewestFirst => "AND journal_units.seq > ?",
        };
        query.and(within, end);
    }
    query.from(seq, filter.order, &gap, &fetch);
    let rows = query.run(from, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let Page { data, next } = page(rows, limit, filter.order, |(seq, _)| *seq);
    let next = next.or_else(|| end.map(|gap| gap.to_string()));
    Ok(Page { data: data.into_iter().filter_map(|(_, id)| id.parse().ok()).collect(), next })
}

/// The gap at which one look at a unit's entries stops; `None` where it comes to their end.
fn end_of_look(
    from: &Connection,
    unit: &str,
    offer: &str,
    order: Order,
    gap: i64,
) -> rusqlite::Result<Option<i64>> {
    let select = match order {
        Order::OldestFirst => {
            "SELECT seq FROM journal_units WHERE unit = ?1 AND offer = ?2 AND seq > ?3
             ORDER BY seq ASC LIMIT 1 OFFSET ?4"
        }
        Order::NewestFirst => {
            "SELECT seq FROM journal_units WHERE unit = ?1 AND offer = ?2 AND seq <= ?3
             ORDER BY seq DESC LIMIT 1 OFFSET ?4"
        }
    };
    let mut select = from.prepare_cached(select)?;
    let last = select.query_row((unit, offer, gap, GLANCE), |row| row.get(0)).optional()?;
    Ok(last.map(|last| order.behind(last)))
}
