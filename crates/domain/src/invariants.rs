//! What must be true of every state: the sums agree with what they sum up, and nothing is sold twice.
//!
//! The check recomputes everything from holds and bookings alone, so it shares no arithmetic with the
//! incremental path it judges.

use std::collections::{BTreeMap, HashMap};

use crate::{
    hold::{BookingState, HoldState, Line},
    ids::OfferId,
    offer::{Inventory, UnitNo},
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
    if broken.is_empty() && State::from_parts(state.parts()) != without_order(state) {
        let what = "counters, claims or stakes differ from the sum of holds and bookings".to_owned();
        broken.push(Broken { invariant: "I3", what });
    }
    broken
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
    state.holds().filter(|hold| hold.state == HoldState::Active).for_each(|hold| add(&hold.lines, 1, 0));
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
