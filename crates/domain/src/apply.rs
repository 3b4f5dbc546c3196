//! Folding the journal: one event, one change. Never refuses, never decides.
//!
//! An event that does not fit the state is a corrupt journal, not a case to handle, so the lookups here
//! panic; recovery runs the fold behind a check of the hash chain.

use std::sync::Arc;

use crate::{
    event::{Event, PaymentBegun, PaymentEvent, Placed},
    hold::{Booking, BookingState, Hold, Version},
    ids::{BookingId, HoldId, OfferId},
    state::{OfferState, State},
    time::Moment,
};

/// Changes the state by what happened at `at`, the next entry of the journal.
pub fn apply(state: &mut State, event: &Event, at: Moment) {
    absorb(state, event.clone(), at);
}

/// The same with an event that nobody needs any more.
pub fn absorb(state: &mut State, event: Event, at: Moment) {
    let version = Version(state.version.0 + 1);
    absorb_as(state, event, at, version);
}

/// Changes the state by what happened at `at`, an entry with its own number. For books that are kept offer by
/// offer: there a version only has to grow with every entry of the same offer.
pub fn apply_as(state: &mut State, event: &Event, at: Moment, version: Version) {
    absorb_as(state, event.clone(), at, version);
}

fn absorb_as(state: &mut State, event: Event, at: Moment, version: Version) {
    state.version = version;
    match event {
        Event::OfferCreated { offer } => {
            let id = offer.id().clone();
            state.listing.push(id.clone());
            state.offers.insert(id, OfferState::new(offer, at, state.version));
        }
        Event::OfferAmended { offer, amendment } => {
            let offer = touched(state, &offer);
            let amended = offer.offer.amended(&amendment).expect("a journalled amendment was checked");
            offer.offer = Arc::new(amended);
            offer.recount();
        }
        Event::UnitsBlocked { offer, units } => {
            let offer = touched(state, &offer);
            units.into_iter().for_each(|unit| offer.change(unit, |unit| unit.blocked = true));
        }
        Event::UnitsUnblocked { offer, units } => {
            let offer = touched(state, &offer);
            units.into_iter().for_each(|unit| offer.change(unit, |unit| unit.blocked = false));
        }
        Event::HoldPlaced(placed) => place(state, placed),
        Event::HoldExtended { hold, expires_at } => keep(state, hold, |hold| hold.extend(expires_at)),
        Event::HoldLeft { hold, expires_at } => keep(state, hold, |hold| hold.leave(expires_at)),
        Event::HoldReturned { hold, expires_at } => keep(state, hold, |hold| hold.come_back(expires_at)),
        Event::HoldReleased { hold } => end(state, hold, at, |hold| hold.release(at)),
        Event::HoldExpired { hold } => end(state, hold, at, |hold| hold.expire(at)),
        Event::BookingConfirmed { booking, hold } => confirm(state, booking, hold, at),
        Event::BookingCancelled { booking } => cancel(state, booking, at),
        Event::PaymentBegun(begun) => begin_payment(state, &begun, at),
        Event::Payment { booking, event } => payment(state, booking, &event, at),
    }
}

fn place(state: &mut State, placed: Placed) {
    let hold = Box::new(Hold::placed(placed, state.version));
    state.add_held(&hold);
    touch_offers_of(state, &hold);
    state.holds.insert(hold.id, hold);
}

/// Takes the hold out of the sums and of the map; the caller changes it and puts it back.
fn lift(state: &mut State, hold: HoldId) -> Box<Hold> {
    let mut hold = state.holds.remove(&hold).expect("a journalled hold exists");
    state.remove_held(&hold);
    touch_offers_of(state, &hold);
    hold.version = state.version;
    hold
}

/// Changes when a hold ends, which it does not do yet.
fn keep(state: &mut State, id: HoldId, change: impl FnOnce(&mut Hold)) {
    let mut hold = lift(state, id);
    change(&mut hold);
    state.add_held(&hold);
    state.holds.insert(id, hold);
}

fn end(state: &mut State, id: HoldId, at: Moment, end: impl FnOnce(&mut Hold)) {
    let mut hold = lift(state, id);
    end(&mut hold);
    state.add_ended(id, at);
    state.holds.insert(id, hold);
}

fn confirm(state: &mut State, booking: BookingId, id: HoldId, at: Moment) {
    let mut hold = lift(state, id);
    state.add_booked(booking, &hold.holder, &hold.lines);
    let mut made = hold.book(booking, at);
    // A booking that was paid for has been there since its payment began.
    if let Some(pending) = state.bookings.remove(&booking) {
        made = Booking { payment: pending.payment, created_at: pending.created_at, ..made };
    }
    state.bookings.insert(booking, Box::new(made));
    state.holds.insert(id, hold);
}

fn cancel(state: &mut State, id: BookingId, at: Moment) {
    let mut booking = take_booking(state, id);
    match booking.state {
        BookingState::Confirmed => state.remove_booked(id, &booking.holder, &booking.lines),
        _ => let_go(state, &booking, true, at),
    }
    booking.cancel(at);
    put_booking(state, booking);
}

fn begin_payment(state: &mut State, begun: &PaymentBegun, at: Moment) {
    let mut hold = lift(state, begun.hold);
    let booking = hold.pay(begun, at);
    state.add_held(&hold);
    state.holds.insert(begun.hold, hold);
    put_booking(state, Box::new(booking));
}

fn payment(state: &mut State, id: BookingId, event: &PaymentEvent, at: Moment) {
    let mut booking = take_booking(state, id);
    match event {
        PaymentEvent::BookingFailed { .. } => let_go(state, &booking, false, at),
        PaymentEvent::Retaken => state.add_booked(id, &booking.holder, &booking.lines),
        _ => {}
    }
    booking.follow(event, at);
    put_booking(state, booking);
}

/// Takes a booking out of the map and of the due work; the caller changes it and puts it back.
fn take_booking(state: &mut State, id: BookingId) -> Box<Booking> {
    let mut booking = state.bookings.remove(&id).expect("a journalled booking exists");
    state.remove_due(&booking);
    booking.version = state.version;
    booking
}

fn put_booking(state: &mut State, booking: Box<Booking>) {
    for line in booking.lines.iter() {
        touched(state, &line.offer);
    }
    state.add_due(&booking);
    state.bookings.insert(booking.id, booking);
}

/// Lets go of the hold that this booking pins, if it does.
fn let_go(state: &mut State, booking: &Booking, given_back: bool, at: Moment) {
    if !state.holds.get(&booking.hold).is_some_and(|hold| hold.is_paid_by(booking.id)) {
        return;
    }
    let mut hold = lift(state, booking.hold);
    hold.unpin(given_back, at);
    match hold.is_open() {
        true => state.add_held(&hold),
        false => state.add_ended(hold.id, at),
    }
    state.holds.insert(hold.id, hold);
}

/// The offer, marked as changed by this entry.
fn touched<'a>(state: &'a mut State, offer: &OfferId) -> &'a mut OfferState {
    let version = state.version;
    let offer = state.offers.get_mut(offer).expect("a journalled offer exists");
    offer.version = version;
    offer
}

fn touch_offers_of(state: &mut State, hold: &Hold) {
    for line in hold.lines.iter() {
        touched(state, &line.offer);
    }
}
