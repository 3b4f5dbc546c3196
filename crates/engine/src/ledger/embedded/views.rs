//! What the books show of themselves: views of offers, holds and bookings, and snapshots of units.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::{Booking, Hold, Kind, Line, Moment, Offer, OfferId, OfferState, State, Unit, Version};

use crate::ledger::{BookingView, Cells, HoldView, OfferView, Snapshot, SnapshotUnits};

pub(in crate::ledger) fn offer_view(at: &OfferState) -> OfferView {
    OfferView {
        offer: Arc::clone(at.offer()),
        created_at: at.created_at(),
        version: at.version(),
        counts: at.counts(),
    }
}

pub(in crate::ledger) fn hold_view(state: &State, hold: &Hold, at: Moment) -> HoldView {
    HoldView { hold: hold.clone(), offers: offers_of(state, &hold.lines), at }
}

pub(in crate::ledger) fn booking_view(state: &State, booking: &Booking, at: Moment) -> BookingView {
    BookingView { booking: booking.clone(), offers: offers_of(state, &booking.lines), at }
}

/// The offers of these lines, each once.
fn offers_of(state: &State, lines: &[Line]) -> Vec<Arc<Offer>> {
    let mut offers: Vec<Arc<Offer>> = Vec::with_capacity(1);
    for line in lines {
        if !offers.iter().any(|offer| *offer.id() == line.offer) {
            offers.extend(state.offer(&line.offer).map(|at| Arc::clone(at.offer())));
        }
    }
    offers
}

/// The last snapshot of each offer, shared by everybody who reads that version.
#[derive(Debug, Default)]
pub(in crate::ledger) struct Snapshots(HashMap<OfferId, (Version, Arc<[Unit]>)>);

impl Snapshots {
    /// Beyond this many offers, start over: a snapshot is quick to make again.
    const MAX_OFFERS: usize = 1024;

    pub(in crate::ledger) fn take(&mut self, at: &OfferState, cells: Option<Cells>, now: Moment) -> Snapshot {
        let units = match at.offer().kind() {
            Kind::Slots => SnapshotUnits::Cells(at.cells(cells.unwrap_or(0..u32::MAX)).collect()),
            Kind::Seats | Kind::Stock => SnapshotUnits::Dense(self.dense(at)),
        };
        Snapshot {
            offer: Arc::clone(at.offer()),
            version: at.version(),
            as_of: now,
            counts: at.counts(),
            units,
        }
    }

    fn dense(&mut self, at: &OfferState) -> Arc<[Unit]> {
        let id = at.offer().id();
        if let Some((version, units)) = self.0.get(id)
            && *version == at.version()
        {
            return Arc::clone(units);
        }
        if self.0.len() >= Self::MAX_OFFERS {
            self.0.clear();
        }
        let units: Arc<[Unit]> = at.dense().into();
        self.0.insert(id.clone(), (at.version(), Arc::clone(&units)));
        units
    }
}
