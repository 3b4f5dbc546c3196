//! A checkpoint's state as bytes: offers, holds and bookings; the rest is sums.

use holdfast_domain::{Booking, BookingState, Hold, HoldState, Part, Parts, Version, state::OfferPart};

use super::{
    domain::Interner,
    wire::{Malformed, Reader, Writer},
};

/// Since version 2 holds count their payments and bookings have them; since version 3 a hold may have been left.
const VERSION: u8 = 3;
const OLDEST: u8 = 1;

pub fn encode_parts(parts: &Parts) -> Vec<u8> {
    let mut out = Vec::new();
    let mut to = Writer(&mut out);
    to.byte(VERSION);
    to.uint(parts.version.0);
    to.list(&parts.offers, encode_offer);
    to.list(&parts.holds, encode_hold);
    to.list(&parts.bookings, encode_booking);
    out
}

pub fn decode_parts(bytes: &[u8]) -> Result<Parts, Malformed> {
    let mut parts = Parts::default();
    let (mut offers, mut holds, mut bookings) = (Vec::new(), Vec::new(), Vec::new());
    parts.version = decode_each_part(bytes, |part| match part {
        Part::Offer(offer) => offers.push(offer),
        Part::Hold(hold) => holds.push(*hold),
        Part::Booking(booking) => bookings.push(*booking),
    })?;
    Ok(Parts { offers, holds, bookings, ..parts })
}

/// Hands over one part after another, and says where in the journal they stand.
pub fn decode_each_part(bytes: &[u8], mut each: impl FnMut(Part)) -> Result<Version, Malformed> {
    let mut from = Reader::new(bytes);
    let interner = &mut Interner::default();
    let written = from.byte()?;
    if !(OLDEST..=VERSION).contains(&written) {
        return Err(from.fault("a checkpoint of a version this program does not know"));
    }
    let version = Version(from.uint()?);
    from.each(|from| decode_offer(from, interner).map(Part::Offer), &mut each)?;
    from.each(|from| Ok(Part::Hold(decode_hold(from, written, interner)?.into())), &mut each)?;
    from.each(|from| Ok(Part::Booking(decode_booking(from, written, interner)?.into())), &mut each)?;
    from.end()?;
    Ok(version)
}

fn encode_offer(to: &mut Writer<'_>, part: &OfferPart) {
    to.offer_def(part.offer.def());
    to.moment(part.created_at);
    to.uint(part.version.0);
    to.list(&part.blocked, |to, unit| to.uint(*unit));
}

fn decode_offer(from: &mut Reader<'_>, interner: &mut Interner) -> Result<OfferPart, Malformed> {
    Ok(OfferPart {
        offer: from.offer(interner)?,
        created_at: from.moment()?,
        version: Version(from.uint()?),
        blocked: from.list(Reader::u32)?,
    })
}

fn encode_hold(to: &mut Writer<'_>, hold: &Hold) {
    to.bits128(hold.id.bits());
    to.holder(&hold.holder);
    match hold.state {
        HoldState::Active => to.byte(0),
        HoldState::Booked { booking } => {
            to.byte(1);
            to.bits128(booking.bits());
        }
        HoldState::Released { at } => {
            to.byte(2);
            to.moment(at);
        }
        HoldState::Expired { at } => {
            to.byte(3);
            to.moment(at);
        }
        HoldState::Paying { booking, pinned_until } => {
            to.byte(4);
            to.bits128(booking.bits());
            to.moment(pinned_until);
        }
    }
    to.list(&hold.lines, Writer::line);
    to.money(hold.amount);
    to.currency(hold.currency);
    to.moment(hold.expires_at);
    to.byte(hold.extensions);
    to.byte(hold.payments);
    to.list(&hold.relaxed, |to, relaxed| to.relaxed(*relaxed));
    to.uint(hold.version.0);
    to.option(hold.returns_to, Writer::moment);
}

fn decode_hold(from: &mut Reader<'_>, written: u8, interner: &mut Interner) -> Result<Hold, Malformed> {
    Ok(Hold {
        id: from.hold_id()?,
        holder: from.holder()?,
        state: decode_hold_state(from)?,
        lines: from.lines(interner)?,
        amount: from.money()?,
        currency: from.currency(interner)?,
        expires_at: from.moment()?,
        extensions: from.byte()?,
        payments: if written > 1 { from.byte()? } else { 0 },
        relaxed: from.list(Reader::relaxed)?,
        version: Version(from.uint()?),
        returns_to: if written > 2 { from.option(Reader::moment)? } else { None },
    })
}

fn decode_hold_state(from: &mut Reader<'_>) -> Result<HoldState, Malformed> {
    match from.byte()? {
        0 => Ok(HoldState::Active),
        1 => Ok(HoldState::Booked { booking: from.booking_id()? }),
        2 => Ok(HoldState::Released { at: from.moment()? }),
        3 => Ok(HoldState::Expired { at: from.moment()? }),
        4 => Ok(HoldState::Paying { booking: from.booking_id()?, pinned_until: from.moment()? }),
        _ => Err(from.fault("no such state of a hold")),
    }
}

fn encode_booking(to: &mut Writer<'_>, booking: &Booking) {
    to.bits128(booking.id.bits());
    to.bits128(booking.hold.bits());
    to.holder(&booking.holder);
    match booking.state {
        BookingState::Confirmed => to.byte(0),
        BookingState::Cancelled { at } => {
            to.byte(1);
            to.moment(at);
        }
        BookingState::Pending => to.byte(2),
        BookingState::Failed { at } => {
            to.byte(3);
            to.moment(at);
        }
    }
    to.list(&booking.lines, Writer::line);
    to.money(booking.amount);
    to.currency(booking.currency);
    to.moment(booking.created_at);
    to.uint(booking.version.0);
    to.option(booking.payment.as_deref(), Writer::payment);
}

fn decode_booking(from: &mut Reader<'_>, written: u8, interner: &mut Interner) -> Result<Booking, Malformed> {
    let (id, hold, holder) = (from.booking_id()?, from.hold_id()?, from.holder()?);
    Ok(Booking {
        id,
        hold,
        holder,
        state: decode_booking_state(from)?,
        lines: from.lines(interner)?,
        amount: from.money()?,
        currency: from.currency(interner)?,
        created_at: from.moment()?,
        version: Version(from.uint()?),
        payment: if written > 1 { from.option(Reader::payment)?.map(Box::new) } else { None },
    })
}

fn decode_booking_state(from: &mut Reader<'_>) -> Result<BookingState, Malformed> {
    match from.byte()? {
        0 => Ok(BookingState::Confirmed),
        1 => Ok(BookingState::Cancelled { at: from.moment()? }),
        2 => Ok(BookingState::Pending),
        3 => Ok(BookingState::Failed { at: from.moment()? }),
        _ => Err(from.fault("no such state of a booking")),
    }
}
