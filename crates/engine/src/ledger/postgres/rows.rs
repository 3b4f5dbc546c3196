//! Rows and what they mean: the columns that people read, and the encoded rest.

use holdfast_domain::{
    Booking, BookingId, BookingState, Currency, Hold, HoldState, HolderId, Line, Moment, Money, Offer,
    OfferId, Version,
};
use std::sync::Arc;
use tokio_postgres::Row;

use super::session::Trouble;
use crate::ledger::codec::{Interner, Malformed, Reader, Writer};

const VERSION: u8 = 1;

/// What a hold's columns do not show.
pub(super) fn hold_body(hold: &Hold) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    let mut to = Writer(&mut bytes);
    to.byte(VERSION);
    to.list(&hold.lines, Writer::line);
    to.list(&hold.relaxed, |to, relaxed| to.relaxed(*relaxed));
    bytes
}

pub(super) fn booking_body(booking: &Booking) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    let mut to = Writer(&mut bytes);
    to.byte(VERSION);
    to.list(&booking.lines, Writer::line);
    bytes
}

pub(super) fn definition(offer: &Offer) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = Writer(&mut bytes);
    to.byte(VERSION);
    to.offer_def(offer.def());
    bytes
}

pub(super) const fn hold_state(state: HoldState) -> &'static str {
    match state {
        HoldState::Active => "active",
        HoldState::Booked { .. } => "booked",
        HoldState::Released { .. } => "released",
        HoldState::Expired { .. } => "expired",
    }
}

/// A row that cannot be what this program wrote.
fn corrupt(what: impl std::fmt::Display) -> Trouble {
    Trouble::Down(format!("a row of the books cannot be read: {what}").into())
}

impl From<Malformed> for Trouble {
    fn from(fault: Malformed) -> Self {
        corrupt(fault)
    }
}

fn opened<'a>(bytes: &'a [u8]) -> Result<Reader<'a>, Trouble> {
    let mut from = Reader::new(bytes);
    match from.byte()? {
        VERSION => Ok(from),
        other => Err(corrupt(format_args!("it has version {other}"))),
    }
}

pub(super) fn offer(bytes: &[u8], interner: &mut Interner) -> Result<Arc<Offer>, Trouble> {
    let mut from = opened(bytes)?;
    let offer = from.offer(interner)?;
    from.end()?;
    Ok(offer)
}

/// `id, holder, state, amount, currency, expires, extensions, ended, booking, version, body`.
pub(super) fn hold(row: &Row, interner: &mut Interner) -> Result<Hold, Trouble> {
    let mut from = opened(row.get(10))?;
    let lines: Vec<Line> = from.list(|from| from.line(interner))?;
    let relaxed = from.list(Reader::relaxed)?;
    from.end()?;
    let at = Moment::from_ms(row.get::<_, Option<i64>>(7).unwrap_or_default());
    let state = match row.get(2) {
        "active" => HoldState::Active,
        "released" => HoldState::Released { at },
        "expired" => HoldState::Expired { at },
        "booked" => HoldState::Booked { booking: id(row.get(8))? },
        other => return Err(corrupt(other)),
    };
    Ok(Hold {
        id: id(row.get(0))?,
        holder: HolderId::new(row.get(1)).map_err(corrupt)?,
        state,
        lines: lines.into(),
        amount: Money::new(row.get::<_, i64>(3) as u64).map_err(corrupt)?,
        currency: Currency::new(row.get(4)).map_err(corrupt)?,
        expires_at: Moment::from_ms(row.get(5)),
        extensions: row.get::<_, i16>(6) as u8,
        relaxed,
        version: version(row, 9),
    })
}

/// `id, hold, holder, amount, currency, created, cancelled, version, body`.
pub(super) fn booking(row: &Row, interner: &mut Interner) -> Result<Booking, Trouble> {
    let mut from = opened(row.get(8))?;
    let lines: Vec<Line> = from.list(|from| from.line(interner))?;
    from.end()?;
    let cancelled: Option<i64> = row.get(6);
    Ok(Booking {
        id: id(row.get(0))?,
        hold: id(row.get(1))?,
        holder: HolderId::new(row.get(2)).map_err(corrupt)?,
        state: cancelled
            .map_or(BookingState::Confirmed, |at| BookingState::Cancelled { at: Moment::from_ms(at) }),
        lines: lines.into(),
        amount: Money::new(row.get::<_, i64>(3) as u64).map_err(corrupt)?,
        currency: Currency::new(row.get(4)).map_err(corrupt)?,
        created_at: Moment::from_ms(row.get(5)),
        version: version(row, 7),
    })
}

pub(super) fn version(row: &Row, column: usize) -> Version {
    Version(row.get::<_, i64>(column) as u64)
}

/// Both sorts of minted ids are read alike.
pub(super) fn id<T: std::str::FromStr>(text: &str) -> Result<T, Trouble> {
    text.parse().map_err(|_| corrupt(text))
}

/// Under which offer a hold and its booking are filed: that of the first line.
pub(super) fn home(lines: &[Line]) -> &OfferId {
    &lines[0].offer
}

/// Every offer that these lines touch, each once, in order.
pub(super) fn offers_of(lines: &[Line]) -> Vec<OfferId> {
    let mut offers: Vec<_> = lines.iter().map(|line| line.offer.clone()).collect();
    offers.sort_unstable();
    offers.dedup();
    offers
}

pub(super) fn booking_ids(rows: &[Row]) -> Result<Vec<BookingId>, Trouble> {
    rows.iter().map(|row| id(row.get(0))).collect()
}
