//! The feed of changed units, for the live map. Collected only while somebody listens.

use std::collections::HashMap;

use holdfast_domain::{Event, Kind, Line, Moment, OfferId, State, UnitNo, Version};

use crate::ledger::Change;

/// Where every offer of seats stands in books that were read anew, for whoever followed the ones before.
pub(super) fn standing(state: &State) -> Vec<Change> {
    let seats = state.offers().filter(|offer| offer.offer().kind() == Kind::Seats);
    seats.map(|offer| Change::stands(offer.offer().id().clone(), offer.version())).collect()
}

/// The seats that a batch touches, by offer, with the version each offer had before.
#[derive(Debug, Default)]
pub(super) struct Touched(HashMap<OfferId, (Version, Vec<UnitNo>)>);

impl Touched {
    /// Call before the event is applied, while the offer still has its old version.
    pub(super) fn note(&mut self, state: &State, event: &Event) {
        match event {
            Event::OfferCreated { .. } => {}
            Event::OfferAmended { offer, .. } => self.touch(state, offer, []),
            Event::UnitsBlocked { offer, units } | Event::UnitsUnblocked { offer, units } => {
                self.touch(state, offer, units.iter().copied());
            }
            Event::HoldPlaced(placed) => self.touch_lines(state, &placed.lines),
            Event::HoldExtended { hold, .. }
            | Event::HoldLeft { hold, .. }
            | Event::HoldReturned { hold, .. }
            | Event::HoldReleased { hold }
            | Event::HoldExpired { hold }
            | Event::BookingConfirmed { hold, .. } => {
                if let Some(hold) = state.hold(*hold, Moment::MIN) {
                    self.touch_lines(state, &hold.lines);
                }
            }
            Event::PaymentBegun(begun) => {
                if let Some(hold) = state.hold(begun.hold, Moment::MIN) {
                    self.touch_lines(state, &hold.lines);
                }
            }
            Event::BookingCancelled { booking } | Event::Payment { booking, .. } => {
                if let Some(booking) = state.booking(*booking) {
                    self.touch_lines(state, &booking.lines);
                }
            }
        }
    }

    fn touch_lines(&mut self, state: &State, lines: &[Line]) {
        lines.iter().for_each(|line| self.touch(state, &line.offer, line.units()));
    }

    fn touch(&mut self, state: &State, id: &OfferId, units: impl IntoIterator<Item = UnitNo>) {
        let Some(offer) = state.offer(id).filter(|offer| offer.offer().kind() == Kind::Seats) else { return };
        let touched = self.0.entry(id.clone()).or_insert_with(|| (offer.version(), Vec::new()));
        touched.1.extend(units);
    }

    /// What the batch came to, once it is committed. An offer whose version moved but no seat did still has its
    /// change, so that versions follow each other without a gap.
    pub(super) fn changes(self, state: &State) -> Vec<Change> {
        let change = |(id, (from, mut units)): (OfferId, (Version, Vec<UnitNo>))| {
            let offer = state.offer(&id)?;
            units.sort_unstable();
            units.dedup();
            let units = units.into_iter().map(|unit| (unit, offer.unit_state(unit))).collect();
            Some(Change { to: offer.version(), offer: id, from, units })
        };
        self.0.into_iter().filter_map(change).collect()
    }
}
