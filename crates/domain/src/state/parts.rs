//! A state as its parts, and back: what a checkpoint keeps, and what history adds to it.

use std::sync::Arc;

use super::{OfferState, State, Units, recorded_end};
use crate::{
    apply::absorb,
    event::Event,
    hold::{Booking, Hold, MEMORY_MS, Version},
    offer::{Offer, UnitNo},
    time::Moment,
};

/// All that must be kept to rebuild a [`State`]: the rest is sums.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    pub version: Version,
    pub offers: Vec<OfferPart>,
    /// In the order in which they last changed.
    pub holds: Vec<Hold>,
    pub bookings: Vec<Booking>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OfferPart {
    pub offer: Arc<Offer>,
    pub created_at: Moment,
    pub version: Version,
    pub blocked: Vec<UnitNo>,
}

/// One of the parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Offer(OfferPart),
    Hold(Box<Hold>),
    Booking(Box<Booking>),
}

/// A state in the making: parts and then history are put in, and only at the end is everything summed up, once.
/// Nothing can be decided on it before that.
#[derive(Debug, Default)]
pub struct Fold(State);

impl Fold {
    pub fn new() -> Self {
        Self(State { sums_wait: true, ..State::default() })
    }

    pub fn of(parts: Parts) -> Self {
        let mut fold = Self::new();
        fold.begin_at(parts.version);
        parts.offers.into_iter().for_each(|offer| fold.put(Part::Offer(offer)));
        parts.holds.into_iter().for_each(|hold| fold.put(Part::Hold(hold.into())));
        parts.bookings.into_iter().for_each(|booking| fold.put(Part::Booking(booking.into())));
        fold
    }

    pub fn version(&self) -> Version {
        self.0.version
    }

    /// Makes room for so many more holds.
    pub fn expect_holds(&mut self, count: usize) {
        self.0.holds.reserve(count);
    }

    /// Says where in the journal the parts stand.
    pub fn begin_at(&mut self, version: Version) {
        self.0.version = version;
    }

    pub fn put(&mut self, part: Part) {
        let state = &mut self.0;
        match part {
            Part::Offer(OfferPart { offer, created_at, version, blocked }) => {
                let id = offer.id().clone();
                let mut offer = OfferState::new(offer, created_at, version);
                blocked.into_iter().for_each(|unit| offer.change(unit, |unit| unit.blocked = true));
                state.listing.push(id.clone());
                state.offers.insert(id, offer);
            }
            Part::Hold(hold) => {
                state.holds.insert(hold.id, hold);
            }
            Part::Booking(booking) => {
                state.bookings.insert(booking.id, booking);
            }
        }
    }

    /// The next entry of the journal.
    pub fn add(&mut self, event: Event, at: Moment) {
        absorb(&mut self.0, event, at);
    }

    /// The parts without the ended holds that nobody may ask for any more at `now`.
    pub fn parts(&self, now: Moment) -> Parts {
        let forgotten = |hold: &Hold| recorded_end(hold).is_some_and(|at| now.ms_since(at) >= MEMORY_MS);
        self.0.parts_without(forgotten)
    }

    /// The state that it all adds up to.
    pub fn finish(mut self) -> State {
        self.0.sum_up();
        self.0
    }
}

impl State {
    pub fn parts(&self) -> Parts {
        self.parts_without(|_| false)
    }

    fn parts_without(&self, forgotten: impl Fn(&Hold) -> bool) -> Parts {
        let part = |at: &OfferState| OfferPart {
            offer: at.offer.clone(),
            created_at: at.created_at,
            version: at.version,
            blocked: at.blocked_units(),
        };
        let mut parts = Parts {
            version: self.version,
            offers: self.offers().map(part).collect(),
            holds: self.holds().filter(|hold| !forgotten(hold)).cloned().collect(),
            bookings: self.bookings().cloned().collect(),
        };
        parts.holds.sort_unstable_by_key(|hold| (hold.version, hold.id));
        parts.bookings.sort_unstable_by_key(|booking| booking.id);
        parts
    }

    /// The state that these offers, holds and bookings add up to.
    pub fn from_parts(parts: Parts) -> Self {
        Fold::of(parts).finish()
    }
}

impl OfferState {
    pub fn blocked_units(&self) -> Vec<UnitNo> {
        match &self.units {
            Units::Dense(units) => {
                (0..).zip(units).filter(|(_, unit)| unit.blocked).map(|(at, _)| at).collect()
            }
            Units::Sparse(cells) => {
                cells.iter().filter(|(_, unit)| unit.blocked).map(|(&at, _)| at).collect()
            }
        }
    }
}
