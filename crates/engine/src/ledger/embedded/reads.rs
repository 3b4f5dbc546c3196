//! Questions that memory can answer. The writer answers them between two commits, so none ever shows what is
//! not durable.

use holdfast_domain::{BookingId, HoldId, Moment, OfferId, State};
use tokio::sync::oneshot;

use crate::{
    gate::OfferClaims,
    ledger::{
        BookingView, Cells, HoldView, LedgerError, OfferView, Page, Snapshot,
        views::{Snapshots, booking_view, hold_view, holds_ending, live_claims, offer_view, offers},
    },
};

pub(super) type Asker<T> = oneshot::Sender<Result<T, LedgerError>>;

#[derive(Debug)]
pub(super) enum Read {
    Offer(OfferId, Asker<Option<OfferView>>),
    Offers(Option<OfferId>, usize, Asker<Page<OfferView>>),
    Snapshot(OfferId, Option<Cells>, Asker<Option<Snapshot>>),
    Hold(HoldId, Asker<Option<HoldView>>),
    HoldsEnding(OfferId, usize, Asker<Vec<HoldView>>),
    Booking(BookingId, Asker<Option<BookingView>>),
    Bookings(Vec<BookingId>, Asker<Vec<BookingView>>),
    Claims(OfferId, Asker<Option<OfferClaims>>),
    PaymentsDue(usize, Asker<Vec<BookingView>>),
    PaymentsParked(Asker<usize>),
    /// To be told when the tables show everything that is committed now.
    TablesCaughtUp(Asker<()>),
}

impl Read {
    pub(super) fn refuse(self, why: LedgerError) {
        match self {
            Self::Offer(_, to) => tell(to, Err(why)),
            Self::Offers(_, _, to) => tell(to, Err(why)),
            Self::Snapshot(_, _, to) => tell(to, Err(why)),
            Self::Hold(_, to) => tell(to, Err(why)),
            Self::HoldsEnding(_, _, to) => tell(to, Err(why)),
            Self::Booking(_, to) => tell(to, Err(why)),
            Self::Bookings(_, to) => tell(to, Err(why)),
            Self::Claims(_, to) => tell(to, Err(why)),
            Self::PaymentsDue(_, to) => tell(to, Err(why)),
            Self::PaymentsParked(to) => tell(to, Err(why)),
            Self::TablesCaughtUp(to) => tell(to, Err(why)),
        }
    }

    /// Answers from memory; hands back who waits for the tables instead.
    pub(super) fn serve(self, state: &State, snapshots: &mut Snapshots, now: Moment) -> Option<Asker<()>> {
        match self {
            Self::Offer(id, to) => tell(to, Ok(state.offer(&id).map(offer_view))),
            Self::Offers(after, limit, to) => tell(to, offers(state, after.as_ref(), limit)),
            Self::Snapshot(id, cells, to) => {
                tell(to, Ok(state.offer(&id).map(|offer| snapshots.take(offer, cells, now))));
            }
            Self::Hold(id, to) => tell(to, Ok(state.hold(id, now).map(|hold| hold_view(state, hold, now)))),
            Self::HoldsEnding(offer, limit, to) => tell(to, Ok(holds_ending(state, &offer, limit, now))),
            Self::Booking(id, to) => {
                tell(to, Ok(state.booking(id).map(|booking| booking_view(state, booking, now))));
            }
            Self::Bookings(ids, to) => {
                let found = ids.into_iter().filter_map(|id| state.booking(id));
                tell(to, Ok(found.map(|booking| booking_view(state, booking, now)).collect()));
            }
            Self::Claims(id, to) => tell(to, Ok(live_claims(state, &id, now))),
            Self::PaymentsDue(limit, to) => {
                let due = state.payments_due(now).take(limit);
                tell(to, Ok(due.map(|booking| booking_view(state, booking, now)).collect()));
            }
            Self::PaymentsParked(to) => tell(to, Ok(state.payments_parked())),
            Self::TablesCaughtUp(to) => return Some(to),
        }
        None
    }
}

/// Whoever asked may have gone; then nobody is told.
pub(super) fn tell<T>(to: Asker<T>, answer: Result<T, LedgerError>) {
    drop(to.send(answer));
}
