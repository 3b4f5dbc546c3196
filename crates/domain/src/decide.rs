//! Deciding: what a command would change, or why it may not. The only place that says yes or no.
//!
//! Each function is a ladder of early returns in the order of [`Refusal`]'s precedence. A hold past its expiry
//! never stands in the way: the winner's decision begins by writing down the expiry of the holds it displaces.

mod pay;
mod place;
mod vacant;

pub use place::named_line;

use std::{collections::HashSet, sync::Arc};

use crate::{
    command::{Actor, Command},
    event::Event,
    hold::{Booking, BookingState, Hold, HoldState, MAX_EXTENSIONS},
    ids::{BookingId, HoldId, OfferId},
    offer::{Amendment, UnitNo},
    refusal::{Conflict, InTheWay, Limit, Refusal},
    state::{OfferState, State},
    time::Moment,
};

/// A yes: what happens, and what the answer is about. No events means that it was so already.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub events: Vec<Event>,
    pub subject: Subject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Offer(OfferId),
    Hold(HoldId),
    Booking(BookingId),
    Nothing,
}

impl Subject {
    fn with(self, events: Vec<Event>) -> Decision {
        Decision { events, subject: self }
    }

    fn unchanged(self) -> Decision {
        self.with(Vec::new())
    }
}

/// What `command`, asked by `actor` at `now`, changes in `state`; or the first reason why it may not.
pub fn decide(state: &State, command: &Command, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    match command {
        Command::CreateOffer { offer } => {
            match state.offer(offer.id()) {
                Some(_) => Err(Refusal::OfferExists { offer: offer.id().clone() }),
                None => Ok(Subject::Offer(offer.id().clone())
                    .with(vec![Event::OfferCreated { offer: offer.clone() }])),
            }
        }
        Command::AmendOffer { offer, amendment } => amend(state, offer, amendment, now),
        Command::Block { offer, units } => block(state, offer, units, now),
        Command::Unblock { offer, units } => unblock(state, offer, units),
        Command::PlaceHold { hold, holder, asks } => place::place(state, *hold, holder, asks, now),
        Command::RecallHold { holder, asks, over } => place::recall(state, holder, asks, over.as_ref(), now),
        Command::ExtendHold { hold } => extend(state, *hold, actor, now),
        Command::ReleaseHold { hold } => release(state, *hold, actor, now),
        Command::LeaveHold { hold, keep_s } => leave(state, *hold, *keep_s, actor, now),
        Command::ReturnToHold { hold } => come_back(state, *hold, actor, now),
        Command::Confirm { booking, hold } => confirm(state, *booking, *hold, actor, now),
        Command::Cancel { booking } => cancel(state, *booking, actor, now),
        Command::Tidy { limit } => Ok(tidy(state, *limit, now)),
        _ => pay::pay(state, command, actor, now),
    }
}

fn known<'a>(state: &'a State, offer: &OfferId) -> Result<&'a OfferState, Refusal> {
    state.offer(offer).ok_or_else(|| Refusal::UnknownOffer { offer: offer.clone() })
}

fn amend(state: &State, id: &OfferId, amendment: &Amendment, now: Moment) -> Result<Decision, Refusal> {
    let offer = known(state, id)?;
    let amended = offer.offer().amended(amendment)?;
    let mut displaced = Displaced::default();
    let sold_past = |unit: &UnitNo| !displaced.shrink(offer, *unit, amended.capacity(*unit), now);
    let mut resized = amendment.capacities.iter().filter_map(|(key, _)| amended.find(key));
    if let Some(unit) = resized.find(sold_past) {
        return Err(in_conflict(vec![in_the_way(offer, unit, now)]));
    }
    let mut events = displaced.events();
    events.push(Event::OfferAmended { offer: id.clone(), amendment: amendment.clone() });
    Ok(Subject::Offer(id.clone()).with(events))
}

fn in_conflict(conflicts: Vec<InTheWay>) -> Refusal {
    Refusal::UnitTaken(Arc::new(Conflict { conflicts, alternatives: vec![] }))
}

fn units_named(offer: &OfferState, keys: &[String]) -> Result<Vec<UnitNo>, Refusal> {
    let id = offer.offer().id();
    let find = |key: &String| {
        offer.offer().find(key).ok_or_else(|| Refusal::UnknownUnit { offer: id.clone(), unit: key.clone() })
    };
    let mut units = keys.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    units.sort_unstable();
    units.dedup();
    Ok(units)
}

