//! Rows and what they mean: the columns that people read, and the encoded rest.

use holdfast_domain::{
    Booking, BookingId, BookingState, Currency, Hold, HoldState, HolderId, IntentId, Line, Moment, Money,
    Offer, OfferId, Payment, PaymentMethod, PaymentState, Provider, Reason, Version,
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
        HoldState::Paying { .. } => "paying",
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

/// The lines in a hold's body.
pub(super) fn hold_lines(body: &[u8], interner: &mut Interner) -> Result<Vec<Line>, Trouble> {
    Ok(opened(body)?.list(|from| from.line(interner))?)
}

/// `id, holder, state, amount, currency, expires, extensions, ended, booking, version, body, payments, pinned, returns`.
pub(super) fn hold(row: &Row, interner: &mut Interner) -> Result<Hold, Trouble> {
    let mut from = opened(row.get(10))?;
    let lines: Vec<Line> = from.list(|from| from.line(interner))?;
    let relaxed = from.list(Reader::relaxed)?;
    from.end()?;
    let at = Moment::from_ms(row.get::<_, Option<i64>>(7).unwrap_or_default());
    let state = match row.get(2) {
        "active" => HoldState::Active,
        "paying" => {
            let pinned_until = Moment::from_ms(row.get::<_, Option<i64>>(12).unwrap_or_default());
            HoldState::Paying { booking: id(row.get(8))?, pinned_until }
        }
        "released" => HoldState::Released { at },
        "expired" => HoldState::Expired { at },
        "booked" => HoldState::Booked { booking: id(row.get(8))? },
        other => return Err(corrupt(other)),
    };
    let expires_at = Moment::from_ms(row.get(5));
    let returns_to = row.get::<_, Option<i64>>(13).map(Moment::from_ms);
    Ok(Hold {
        id: id(row.get(0))?,
        holder: HolderId::new(row.get(1)).map_err(corrupt)?,
        state,
        lines: lines.into(),
        amount: money(row, 3)?,
        currency: Currency::new(row.get(4)).map_err(corrupt)?,
        expires_at,
        // A node of the version before leaves it as it was when it ends or extends the hold.
        returns_to: returns_to.filter(|full| state == HoldState::Active && *full > expires_at),
        extensions: row.get::<_, i16>(6) as u8,
        payments: row.get::<_, i16>(11) as u8,
        relaxed,
        version: version(row, 9),
    })
}

/// `id, hold, holder, amount, currency, created, cancelled, version, body, state, failed`, and of the payment, where
/// there is one, `state, method, intent, attempts, due, captured, refunded, why`.
pub(super) fn booking(row: &Row, interner: &mut Interner) -> Result<Booking, Trouble> {
    let mut from = opened(row.get(8))?;
    let lines: Vec<Line> = from.list(|from| from.line(interner))?;
    from.end()?;
    let at = |column: usize| Moment::from_ms(row.get::<_, Option<i64>>(column).unwrap_or_default());
    let state = match row.get(9) {
        "pending" => BookingState::Pending,
        "confirmed" => BookingState::Confirmed,
        "cancelled" => BookingState::Cancelled { at: at(6) },
        "failed" => BookingState::Failed { at: at(10) },
        other => return Err(corrupt(other)),
    };
    Ok(Booking {
        id: id(row.get(0))?,
        hold: id(row.get(1))?,
        holder: HolderId::new(row.get(2)).map_err(corrupt)?,
        state,
        lines: lines.into(),
        amount: money(row, 3)?,
        currency: Currency::new(row.get(4)).map_err(corrupt)?,
        payment: payment(row)?.map(Box::new),
        created_at: Moment::from_ms(row.get(5)),
        version: version(row, 7),
    })
}

fn payment(row: &Row) -> Result<Option<Payment>, Trouble> {
    let Some(state) = row.get::<_, Option<&str>>(11) else { return Ok(None) };
    let method = row.get::<_, Option<&str>>(12).map(PaymentMethod::new).transpose();
    let intent = row.get::<_, Option<&str>>(13).map(IntentId::new).transpose();
    Ok(Some(Payment {
        provider: Provider::Stripe,
        state: PaymentState::named(state).ok_or_else(|| corrupt(state))?,
        method: method.map_err(corrupt)?,
        intent: intent.map_err(corrupt)?,
        attempts: row.get::<_, i64>(14) as u32,
        due_at: row.get::<_, Option<i64>>(15).map(Moment::from_ms),
        captured: money(row, 16)?,
        refunded: money(row, 17)?,
        why: row.get::<_, Option<&str>>(18).map(Reason::new),
    }))
}

fn money(row: &Row, column: usize) -> Result<Money, Trouble> {
    Money::new(row.get::<_, i64>(column) as u64).map_err(corrupt)
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

/// Every offer that these lines touch, each once, in order. Entries are filed under the first of them.
pub(super) fn offers_of(lines: &[Line]) -> Vec<OfferId> {
    let mut offers: Vec<_> = lines.iter().map(|line| line.offer.clone()).collect();
    offers.sort_unstable();
    offers.dedup();
    offers
}

pub(super) fn booking_ids(rows: &[Row]) -> Result<Vec<BookingId>, Trouble> {
    rows.iter().map(|row| id(row.get(0))).collect()
}
