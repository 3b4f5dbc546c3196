//! A journal entry as bytes.
//!
//! ```text
//! version  kind  seq  at  actor  what the kind needs
//! ```

use holdfast_domain::{Actor, Entry, Event, Moment, Placed};

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
        Event::HoldExtended { hold, expires_at } => {
            to.bits128(hold.bits());
            to.moment(*expires_at);
        }
        Event::HoldReleased { hold } | Event::HoldExpired { hold } => to.bits128(hold.bits()),
        Event::BookingConfirmed { booking, hold } => {
            to.bits128(booking.bits());
            to.bits128(hold.bits());
        }
        Event::BookingCancelled { booking } => to.bits128(booking.bits()),
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