/// Stops the sale of what is left of each unit. One that is wholly claimed has nothing left to stop, and an
/// organiser who believes otherwise should hear so.
fn block(state: &State, id: &OfferId, keys: &[String], now: Moment) -> Result<Decision, Refusal> {
    let offer = known(state, id)?;
    let mut units = units_named(offer, keys)?;
    units.retain(|&unit| !offer.unit(unit).blocked);
    let mut displaced = Displaced::default();
    let taken = |unit: &UnitNo| !displaced.make_room(offer, *unit, 1, now);
    let conflicts: Vec<_> =
        units.iter().copied().filter(taken).map(|unit| in_the_way(offer, unit, now)).collect();
    if !conflicts.is_empty() {
        return Err(in_conflict(conflicts));
    }
    let mut events = displaced.events();
    if !units.is_empty() {
        events.push(Event::UnitsBlocked { offer: id.clone(), units });
    }
    Ok(Subject::Offer(id.clone()).with(events))
}

fn unblock(state: &State, id: &OfferId, keys: &[String]) -> Result<Decision, Refusal> {
    let offer = known(state, id)?;
    let mut units = units_named(offer, keys)?;
    units.retain(|&unit| offer.unit(unit).blocked);
    let subject = Subject::Offer(id.clone());
    if units.is_empty() {
        return Ok(subject.unchanged());
    }
    Ok(subject.with(vec![Event::UnitsUnblocked { offer: id.clone(), units }]))
}

fn owned<'a>(state: &'a State, hold: HoldId, actor: &Actor, now: Moment) -> Result<&'a Hold, Refusal> {
    // Another's hold is the same "unknown" as one that never was.
    state.hold(hold, now).filter(|hold| actor.may_touch(&hold.holder)).ok_or(Refusal::UnknownHold)
}

/// The hold, if it can still become something else; otherwise what it has become.
fn live(hold: &Hold, now: Moment) -> Result<&Hold, Refusal> {
    match hold.state {
        HoldState::Released { .. } => Err(Refusal::HoldReleased),
        HoldState::Expired { .. } => Err(Refusal::HoldExpired),
        HoldState::Booked { booking } => Err(Refusal::AlreadyBooked { booking }),
        HoldState::Active | HoldState::Paying { .. } if !hold.is_live(now) => Err(Refusal::HoldExpired),
        // Whoever wants it back cancels the booking that is being paid.
        HoldState::Paying { booking, .. } => Err(Refusal::AlreadyBooked { booking }),
        HoldState::Active => Ok(hold),
    }
}

fn extend(state: &State, id: HoldId, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    let hold = live(owned(state, id, actor, now)?, now)?;
    if hold.extensions >= MAX_EXTENSIONS {
        return Err(Refusal::LimitReached(Limit::Extensions { limit: MAX_EXTENSIONS }));
    }
    let ttls = hold.lines.iter().map(|line| state.offers[&line.offer].offer().def().hold_ttl_s);
    let expires_at = now.plus_s(ttls.min().expect("a hold has lines"));
    // A shorter TTL since the hold was placed must not take time away from whoever asks for more.
    let expires_at = expires_at.max(hold.own_end());
    Ok(Subject::Hold(id).with(vec![Event::HoldExtended { hold: id, expires_at }]))
}

/// Never later than before: whoever leaves again gains nothing, and one that is being paid is not let go of.
fn leave(state: &State, id: HoldId, keep_s: u32, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    let hold = owned(state, id, actor, now)?;
    let expires_at = now.plus_s(keep_s);
    match live(hold, now) {
        Ok(hold) if expires_at < hold.expires_at => {
            Ok(Subject::Hold(id).with(vec![Event::HoldLeft { hold: id, expires_at }]))
        }
        Ok(_) | Err(Refusal::AlreadyBooked { .. }) => Ok(Subject::Hold(id).unchanged()),
        Err(refusal) => Err(refusal),
    }
}

fn come_back(state: &State, id: HoldId, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    let hold = owned(state, id, actor, now)?;
    match live(hold, now) {
        Ok(Hold { returns_to: Some(expires_at), .. }) => {
            let expires_at = *expires_at;
            Ok(Subject::Hold(id).with(vec![Event::HoldReturned { hold: id, expires_at }]))
        }
        Ok(_) | Err(Refusal::AlreadyBooked { .. }) => Ok(Subject::Hold(id).unchanged()),
        Err(refusal) => Err(refusal),
    }
}

