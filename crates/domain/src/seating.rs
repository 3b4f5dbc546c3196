//! Placeholder: being written.

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
    /// How many seats of that row (index into the plan's rows) are free: lets a search skip full rows.
    fn free_in_row(&self, row: usize) -> u32;
}

/// The best `qty` free seats, of `category` when one is named.
pub fn best(_plan: &SeatPlan, _vacancy: &dyn Vacancy, _qty: u32, _category: Option<&str>) -> Option<Best> {
    None
}

/// Up to `max` free groups to offer instead of `wanted`, each as many seats, nearest first.
pub fn alternatives(
    _plan: &SeatPlan,
    _vacancy: &dyn Vacancy,
    _wanted: &[UnitNo],
    _max: usize,
) -> Vec<Vec<UnitNo>> {
    Vec::new()
}
