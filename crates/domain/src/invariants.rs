//! What must be true of every state: the sums agree with what they sum up, and nothing is sold twice.
//!
//! The check recomputes everything from holds and bookings alone, so it shares no arithmetic with the
//! incremental path it judges.

use std::collections::{BTreeMap, HashMap};

use crate::{
    hold::{Booking, BookingState, Hold, HoldState, Line},
    ids::OfferId,
    money::Money,
    offer::{Inventory, UnitNo},
    payment::{Payment, PaymentState},
    seat_plan::Row,
    state::{OfferState, RowSum, State},
};

/// A broken promise, named as in ARCHITECTURE.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub invariant: &'static str,
    pub what: String,
}

/// Every broken invariant of the state; empty when all hold.
pub fn check(state: &State) -> Vec<Broken> {
    let mut broken = Vec::new();
    let claimed = claimed(state);
    for ((offer, unit), (held, booked)) in &claimed {
        let at = &state.offers[offer];
        let capacity = u64::from(at.offer.capacity(*unit));
        if held + booked > capacity {
            let what = format!(
                "{offer}/{} is claimed {} times, capacity {capacity}",
                at.offer.key(*unit),
                held + booked
            );
            broken.push(Broken { invariant: "I1", what });
        }
    }
    for offer in state.offers() {
        let counts = offer.counts();
        if counts.available + counts.held + counts.booked + counts.blocked != counts.capacity {
            broken.push(Broken {
                invariant: "I3",
                what: format!("{}: {counts:?} do not add up", offer.offer.id()),
            });
        }
    }
    for offer in state.offers() {
        broken.extend(rows_differ(offer).then(|| Broken {
            invariant: "I3",
            what: format!("{}: the sums of a row differ from its seats", offer.offer.id()),
        }));
    }
    broken.extend(state.bookings().filter_map(money_is_off));
    broken.extend(pinned_for_nobody(state));
    broken.extend(state.holds().filter_map(left_for_longer));
    if broken.is_empty() && State::from_parts(state.parts()) != without_order(state) {
        let what = "counters, claims or stakes differ from the sum of holds and bookings".to_owned();
        broken.push(Broken { invariant: "I3", what });
    }
    broken
}

/// At rest what is captured and not refunded is the price of a confirmed booking and nothing of any other, unless a
/// person must look; and what is not at rest says when somebody looks.
fn money_is_off(booking: &Booking) -> Option<Broken> {
    let off = |what: &str| {
        let what = format!("{}: {what}: {} with {:?}", booking.id, booking.state.as_str(), booking.payment);
        Some(Broken { invariant: "I10", what })
    };
    let Some(payment) = &booking.payment else {
        let unpaid = matches!(booking.state, BookingState::Pending | BookingState::Failed { .. });
        return if unpaid { off("it waits for a payment that is not there") } else { None };
    };
    let Payment { state, captured, refunded, due_at, .. } = **payment;
    if due_at.is_some() != state.has_work() {
        return off("it has work and nobody is due, or the other way round");
    }
    if refunded > captured {
        return off("more was given back than taken");
    }
    let sums_up = match state {
        PaymentState::Manual => true,
        PaymentState::RequiresPayment | PaymentState::Processing | PaymentState::Authorized => {
            captured == Money::ZERO
                && matches!(booking.state, BookingState::Pending | BookingState::Cancelled { .. })
        }
        PaymentState::Succeeded => {
            booking.state == BookingState::Confirmed && (captured, refunded) == (booking.amount, Money::ZERO)
        }
        PaymentState::Refunding => is_over(booking) && refunded == Money::ZERO,
        PaymentState::Refunded => is_over(booking) && refunded == captured,
        PaymentState::Failed => is_over(booking) && captured == Money::ZERO,
    };
    if sums_up { None } else { off("the money does not fit the booking") }
}

const fn is_over(booking: &Booking) -> bool {
    matches!(booking.state, BookingState::Cancelled { .. } | BookingState::Failed { .. })
}

/// Holds that are kept for a payment that is not under way.
fn pinned_for_nobody(state: &State) -> impl Iterator<Item = Broken> {
    let astray = state.holds().filter_map(|hold| match hold.state {
        HoldState::Paying { booking, .. } => {
            let paid = state.booking(booking).is_some_and(|of| of.state == BookingState::Pending);
            (!paid).then_some((hold.id, booking))
        }
        _ => None,
    });
    astray.map(|(hold, booking)| {
        let what = format!("{hold} is pinned for {booking}, which is not being paid");
        Broken { invariant: "I10", what }
    })
}

/// Whoever leaves has less time than before, and what has ended waits for nobody.
fn left_for_longer(hold: &Hold) -> Option<Broken> {
    let full = hold.returns_to?;
    let fits = hold.state == HoldState::Active && hold.expires_at < full;
    let what = || format!("{} was left and would return to {full}: {hold:?}", hold.id);
    (!fits).then(|| Broken { invariant: "I8", what: what() })
}

/// Quantities held and booked per unit, straight from the holds and bookings.
fn claimed(state: &State) -> BTreeMap<(OfferId, UnitNo), (u64, u64)> {
    let mut claimed: HashMap<(OfferId, UnitNo), (u64, u64)> = HashMap::new();
    let mut add = |lines: &[Line], held: u64, booked: u64| {
        for line in lines {
            for unit in line.units() {
                let at = claimed.entry((line.offer.clone(), unit)).or_default();
                at.0 += held * u64::from(line.qty);
                at.1 += booked * u64::from(line.qty);
            }
        }
    };
    state.holds().filter(|hold| hold.is_open()).for_each(|hold| add(&hold.lines, 1, 0));
    let confirmed = state.bookings().filter(|booking| booking.state == BookingState::Confirmed);
    confirmed.for_each(|booking| add(&booking.lines, 0, 1));
    claimed.into_iter().collect()
}

fn rows_differ(at: &OfferState) -> bool {
    let Inventory::Seats(plan) = at.offer.inventory() else { return false };
    let seats = |row: &Row| &at.dense()[row.first as usize..(row.first + row.seats) as usize];
    plan.rows().iter().zip(&at.rows).any(|(row, sum)| RowSum::of(seats(row)) != *sum)
}

/// The order in which holds of one millisecond ended is of no consequence.
fn without_order(state: &State) -> State {
    let mut state = state.clone();
    state.ended.make_contiguous().sort_unstable();
    state
}
