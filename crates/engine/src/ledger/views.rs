//! What the books show of themselves: views of offers, holds and bookings, snapshots of units, and what came of a
//! command. Told from the model's state, so that every ledger tells it alike.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::{
    Booking, Command, Hold, Invalid, Kind, Line, Moment, Offer, OfferId, OfferState, State, Subject, Unit,
    Version,
};

use super::{BookingView, Cells, HoldView, LedgerError, OfferView, Outcome, Page, Snapshot, SnapshotUnits};
use crate::gate::{Claim, OfferClaims};

pub(super) fn offer_view(at: &OfferState) -> OfferView {
    OfferView {
        offer: Arc::clone(at.offer()),
        created_at: at.created_at(),
        version: at.version(),
        counts: at.counts(),
    }
}

pub(super) fn hold_view(state: &State, hold: &Hold, at: Moment) -> HoldView {
    HoldView { hold: hold.clone(), offers: offers_of(state, &hold.lines), at }
}

/// How many holds are looked at to find those of one offer: a glance, not a search.
const GLANCE: usize = 4_096;

pub(super) fn holds_ending(state: &State, offer: &OfferId, limit: usize, now: Moment) -> Vec<HoldView> {
    let of_offer = |hold: &&Hold| hold.is_live(now) && hold.lines.iter().any(|line| line.offer == *offer);
    let ending = state.holds_by_end().take(GLANCE).filter(of_offer).take(limit);
    ending.map(|hold| hold_view(state, hold, now)).collect()
}

pub(super) fn booking_view(state: &State, booking: &Booking, at: Moment) -> BookingView {
    BookingView { booking: booking.clone(), offers: offers_of(state, &booking.lines), at }
}

/// The offers of these lines, each once.
pub(super) fn offers_of(state: &State, lines: &[Line]) -> Vec<Arc<Offer>> {
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
pub(super) struct Snapshots(HashMap<OfferId, (Version, Arc<[Unit]>)>);

impl Snapshots {
    /// Beyond this many offers, start over: a snapshot is quick to make again.
    const MAX_OFFERS: usize = 1024;

    pub(super) fn take(&mut self, at: &OfferState, cells: Option<Cells>, now: Moment) -> Snapshot {
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

/// A page of the offers, in the order they were made.
pub(super) fn offers(
    state: &State,
    after: Option<&OfferId>,
    limit: usize,
) -> Result<Page<OfferView>, LedgerError> {
    if let Some(after) = after
        && state.offer(after).is_none()
    {
        return Err(Invalid::new("after", "must be the `next` of an earlier page").into());
    }
    let mut offers = state.offers();
    if let Some(after) = after {
        offers.find(|offer| offer.offer().id() == after);
    }
    let data: Vec<_> = offers.by_ref().take(limit).map(offer_view).collect();
    let more = offers.next().is_some();
    let next = data.last().filter(|_| more).map(|last| last.offer.id().to_string());
    Ok(Page { data, next })
}

/// What came of a command that was granted, as of now.
pub(super) fn outcome(
    state: &State,
    command: &Command,
    subject: Subject,
    events: usize,
    now: Moment,
) -> Outcome {
    match subject {
        Subject::Offer(id) => {
            let view = offer_view(state.offer(&id).expect("an offer just decided on exists"));
            match command {
                Command::CreateOffer { .. } => Outcome::OfferCreated(view),
                Command::Block { .. } => Outcome::Blocked(view),
                Command::Unblock { .. } => Outcome::Unblocked(view),
                _ => Outcome::OfferAmended(view),
            }
        }
        Subject::Hold(id) => {
            let hold = state.hold(id, Moment::MIN).expect("a hold just decided on exists");
            let view = hold_view(state, hold, now);
            match command {
                Command::ExtendHold { .. } => Outcome::Extended(view),
                Command::ReleaseHold { .. } => Outcome::Released(view),
                Command::LeaveHold { .. } => Outcome::Left(view),
                Command::ReturnToHold { .. } => Outcome::Returned(view),
                _ => Outcome::Held { hold: view, again: events == 0 },
            }
        }
        Subject::Booking(id) => {
            let booking = state.booking(id).expect("a booking just decided on exists");
            let view = booking_view(state, booking, now);
            of_booking(command, view, events)
        }
        Subject::Nothing => Outcome::Tidied { expired: events },
    }
}

/// What came of a command about a booking.
pub(super) fn of_booking(command: &Command, view: BookingView, events: usize) -> Outcome {
    match command {
        Command::Cancel { .. } => Outcome::Cancelled(view),
        Command::BeginPayment { .. } => Outcome::PaymentBegun(view),
        _ if command.of_payment().is_some() => Outcome::Payment { booking: view, changed: events > 0 },
        _ => Outcome::Confirmed(view),
    }
}

/// Everything that is claimed in an offer, for a gate. Looks at what is the offer's own: all others wait meanwhile.
pub(super) fn live_claims(state: &State, id: &OfferId, now: Moment) -> Option<OfferClaims> {
    let at = state.offer(id)?;
    let live = state.holds_of(at).filter(|hold| hold.is_live(now));
    let held = live
        .map(|hold| Claim::of(&hold.lines, id, hold.id, &hold.holder, Some(hold.ends_at()), hold.version));
    let booked = state
        .bookings_of(at)
        .map(|booking| Claim::of(&booking.lines, id, booking.hold, &booking.holder, None, booking.version));
    Some(OfferClaims {
        offer: Arc::clone(at.offer()),
        blocked: at.blocked_units(),
        claims: held.chain(booked).collect(),
    })
}
