//! A journal entry as bytes.
//!
//! ```text
//! version  kind  seq  at  actor  what the kind needs
//! ```

use holdfast_domain::{
    Actor, BookingId, Entry, Event, Moment, PaymentBegun, PaymentEvent, PaymentState, Placed,
};

use super::{
    domain::Interner,
    wire::{Malformed, Reader, Writer},
};

const VERSION: u8 = 1;

/// Appends the entry's bytes. Takes its parts, so that nothing is cloned only to be written down.
pub fn encode_entry(out: &mut Vec<u8>, seq: u64, at: Moment, actor: &Actor, event: &Event) {
    let mut to = Writer(out);
    to.byte(VERSION);
    to.byte(kind(event));
    to.uint(seq);
    to.moment(at);
    to.actor(actor);
    match event {
        Event::OfferCreated { offer } => to.offer_def(offer.def()),
        Event::OfferAmended { offer, amendment } => {
            to.offer_id(offer);
            to.amendment(amendment);
        }
        Event::UnitsBlocked { offer, units } | Event::UnitsUnblocked { offer, units } => {
            to.offer_id(offer);
            to.list(units, |to, unit| to.uint(*unit));
        }
        Event::HoldPlaced(placed) => encode_placed(&mut to, placed),
        Event::HoldExtended { hold, expires_at }
        | Event::HoldLeft { hold, expires_at }
        | Event::HoldReturned { hold, expires_at } => {
            to.bits128(hold.bits());
            to.moment(*expires_at);
        }
        Event::HoldReleased { hold } | Event::HoldExpired { hold } => to.bits128(hold.bits()),
        Event::BookingConfirmed { booking, hold } => {
            to.bits128(booking.bits());
            to.bits128(hold.bits());
        }
        Event::BookingCancelled { booking } => to.bits128(booking.bits()),
        Event::PaymentBegun(begun) => encode_begun(&mut to, begun),
        Event::Payment { booking, event } => encode_payment_event(&mut to, *booking, event),
    }
}

const fn kind(event: &Event) -> u8 {
    match event {
        Event::OfferCreated { .. } => 1,
        Event::OfferAmended { .. } => 2,
        Event::UnitsBlocked { .. } => 3,
        Event::UnitsUnblocked { .. } => 4,
        Event::HoldPlaced(_) => 5,
        Event::HoldExtended { .. } => 6,
        Event::HoldReleased { .. } => 7,
        Event::HoldExpired { .. } => 8,
        Event::BookingConfirmed { .. } => 9,
        Event::BookingCancelled { .. } => 10,
        Event::PaymentBegun(_) => 11,
        Event::Payment { event, .. } => match event {
            PaymentEvent::IntentNoted { .. } => 12,
            PaymentEvent::Moved { .. } => 13,
            PaymentEvent::Deferred { .. } => 14,
            PaymentEvent::Captured { .. } => 15,
            PaymentEvent::Failed { .. } => 16,
            PaymentEvent::BookingFailed { .. } => 17,
            PaymentEvent::Retaken => 18,
            PaymentEvent::RefundBegun { .. } => 19,
            PaymentEvent::Refunded => 20,
            PaymentEvent::Parked { .. } => 21,
        },
        Event::HoldLeft { .. } => 22,
        Event::HoldReturned { .. } => 23,
    }
}

fn encode_begun(to: &mut Writer<'_>, begun: &PaymentBegun) {
    to.bits128(begun.booking.bits());
    to.bits128(begun.hold.bits());
    to.option(begun.method.as_ref(), |to, method| to.text(method.as_str()));
    to.moment(begun.expires_at);
    to.moment(begun.pinned_until);
    to.moment(begun.due_at);
}

fn encode_payment_event(to: &mut Writer<'_>, booking: BookingId, event: &PaymentEvent) {
    to.bits128(booking.bits());
    match event {
        PaymentEvent::IntentNoted { intent, due_at } => {
            to.text(intent.as_str());
            to.moment(*due_at);
        }
        PaymentEvent::Moved { to: state, due_at } => {
            to.payment_state(*state);
            to.moment(*due_at);
        }
        PaymentEvent::Deferred { due_at } | PaymentEvent::RefundBegun { due_at } => to.moment(*due_at),
        PaymentEvent::Captured { amount } => to.money(*amount),
        PaymentEvent::Failed { why } | PaymentEvent::BookingFailed { why } => to.text(why.as_str()),
        PaymentEvent::Retaken | PaymentEvent::Refunded => {}
        PaymentEvent::Parked { captured, why } => {
            to.money(*captured);
            to.text(why.as_str());
        }
    }
}

