//! The seats of a row, summed up so that a search can skip what is full or too narrow.

use std::ops::Range;

use super::Unit;
use crate::offer::UnitNo;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowSum {
    pub(crate) free: u32,
    pub(crate) held: u32,
    /// How many free seats stand side by side at most.
    pub(crate) widest: u32,
}

impl RowSum {
    pub(crate) fn all_free(seats: u32) -> Self {
        Self { free: seats, held: 0, widest: seats }
    }

    /// The sums of these seats, from nothing.
    pub(crate) fn of(seats: &[Unit]) -> Self {
        Self {
            free: seats.iter().filter(|seat| is_free(seat)).count() as u32,
            held: seats.iter().map(|seat| seat.held).sum(),
            widest: widest_run(seats),
        }
    }

    /// Follows the change of the seat `at` from what it was `before`; `units` and the row's range in them are
    /// as they are after it.
    pub(super) fn follow(&mut self, units: &[Unit], row: Range<UnitNo>, at: UnitNo, before: Unit) {
        let after = units[at as usize];
        self.held = self.held + after.held - before.held;
        let (first, at, end) = (row.start as usize, at as usize, row.end as usize);
        let run_around = || {
            let left = units[first..at].iter().rev().take_while(|seat| is_free(seat)).count();
            let right = units[at + 1..end].iter().take_while(|seat| is_free(seat)).count();
            (left + 1 + right) as u32
        };
        match (is_free(&before), is_free(&after)) {
            (false, true) => {
                self.free += 1;
                self.widest = self.widest.max(run_around());
            }
            (true, false) => {
                self.free -= 1;
                // Only a seat out of the widest run can make it narrower.
                if run_around() == self.widest {
                    self.widest = widest_run(&units[first..end]);
                }
            }
            _ => {}
        }
    }
}

fn is_free(seat: &Unit) -> bool {
    seat.remaining(1) > 0
}

fn widest_run(seats: &[Unit]) -> u32 {
    seats.split(|seat| !is_free(seat)).map(<[Unit]>::len).max().unwrap_or(0) as u32
}
