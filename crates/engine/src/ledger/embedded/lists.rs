//! Lists that the tables answer: the journal and the bookings, a page at a time.

use std::fmt::Write as _;

use holdfast_domain::{BookingId, Invalid, Moment, PaymentState};
use rusqlite::{Connection, Row, ToSql};

use crate::ledger::{BookingFilter, JournalFilter, JournalRecord, Page, PageRequest};

/// Where a page begins: after this entry of the journal.
pub(super) fn after(page: &PageRequest) -> Result<u64, Invalid> {
    let malformed = || Invalid::new("after", "must be the `next` of an earlier page");
    // SQLite counts in signed numbers, and no journal is that long.
    let seq = |text: &str| text.parse().ok().filter(|&seq| i64::try_from(seq).is_ok()).ok_or_else(malformed);
    page.after.as_deref().map_or(Ok(0), seq)
}

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
fn page<T>(mut data: Vec<T>, limit: usize, seq: impl Fn(&T) -> u64) -> Page<T> {
    let more = data.len() > limit;
    data.truncate(limit);
    let next = data.last().filter(|_| more).map(|last| seq(last).to_string());
    Page { data, next }
}

pub(super) fn journal(
    from: &Connection,
    filter: &JournalFilter,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Page<JournalRecord>> {
    let fetch = limit + 1;
    let offer = filter.offer.as_ref().map(|offer| offer.as_str());
    let hold = filter.hold.map(|hold| hold.to_string());
    let booking = filter.booking.map(|booking| booking.to_string());
    let mut query = Query::new(
        "SELECT seq, at_ms, actor, kind, offer, units, hold, booking, before, after, lower(hex(hash)) FROM journal",
    );
    query.and("WHERE seq > ?", &after);
    match (&offer, &filter.unit) {
        (Some(offer), Some(unit)) => {
            query.and("AND seq IN (SELECT seq FROM journal_units WHERE unit = ?", unit);
            query.and("AND offer = ?", offer);
            query.and("AND seq > ?)", &after);
        }
        (Some(offer), None) => {
            query.and("AND seq IN (SELECT seq FROM journal_offers WHERE offer = ?", offer);
            query.and("AND seq > ?", &after);
            query.and("ORDER BY seq LIMIT ?)", &fetch);
        }
        (None, Some(unit)) => query.and("AND seq IN (SELECT seq FROM journal_units WHERE unit = ?)", unit),
        (None, None) => {}
    }
    if let Some(hold) = &hold {
        query.and("AND hold_seq = (SELECT seq FROM holds WHERE id = ?)", hold);
    }
    if let Some(booking) = &booking {
        query.and("AND seq IN (SELECT seq FROM bookings WHERE id = ?", booking);
        query.and("UNION ALL SELECT cancelled_seq FROM bookings WHERE id = ?", booking);
        query.and("UNION ALL SELECT seq FROM payment_entries WHERE booking = ?)", booking);
    }
    query.and("ORDER BY seq LIMIT ?", &fetch);
    Ok(page(query.run(from, record)?, limit, |record| record.seq))
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

/// The ids of a page of bookings, in the order they were made.
pub(super) fn bookings(
    from: &Connection,
    filter: &BookingFilter,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Page<BookingId>> {
    let fetch = limit + 1;
    let offer = filter.offer.as_ref().map(|offer| offer.as_str());
    let holder = filter.holder.as_ref().map(|holder| holder.as_str());
    let payment = filter.payment.map(PaymentState::as_str);
    let intent = filter.intent.as_ref().map(|intent| intent.as_str());
    let mut query = match &offer {
        Some(offer) => {
            let mut query = Query::new("SELECT seq, id FROM booking_offers JOIN bookings USING (seq)");
            query.and("WHERE offer = ?", offer);
            query.and("AND booking_offers.seq > ?", &after);
            query
        }
        None => {
            let mut query = Query::new("SELECT seq, id FROM bookings");
            query.and("WHERE seq > ?", &after);
            query
        }
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
    query.and("ORDER BY seq LIMIT ?", &fetch);
    let rows = query.run(from, |row| Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?)))?;
    let Page { data, next } = page(rows, limit, |(seq, _)| *seq);
    Ok(Page { data: data.into_iter().filter_map(|(_, id)| id.parse().ok()).collect(), next })
}
