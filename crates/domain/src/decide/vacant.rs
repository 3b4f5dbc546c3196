//! What best-available and alternatives see as free.

use crate::{
    hold::Line,
    offer::UnitNo,
    seat_plan::SeatPlan,
    seating::Vacancy,
    state::{OfferState, RowSum, State},
    time::Moment,
};

/// The free seats of an offer as of now: expired holds do not count, and neither do the seats that earlier
/// lines of the same request have already chosen.
pub(super) struct Vacant<'a> {
    offer: &'a OfferState,
    plan: &'a SeatPlan,
    /// Sorted.
    chosen: Vec<UnitNo>,
    overdue: Overdue,
    now: Moment,
}

/// Which seats are held on paper only.
enum Overdue {
    /// These, sorted: all seats of holds that ran out and are not swept yet.
    Seats(Vec<UnitNo>),
    /// Too many to list for one request: each held seat must be asked.
    Many,
}

impl Overdue {
    const MOST_HOLDS: usize = 32;

    fn of(state: &State, offer: &OfferState, now: Moment) -> Self {
        let mut overdue = state.due.iter().take_while(|&&(at, _)| at <= now).map(|(_, hold)| hold);
        let id = offer.offer().id();
        let lines = overdue.by_ref().take(Self::MOST_HOLDS).flat_map(|hold| state.holds[hold].lines.iter());
        let mut seats: Vec<_> = lines.filter(|line| line.offer == *id).map(|line| line.unit).collect();
        if overdue.next().is_some() {
            return Self::Many;
        }
        seats.sort_unstable();
        Self::Seats(seats)
    }
}

impl<'a> Vacant<'a> {
    pub(super) fn new(
        state: &State,
        offer: &'a OfferState,
        plan: &'a SeatPlan,
        chosen: &[Line],
        now: Moment,
    ) -> Self {
        let here = chosen.iter().filter(|line| line.offer == *offer.offer().id());
        let mut chosen: Vec<_> = here.map(|line| line.unit).collect();
        chosen.sort_unstable();
        Self { offer, plan, chosen, overdue: Overdue::of(state, offer, now), now }
    }

    fn ran_out(&self, unit: UnitNo) -> bool {
        match &self.overdue {
            Overdue::Seats(seats) => seats.binary_search(&unit).is_ok(),
            Overdue::Many => self.offer.claims_on(unit).all(|(expires_at, ..)| expires_at <= self.now),
        }
    }
}

impl Vacancy for Vacant<'_> {
    fn is_free(&self, unit: UnitNo) -> bool {
        let at = self.offer.unit(unit);
        let free = at.remaining(1) > 0 || (!at.blocked && at.held > 0 && self.ran_out(unit));
        free && self.chosen.binary_search(&unit).is_err()
    }

    fn free_in_row(&self, row: usize) -> u32 {
        let RowSum { free, held, .. } = self.offer.rows[row];
        match &self.overdue {
            Overdue::Seats(seats) if seats.is_empty() => free,
            Overdue::Seats(seats) => {
                let units = self.plan.rows()[row].units();
                let below = |end: UnitNo| seats.partition_point(|&unit| unit < end) as u32;
                free + below(units.end) - below(units.start)
            }
            Overdue::Many => free + held,
        }
    }

    fn widest_in_row(&self, row: usize) -> u32 {
        let RowSum { free, widest, .. } = self.offer.rows[row];
        // Seats held on paper only may join others into a wider block.
        let all_free = self.free_in_row(row);
        if all_free == free { widest } else { all_free }
    }

    fn free(&self) -> u64 {
        let counts = self.offer.counts();
        match &self.overdue {
            Overdue::Seats(seats) => counts.available + seats.len() as u64,
            Overdue::Many => counts.available + counts.held,
        }
    }
}
