//! Lists, a page at a time: the bookings and the journal.

use holdfast_domain::{BookingId, Invalid, Moment, PaymentState, State};
use tokio_postgres::{Row, types::Type};

use super::{
    Books, rows,
    session::{Session, Sql, Trouble},
};
use crate::ledger::{
    BookingFilter, JournalFilter, JournalRecord, Page, PageRequest,
    about::about,
    codec::{self, Interner},
};

const BOOKINGS: Sql = Sql {
    text: "SELECT id, place FROM holdfast.bookings
           WHERE place > $1 AND ($2::text IS NULL OR offers @> ARRAY[$2]) AND ($3::text IS NULL OR holder = $3)
             AND ($5::text IS NULL OR (offer_id, id) IN (SELECT offer_id, booking_id FROM holdfast.payments
                                                          WHERE state = $5))
             AND ($6::text IS NULL OR (offer_id, id) IN (SELECT offer_id, booking_id FROM holdfast.payments
                                                          WHERE intent = $6))
           ORDER BY place LIMIT $4",
    types: &[Type::INT8, Type::TEXT, Type::TEXT, Type::INT8, Type::TEXT, Type::TEXT],
};
const JOURNAL: Sql = Sql {
    text: "SELECT seq, holdfast.ms(at), actor, kind, hold_id, booking_id, entry, hash FROM holdfast.journal
           WHERE seq > $1 AND ($2::text IS NULL OR offers @> ARRAY[$2]) AND ($3::text IS NULL OR hold_id = $3)
             AND ($4::text IS NULL OR booking_id = $4)
           ORDER BY seq LIMIT $5",
    types: &[Type::INT8, Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8],
};

/// Where a page begins.
pub(super) fn after(page: &PageRequest) -> Result<i64, Invalid> {
    let malformed = || Invalid::new("after", "must be the `next` of an earlier page");
    let seq = |text: &str| text.parse().ok().filter(|seq: &i64| *seq >= 0).ok_or_else(malformed);
    page.after.as_deref().map_or(Ok(0), seq)
}

pub(super) async fn bookings(
    session: &Session,
    filter: &BookingFilter,
    after: i64,
    limit: usize,
) -> Result<Page<BookingId>, Trouble> {
    let offer = filter.offer.as_ref().map(|offer| offer.as_str());
    let holder = filter.holder.as_ref().map(|holder| holder.as_str());
    let payment = filter.payment.map(PaymentState::as_str);
    let intent = filter.intent.as_ref().map(|intent| intent.as_str());
    let fetch = limit as i64 + 1;
    let mut found = session.rows(&BOOKINGS, &[&after, &offer, &holder, &fetch, &payment, &intent]).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|row| row.get::<_, i64>(1).to_string());
    Ok(Page { data: rows::booking_ids(&found)?, next })
}

/// A page of the journal. What an entry says is told from the entry itself, in the names that the copy knows; the copy
/// is looked at between two questions, never kept from the sale while PostgreSQL searches.
pub(super) async fn journal(
    books: &Books,
    filter: &JournalFilter,
    mut after: i64,
    limit: usize,
) -> Result<Page<JournalRecord>, Trouble> {
    let offer = filter.offer.as_ref().map(|offer| offer.as_str());
    let hold = filter.hold.map(|hold| hold.to_string());
    let booking = filter.booking.map(|booking| booking.to_string());
    let fetch = limit as i64 + 1;
    let mut interner = Interner::default();
    let mut data: Vec<JournalRecord> = Vec::new();
    let session = books.sessions.ordinary().await?;
    loop {
        let found = session.rows(&JOURNAL, &[&after, &offer, &hold, &booking, &fetch]).await?;
        let copy = books.loaded().await?;
        for row in &found {
            let record = record(row, &copy.state, &mut interner)?;
            if filter.unit.as_ref().is_none_or(|unit| record.units.contains(unit)) {
                data.push(record);
            }
        }
        drop(copy);
        // A unit is looked for in what each entry says, so a page may need several looks to be full.
        let Some(last) = found.last().filter(|_| found.len() as i64 == fetch && data.len() <= limit) else {
            break;
        };
        after = last.get(0);
    }
    let more = data.len() > limit;
    data.truncate(limit);
    let next = data.last().filter(|_| more).map(|last| last.seq.to_string());
    Ok(Page { data, next })
}

fn record(row: &Row, state: &State, interner: &mut Interner) -> Result<JournalRecord, Trouble> {
    let entry = codec::decode_entry(row.get(6), interner)?;
    let about = about(state, &entry.event);
    Ok(JournalRecord {
        seq: row.get::<_, i64>(0) as u64,
        at: Moment::from_ms(row.get(1)),
        actor: row.get(2),
        kind: row.get(3),
        offer: about.offers.first().map(ToString::to_string),
        units: about.units.into_iter().map(|(_, key)| key).collect(),
        hold: row.get(4),
        booking: row.get(5),
        before: about.before.map(str::to_owned),
        after: about.after.map(str::to_owned),
        hash: row.get::<_, &[u8]>(7).iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}