fn encode_placed(to: &mut Writer<'_>, placed: &Placed) {
    to.bits128(placed.hold.bits());
    to.holder(&placed.holder);
    to.list(&placed.lines, Writer::line);
    to.money(placed.amount);
    to.currency(placed.currency);
    to.moment(placed.expires_at);
    to.list(&placed.relaxed, |to, relaxed| to.relaxed(*relaxed));
}

/// The entry that these bytes are, all of them.
pub fn decode_entry(bytes: &[u8], interner: &mut Interner) -> Result<Entry, Malformed> {
    let mut from = Reader::new(bytes);
    if from.byte()? != VERSION {
        return Err(from.fault("an entry of a version this program does not know"));
    }
    let kind = from.byte()?;
    let (seq, at, actor) = (from.uint()?, from.moment()?, from.actor(interner)?);
    let event = decode_event(&mut from, kind, interner)?;
    from.end()?;
    Ok(Entry { seq, at, actor, event })
}

fn decode_event(from: &mut Reader<'_>, kind: u8, interner: &mut Interner) -> Result<Event, Malformed> {
    Ok(match kind {
        1 => Event::OfferCreated { offer: from.offer(interner)? },
        2 => Event::OfferAmended { offer: from.offer_id(interner)?, amendment: from.amendment()? },
        3 => Event::UnitsBlocked { offer: from.offer_id(interner)?, units: from.list(Reader::u32)? },
        4 => Event::UnitsUnblocked { offer: from.offer_id(interner)?, units: from.list(Reader::u32)? },
        5 => Event::HoldPlaced(decode_placed(from, interner)?),
        6 => Event::HoldExtended { hold: from.hold_id()?, expires_at: from.moment()? },
        7 => Event::HoldReleased { hold: from.hold_id()? },
        8 => Event::HoldExpired { hold: from.hold_id()? },
        9 => Event::BookingConfirmed { booking: from.booking_id()?, hold: from.hold_id()? },
        10 => Event::BookingCancelled { booking: from.booking_id()? },
        11 => Event::PaymentBegun(decode_begun(from)?.into()),
        12..=21 => Event::Payment { booking: from.booking_id()?, event: decode_payment_event(from, kind)? },
        22 => Event::HoldLeft { hold: from.hold_id()?, expires_at: from.moment()? },
        23 => Event::HoldReturned { hold: from.hold_id()?, expires_at: from.moment()? },
        _ => return Err(from.fault("no such kind of entry")),
    })
}

fn decode_placed(from: &mut Reader<'_>, interner: &mut Interner) -> Result<Placed, Malformed> {
    Ok(Placed {
        hold: from.hold_id()?,
        holder: from.holder()?,
        lines: from.lines(interner)?,
        amount: from.money()?,
        currency: from.currency(interner)?,
        expires_at: from.moment()?,
        relaxed: from.list(Reader::relaxed)?,
    })
}

fn decode_begun(from: &mut Reader<'_>) -> Result<PaymentBegun, Malformed> {
    Ok(PaymentBegun {
        booking: from.booking_id()?,
        hold: from.hold_id()?,
        method: from.option(Reader::method)?,
        expires_at: from.moment()?,
        pinned_until: from.moment()?,
        due_at: from.moment()?,
    })
}

fn decode_payment_event(from: &mut Reader<'_>, kind: u8) -> Result<PaymentEvent, Malformed> {
    Ok(match kind {
        12 => PaymentEvent::IntentNoted { intent: from.intent()?, due_at: from.moment()? },
        13 => {
            let to: PaymentState = from.payment_state()?;
            PaymentEvent::Moved { to, due_at: from.moment()? }
        }
        14 => PaymentEvent::Deferred { due_at: from.moment()? },
        15 => PaymentEvent::Captured { amount: from.money()? },
        16 => PaymentEvent::Failed { why: from.reason()? },
        17 => PaymentEvent::BookingFailed { why: from.reason()? },
        18 => PaymentEvent::Retaken,
        19 => PaymentEvent::RefundBegun { due_at: from.moment()? },
        20 => PaymentEvent::Refunded,
        21 => PaymentEvent::Parked { captured: from.money()?, why: from.reason()? },
        _ => return Err(from.fault("no such kind of entry")),
    })
}
