//! What an entry is about, in the names that people know.

use holdfast_domain::{BookingId, Event, HoldId, Line, Moment, OfferId, PaymentEvent, State, UnitNo};

/// The offers, units, hold and booking of an entry, and what it turned them from and into.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct About {
    /// Every offer concerned, the first one first.
    pub(super) offers: Vec<OfferId>,
    /// Every unit concerned: an index into `offers`, and the unit's key.
    pub(super) units: Vec<(usize, String)>,
    pub(super) hold: Option<HoldId>,
    pub(super) booking: Option<BookingId>,
    pub(super) before: Option<&'static str>,
    pub(super) after: Option<&'static str>,
}

/// Describes an event. `state` may be ahead of it: what is taken from there never changes, the lines of a hold and
/// the names of an offer's units.
pub(super) fn about(state: &State, event: &Event) -> About {
    match event {
        Event::OfferCreated { offer } => About { after: Some("on_sale"), ..of_offer(offer.id()) },
        Event::OfferAmended { offer, .. } => of_offer(offer).turning("on_sale", "on_sale"),
        Event::UnitsBlocked { offer, units } => {
            of_offer(offer).naming(state, 0, units.iter().copied()).turning("available", "blocked")
        }
        Event::UnitsUnblocked { offer, units } => {
            of_offer(offer).naming(state, 0, units.iter().copied()).turning("blocked", "available")
        }
        Event::HoldPlaced(placed) => {
            let about = About { hold: Some(placed.hold), ..of_lines(state, &placed.lines) };
            about.turning("available", "held")
        }
        Event::HoldExtended { hold, .. }
        | Event::HoldLeft { hold, .. }
        | Event::HoldReturned { hold, .. } => of_hold(state, *hold).turning("held", "held"),
        Event::HoldReleased { hold } | Event::HoldExpired { hold } => {
            of_hold(state, *hold).turning("held", "available")
        }
        Event::BookingConfirmed { booking, hold } => {
            About { booking: Some(*booking), ..of_hold(state, *hold) }.turning("held", "booked")
        }
        Event::BookingCancelled { booking } => of_booking(state, *booking).turning("booked", "available"),
        Event::PaymentBegun(begun) => {
            About { booking: Some(begun.booking), ..of_hold(state, begun.hold) }.turning("held", "held")
        }
        Event::Payment { booking, event: PaymentEvent::Retaken } => {
            of_booking(state, *booking).turning("available", "booked")
        }
        Event::Payment { booking, event } => About { after: after(event), ..of_booking(state, *booking) },
    }
}

/// What became of the payment, in one word.
const fn after(event: &PaymentEvent) -> Option<&'static str> {
    match event {
        PaymentEvent::IntentNoted { .. } | PaymentEvent::Deferred { .. } => None,
        PaymentEvent::Moved { to, .. } => Some(to.as_str()),
        PaymentEvent::Captured { .. } => Some("succeeded"),
        PaymentEvent::Failed { .. } | PaymentEvent::BookingFailed { .. } => Some("failed"),
        PaymentEvent::Retaken => Some("booked"),
        PaymentEvent::RefundBegun { .. } => Some("refunding"),
        PaymentEvent::Refunded => Some("refunded"),
        PaymentEvent::Parked { .. } => Some("manual"),
    }
}

impl About {
    fn turning(mut self, before: &'static str, after: &'static str) -> Self {
        (self.before, self.after) = (Some(before), Some(after));
        self
    }

    fn naming(mut self, state: &State, offer: usize, units: impl Iterator<Item = UnitNo>) -> Self {
        if let Some(at) = state.offer(&self.offers[offer]) {
            self.units.extend(units.map(|unit| (offer, at.offer().key(unit))));
        }
        self
    }

    /// The keys of all units, with a space between them: no key has one inside.
    pub(super) fn unit_keys(&self) -> String {
        let keys: Vec<&str> = self.units.iter().map(|(_, key)| key.as_str()).collect();
        keys.join(" ")
    }
}

fn of_offer(offer: &OfferId) -> About {
    About { offers: vec![offer.clone()], ..About::default() }
}

fn of_lines(state: &State, lines: &[Line]) -> About {
    lines.iter().fold(About::default(), |mut about, line| {
        let offer = about.offers.iter().position(|offer| *offer == line.offer).unwrap_or_else(|| {
            about.offers.push(line.offer.clone());
            about.offers.len() - 1
        });
        about.naming(state, offer, line.units())
    })
}

fn of_hold(state: &State, id: HoldId) -> About {
    let about = state.hold(id, Moment::MIN).map(|hold| of_lines(state, &hold.lines));
    About { hold: Some(id), ..about.unwrap_or_default() }
}

fn of_booking(state: &State, id: BookingId) -> About {
    let about = state
        .booking(id)
        .map(|booking| About { hold: Some(booking.hold), ..of_lines(state, &booking.lines) });
    About { booking: Some(id), ..about.unwrap_or_default() }
}
