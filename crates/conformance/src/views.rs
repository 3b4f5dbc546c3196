//! What a decision looks like to whoever asked, told from the state after it.

use std::sync::Arc;

use holdfast_domain::{Booking, Command, Decision, Hold, Line, Moment, Offer, OfferState, State, Subject};
use holdfast_engine::ledger::{BookingView, HoldView, OfferView, Outcome};

pub(crate) fn outcome(state: &State, command: &Command, decision: &Decision, now: Moment) -> Outcome {
    match &decision.subject {
        Subject::Offer(id) => {
            let view = of_offer(state.offer(id).expect("a decision is about what exists"));
            match command {
                Command::CreateOffer { .. } => Outcome::OfferCreated(view),
                Command::AmendOffer { .. } => Outcome::OfferAmended(view),
                Command::Block { .. } => Outcome::Blocked(view),
                _ => Outcome::Unblocked(view),
            }
        }
        Subject::Hold(id) => {
            let view = of_hold(state, state.hold(*id, now).expect("a decision is about what exists"), now);
            match command {
                Command::PlaceHold { .. } | Command::RecallHold { .. } => {
                    Outcome::Held { hold: view, again: decision.events.is_empty() }
                }
                Command::ExtendHold { .. } => Outcome::Extended(view),
                Command::LeaveHold { .. } => Outcome::Left(view),
                Command::ReturnToHold { .. } => Outcome::Returned(view),
                _ => Outcome::Released(view),
            }
        }
        Subject::Booking(id) => {
            let view = of_booking(state, state.booking(*id).expect("a decision is about what exists"), now);
            match command {
                Command::Confirm { .. } => Outcome::Confirmed(view),
                Command::Cancel { .. } => Outcome::Cancelled(view),
                Command::BeginPayment { .. } => Outcome::PaymentBegun(view),
                _ => Outcome::Payment { booking: view, changed: !decision.events.is_empty() },
            }
        }
        Subject::Nothing => Outcome::Tidied { expired: decision.events.len() },
    }
}

pub(crate) fn of_offer(at: &OfferState) -> OfferView {
    OfferView {
        offer: Arc::clone(at.offer()),
        created_at: at.created_at(),
        version: at.version(),
        counts: at.counts(),
    }
}

pub(crate) fn of_hold(state: &State, hold: &Hold, at: Moment) -> HoldView {
    HoldView { offers: offers_of(state, &hold.lines), hold: hold.clone(), at }
}

pub(crate) fn of_booking(state: &State, booking: &Booking, at: Moment) -> BookingView {
    BookingView { offers: offers_of(state, &booking.lines), booking: booking.clone(), at }
}

fn offers_of(state: &State, lines: &[Line]) -> Vec<Arc<Offer>> {
    let mut offers: Vec<Arc<Offer>> = Vec::new();
    for line in lines {
        if !offers.iter().any(|offer| *offer.id() == line.offer) {
            offers.extend(state.offer(&line.offer).map(|at| Arc::clone(at.offer())));
        }
    }
    offers
}
