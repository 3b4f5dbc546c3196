//! Which seats to give when the buyer leaves the choice to us, and which to propose when the wanted are gone.
//!
//! Seats stand on a plan seen from above: rows one behind another in the order of the definition, front first,
//! each centred. A place's cost is the square of its distance from a point: from the front centre of the plan
//! for the best seats, from the seats that were wanted for alternatives. Equal costs go to the row in front and
//! then to the lower seat, so one state has one answer.
//!
//! ```text
//!            ✕            focal point
//!     . . 4 2 1 3 5 . .   row 0          best seats, relaxed step by step:
//!   . . . 9 7 6 8 . . .   row 1            side by side, leaving no single seat alone
//!     . . . . . . . . .   row 2            side by side
//!                                          in blocks in neighbouring rows of one section
//!                                          wherever they are
//! ```
//! Called from the writer's thread for every best-available hold and every lost race for a seat, so it looks at
//! seats outwards from the point and stops where nothing nearer can follow; full rows cost one comparison.
//! Knows nothing of holds, time or money: a [`Vacancy`] says what is free.

mod hall;
#[cfg(test)]
mod tests;

use hall::{Block, Hall};

use crate::{offer::UnitNo, seat_plan::SeatPlan};

/// What best-available gave up to find seats at all, in the order it gives things up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relaxed {
    /// The choice leaves a single seat alone between others.
    Orphan,
    /// Not all seats are side by side in one row: neighbouring rows.
    SplitRows,
    /// The seats are wherever they were found.
    Scattered,
}

/// The seats chosen, in order, and what was given up for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Best {
    pub units: Vec<UnitNo>,
    pub relaxed: Vec<Relaxed>,
}

/// What is free right now, as the seating rules need to see it.
pub trait Vacancy {
    fn is_free(&self, unit: UnitNo) -> bool;
    /// At most how many seats of that row (index into the plan's rows) are free: lets a search skip full rows.
    fn free_in_row(&self, row: usize) -> u32;
    /// At most how many free seats of that row stand side by side.
    fn widest_in_row(&self, row: usize) -> u32;
    /// At most how many seats of the plan are free.
    fn free(&self) -> u64;
}

/// The best `qty` free seats, of `category` when one is named; `None` when there are not that many.
pub fn best(plan: &SeatPlan, vacancy: &dyn Vacancy, qty: u32, category: Option<&str>) -> Option<Best> {
    if qty == 0 || u64::from(qty) > vacancy.free() {
        return None;
    }
    let hall = Hall::new(plan, vacancy, category);
    let block = |block: Block, relaxed| Best { units: block.units(qty).collect(), relaxed };
    if let Some(found) = hall.front_block(qty, false) {
        return Some(block(found, vec![]));
    }
    if let Some(found) = hall.front_block(qty, true) {
        return Some(block(found, vec![Relaxed::Orphan]));
    }
    let (units, relaxed) = match hall.split_rows(qty) {
        Some(units) => (units, Relaxed::SplitRows),
        None => (hall.front_seats(qty)?, Relaxed::Scattered),
    };
    let orphan = hall.leaves_orphan(&units).then_some(Relaxed::Orphan);
    Some(Best { units, relaxed: orphan.into_iter().chain([relaxed]).collect() })
}

/// Up to `max` free groups to offer instead of `wanted`, each as many seats, nearest first, no seat in two of
/// them. Groups of seats side by side where some are near; else of the nearest seats there are. Where fewer are free than
/// were wanted, all of those are one group. Empty only when no seat is free.
pub fn alternatives(
    plan: &SeatPlan,
    vacancy: &dyn Vacancy,
    wanted: &[UnitNo],
    max: usize,
) -> Vec<Vec<UnitNo>> {
    let qty = wanted.len() as u32;
    if qty == 0 || max == 0 || vacancy.free() == 0 {
        return Vec::new();
    }
    let mut hall = Hall::new(plan, vacancy, None);
    let point = hall.centre_of(wanted);
    let mut groups: Vec<Vec<UnitNo>> = Vec::with_capacity(max);
    while groups.len() < max
        && hall.may_have(qty)
        && let Some(block) = hall.nearest_block(qty, point)
    {
        hall.set_aside(block.units(qty));
        groups.push(block.units(qty).collect());
    }
    if groups.is_empty() {
        let seats = hall.nearest_seats(qty as usize * max, point);
        let whole = |group: &&[UnitNo]| group.len() == qty as usize || seats.len() < qty as usize;
        groups.extend(seats.chunks(qty as usize).filter(whole).map(<[_]>::to_vec));
        groups.iter_mut().for_each(|group| group.sort_unstable());
    }
    groups
}