/// Repeatable: giving back what is already given back changes nothing.
fn release(state: &State, id: HoldId, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    let hold = owned(state, id, actor, now)?;
    match live(hold, now) {
        Ok(_) => Ok(Subject::Hold(id).with(vec![Event::HoldReleased { hold: id }])),
        Err(Refusal::HoldReleased | Refusal::HoldExpired) => Ok(Subject::Hold(id).unchanged()),
        Err(refusal) => Err(refusal),
    }
}

fn confirm(
    state: &State,
    booking: BookingId,
    id: HoldId,
    actor: &Actor,
    now: Moment,
) -> Result<Decision, Refusal> {
    live(owned(state, id, actor, now)?, now)?;
    Ok(Subject::Booking(booking).with(vec![Event::BookingConfirmed { booking, hold: id }]))
}

/// What was paid goes back; what is still being paid is called off, and goes back should it come in after all.
fn cancel(state: &State, id: BookingId, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    let booking = owned_booking(state, id, actor)?;
    let mut events = vec![Event::BookingCancelled { booking: id }];
    match booking.state {
        BookingState::Cancelled { .. } => events.clear(),
        BookingState::Failed { .. } => return Err(Refusal::NotCancellable { booking: id }),
        BookingState::Pending | BookingState::Confirmed => events.extend(pay::refund_if_paid(booking, now)),
    }
    Ok(Subject::Booking(id).with(events))
}

fn owned_booking<'a>(state: &'a State, id: BookingId, actor: &Actor) -> Result<&'a Booking, Refusal> {
    let own = |booking: &&Booking| actor.may_touch(&booking.holder);
    state.booking(id).filter(own).ok_or(Refusal::UnknownBooking)
}

fn tidy(state: &State, limit: usize, now: Moment) -> Decision {
    let overdue = state.due.iter().take_while(|&&(at, _)| at <= now).take(limit);
    Subject::Nothing.with(overdue.map(|&(_, hold)| Event::HoldExpired { hold }).collect())
}

fn in_the_way(offer: &OfferState, unit: UnitNo, now: Moment) -> InTheWay {
    InTheWay {
        offer: offer.offer().id().clone(),
        unit: offer.offer().key(unit),
        state: offer.unit_as_of(unit, now).state(offer.offer().capacity(unit)),
    }
}

/// Holds whose time is up and whose units somebody wants: the decision starts by ending them.
#[derive(Debug, Default)]
struct Displaced {
    in_order: Vec<HoldId>,
    seen: HashSet<HoldId>,
}

impl Displaced {
    /// Ends a hold whose time is up, whether or not its units are needed.
    fn end(&mut self, hold: HoldId) {
        if self.seen.insert(hold) {
            self.in_order.push(hold);
        }
    }

    /// Whether `qty` of the unit can be had once expired holds are out of the way; notes which ones those are.
    /// Looks at no more of them than it needs, so a million overdue holds cost nobody anything.
    fn make_room(&mut self, offer: &OfferState, unit: UnitNo, qty: u32, now: Moment) -> bool {
        let at = offer.unit(unit);
        if at.blocked {
            return false;
        }
        self.free(offer, unit, at.remaining(offer.offer().capacity(unit)), qty, now)
    }

    /// Whether what is claimed of the unit fits a capacity of `capacity`, expired holds out of the way.
    fn shrink(&mut self, offer: &OfferState, unit: UnitNo, capacity: u32, now: Moment) -> bool {
        let at = offer.unit(unit);
        let too_many = (at.held + at.booked).saturating_sub(capacity);
        self.free(offer, unit, 0, too_many, now)
    }

    fn free(&mut self, offer: &OfferState, unit: UnitNo, mut room: u32, qty: u32, now: Moment) -> bool {
        let noted = self.in_order.len();
        for (expires_at, hold, held) in offer.claims_on(unit) {
            if room >= qty || expires_at > now {
                break;
            }
            room += held;
            if self.seen.insert(hold) {
                self.in_order.push(hold);
            }
        }
        if room < qty {
            self.in_order.drain(noted..).for_each(|hold| {
                self.seen.remove(&hold);
            });
        }
        room >= qty
    }

    fn events(self) -> Vec<Event> {
        self.in_order.into_iter().map(|hold| Event::HoldExpired { hold }).collect()
    }
}
