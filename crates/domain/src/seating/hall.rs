//! The plan seen from above, and the searches over it.

use std::{cell::Cell, iter, ops::Range};

use super::Vacancy;
use crate::{
    offer::UnitNo,
    seat_plan::{Row, SeatPlan},
};

/// Lengths are in half seats, so that the middle between two seats is a whole number. A row is as deep as two
/// seats are wide.
const ROW_DEPTH: u64 = 4;

/// How many seats a search for neighbouring alternatives looks at before it makes do with single ones. The best
/// seats are worth any search; a proposal to somebody who lost a race is not.
const PATIENCE: u32 = 8_192;

/// The cost of being that many rows away.
fn depth_cost(rows: usize) -> u64 {
    (rows as u64 * ROW_DEPTH).pow(2)
}

/// A place to be near to: a row, and the way right (or, negative, left) from its centre.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    row: usize,
    right: i64,
}

/// Seats side by side, from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    cost: u64,
    first: UnitNo,
}

impl Block {
    pub(super) fn units(&self, qty: u32) -> Range<UnitNo> {
        self.first..self.first + qty
    }
}

pub(super) struct Hall<'a> {
    plan: &'a SeatPlan,
    vacancy: &'a dyn Vacancy,
    /// Whether seats of each section may be given; empty when all may.
    sections: Vec<bool>,
    /// Seats already proposed.
    aside: Vec<Range<UnitNo>>,
    /// How many more seats may be looked at by a search that may give up.
    patience: Cell<u32>,
}

impl<'a> Hall<'a> {
    pub(super) fn new(plan: &'a SeatPlan, vacancy: &'a dyn Vacancy, category: Option<&str>) -> Self {
        let sections = category.map_or_else(Vec::new, |category| {
            plan.sections().iter().map(|section| section.category == category).collect()
        });
        Self { plan, vacancy, sections, aside: Vec::new(), patience: Cell::new(PATIENCE) }
    }

    /// Seats that later searches are not to find again.
    pub(super) fn set_aside(&mut self, units: Range<UnitNo>) {
        self.aside.push(units);
    }

    /// Whether that many seats can be left at all.
    pub(super) fn may_have(&self, qty: u32) -> bool {
        let aside: usize = self.aside.iter().map(ExactSizeIterator::len).sum();
        self.vacancy.free() >= aside as u64 + u64::from(qty)
    }

    fn is_free(&self, unit: UnitNo) -> bool {
        self.vacancy.is_free(unit) && !self.aside.iter().any(|aside| aside.contains(&unit))
    }

    fn rows(&self) -> &'a [Row] {
        self.plan.rows()
    }

    fn is_allowed(&self, row: usize) -> bool {
        self.sections.is_empty() || self.sections[self.rows()[row].section as usize]
    }

    fn may_have_block(&self, row: usize, qty: u32) -> bool {
        self.vacancy.widest_in_row(row) >= qty && self.is_allowed(row)
    }

    /// The seats side by side nearest to the front centre. `orphans`: they may leave a single seat alone.
    pub(super) fn front_block(&self, qty: u32, orphans: bool) -> Option<Block> {
        let rows = (0..self.rows().len()).map(|row| (row, depth_cost(row + 1)));
        self.cheapest_block(rows, qty, 0, orphans)
    }

    /// The seats side by side nearest to the point, unless finding them takes more than [`PATIENCE`].
    pub(super) fn nearest_block(&self, qty: u32, point: Point) -> Option<Block> {
        let rows = self.outwards(point.row);
        match qty {
            // Any free seat will do, and a row that has one is found without looking at seats.
            1 => self.cheapest_block(rows, qty, point.right, true),
            _ => {
                let patient = rows.take_while(|_| self.patience.get() > 0);
                self.cheapest_block(patient, qty, point.right, true)
            }
        }
    }

    /// Goes through rows in order of their own cost until none can hold anything cheaper.
    fn cheapest_block(
        &self,
        rows: impl Iterator<Item = (usize, u64)>,
        qty: u32,
        right: i64,
        orphans: bool,
    ) -> Option<Block> {
        let mut cheapest: Option<Block> = None;
        for (row, depth) in rows {
            let limit = cheapest.map_or(u64::MAX, |block| block.cost);
            if depth >= limit {
                break;
            }
            if !self.may_have_block(row, qty) {
                continue;
            }
            if let Some((first, aside)) = self.block_in_row(row, qty, right, limit - depth, orphans) {
                cheapest = Some(Block { cost: depth + aside, first });
            }
        }
        cheapest
    }

    /// The rows from `row` outwards, the one in front first, each with the cost of being that far away.
    fn outwards(&self, row: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let rows = self.plan.rows().len();
        let (mut front, mut back) = (Some(row), row + 1);
        iter::from_fn(move || {
            let next = match front {
                Some(ahead) if row - ahead <= back - row || back >= rows => {
                    front = ahead.checked_sub(1);
                    ahead
                }
                _ if back < rows => {
                    back += 1;
                    back - 1
                }
                _ => return None,
            };
            Some((next, depth_cost(next.abs_diff(row))))
        })
    }

    /// The first unit of the free block of the row that is nearest to `right` and cheaper than `limit`, with its
    /// cost. Two cursors walk outwards; where a seat is taken, a cursor leaps over every block that needs it.
    fn block_in_row(
        &self,
        row: usize,
        qty: u32,
        right: i64,
        limit: u64,
        orphans: bool,
    ) -> Option<(UnitNo, u64)> {
        let row = &self.rows()[row];
        let last = row.seats.checked_sub(qty).map(i64::from)?;
        let cost = |start: i64| (2 * start + i64::from(qty) - i64::from(row.seats)).abs_diff(right).pow(2);
        let ideal = (right + last).div_euclid(2);
        let (mut left, mut right) = (ideal.min(last + 1) - 1, ideal.max(0));
        loop {
            let leftward = match (left >= 0, right <= last) {
                (true, true) => cost(left) <= cost(right),
                (one, other) if one || other => one,
                _ => return None,
            };
            let start = if leftward { left } else { right };
            if cost(start) >= limit {
                return None;
            }
            match self.taken_in(row, start, qty, leftward) {
                None if orphans || !self.strands_a_seat(row, start, qty) => {
                    return Some((row.first + start as UnitNo, cost(start)));
                }
                None if leftward => left -= 1,
                None => right += 1,
                Some(taken) if leftward => left = taken - i64::from(qty),
                Some(taken) => right = taken + 1,
            }
        }
    }

    /// A seat of the block that is not free: the one that rules out the most blocks further on.
    fn taken_in(&self, row: &Row, start: i64, qty: u32, leftward: bool) -> Option<i64> {
        self.patience.set(self.patience.get().saturating_sub(qty));
        let mut seats = start..start + i64::from(qty);
        let taken = |&seat: &i64| !self.is_free(row.first + seat as UnitNo);
        if leftward { seats.find(taken) } else { seats.rev().find(taken) }
    }

    /// Whether taking the block leaves a single free seat alone at either of its ends.
    fn strands_a_seat(&self, row: &Row, start: i64, qty: u32) -> bool {
        let free =
            |seat: i64| (0..i64::from(row.seats)).contains(&seat) && self.is_free(row.first + seat as UnitNo);
        let end = start + i64::from(qty);
        (free(start - 1) && !free(start - 2)) || (free(end) && !free(end + 1))
    }

    /// Whether taking these seats, sorted, leaves a single free seat alone beside one of them.
    pub(super) fn leaves_orphan(&self, units: &[UnitNo]) -> bool {
        let same_block = |&a: &UnitNo, &b: &UnitNo| a + 1 == b && !self.begins_row(b);
        let blocks: Vec<_> = units.chunk_by(same_block).collect();
        let free_between = |before: &[UnitNo], after: &[UnitNo]| {
            let gap = before[before.len() - 1] + 1;
            gap + 1 == after[0] && !self.begins_row(gap) && !self.begins_row(after[0]) && self.is_free(gap)
        };
        let strands = |block: &[UnitNo]| {
            let row = self.plan.row_of(block[0]);
            self.strands_a_seat(row, i64::from(block[0] - row.first), block.len() as u32)
        };
        blocks.iter().any(|block| strands(block)) || blocks.windows(2).any(|two| free_between(two[0], two[1]))
    }

    fn begins_row(&self, unit: UnitNo) -> bool {
        self.plan.row_of(unit).first == unit
    }

    /// One block in each of several consecutive rows of one section: as few rows as can be, the front-most of
    /// those, and as evenly shared as the free blocks allow, so that nobody sits alone who need not.
    pub(super) fn split_rows(&self, qty: u32) -> Option<Vec<UnitNo>> {
        let (rows, widths) = self.narrowest_rows(qty)?;
        let mut units = Vec::with_capacity(qty as usize);
        let mut right = 0;
        for (row, share) in rows.zip(shares(qty, &widths)) {
            let block = |orphans| self.block_in_row(row, share, right, u64::MAX, orphans);
            let (first, _) = block(false).or_else(|| block(true))?;
            if units.is_empty() {
                // The others gather behind the first.
                let Row { first: row_first, seats, .. } = self.rows()[row];
                right = 2 * i64::from(first - row_first) + i64::from(share) - i64::from(seats);
            }
            units.extend(first..first + share);
        }
        Some(units)
    }

    /// The fewest consecutive rows of a section whose widest free blocks hold `qty` together, and those widths.
    fn narrowest_rows(&self, qty: u32) -> Option<(Range<usize>, Vec<u32>)> {
        let mut narrowest: Option<(Range<usize>, Vec<u32>)> = None;
        // A window over consecutive rows that all have a free seat, with the sum of their widest blocks.
        let mut widths: Vec<u32> = Vec::new();
        let mut from = 0;
        let mut sum = 0;
        for row in 0..self.rows().len() {
            let width = self.widest_block(row, qty);
            let new_section = row > 0 && self.rows()[row].section != self.rows()[row - 1].section;
            if width == 0 || new_section {
                (from, sum) = (widths.len(), 0);
            }
            widths.push(width);
            if width == 0 {
                from += 1;
                continue;
            }
            sum += u64::from(width);
            while sum - u64::from(widths[from]) >= u64::from(qty) {
                sum -= u64::from(widths[from]);
                from += 1;
            }
            let better = narrowest.as_ref().is_none_or(|(rows, _)| row + 1 - from < rows.len());
            if sum >= u64::from(qty) && better {
                narrowest = Some((from..row + 1, widths[from..].to_vec()));
            }
        }
        narrowest
    }

    /// The length of the longest free run of the row, or `enough` if that is shorter.
    fn widest_block(&self, row: usize, enough: u32) -> u32 {
        if !self.may_have_block(row, 1) {
            return 0;
        }
        let (mut widest, mut run) = (0, 0);
        for unit in self.rows()[row].units() {
            run = if self.is_free(unit) { run + 1 } else { 0 };
            widest = widest.max(run);
            if widest >= enough || widest == self.vacancy.widest_in_row(row) {
                break;
            }
        }
        widest
    }

    /// The `qty` seats nearest to the front centre, sorted.
    pub(super) fn front_seats(&self, qty: u32) -> Option<Vec<UnitNo>> {
        let rows = (0..self.rows().len()).map(|row| (row, depth_cost(row + 1)));
        let mut seats = self.cheapest_seats(rows, qty as usize, 0);
        seats.sort_unstable();
        (seats.len() == qty as usize).then_some(seats)
    }

    /// At most `most` free seats, nearest to the point first.
    pub(super) fn nearest_seats(&self, most: usize, point: Point) -> Vec<UnitNo> {
        self.cheapest_seats(self.outwards(point.row), most, point.right)
    }

    fn cheapest_seats(
        &self,
        rows: impl Iterator<Item = (usize, u64)>,
        most: usize,
        right: i64,
    ) -> Vec<UnitNo> {
        // By cost, then in the order in which rows are visited, then by seat.
        let mut found: Vec<(u64, u64, UnitNo)> = Vec::new();
        for (row, depth) in rows {
            if found.len() == most && found.last().is_none_or(|&(cost, ..)| depth >= cost) {
                break;
            }
            if self.vacancy.free_in_row(row) == 0 || !self.is_allowed(row) {
                continue;
            }
            let Row { first, seats, .. } = self.rows()[row];
            let cost =
                |unit: UnitNo| (2 * i64::from(unit - first) + 1 - i64::from(seats)).abs_diff(right).pow(2);
            let free = (first..first + seats).filter(|&unit| self.is_free(unit));
            found.extend(free.map(|unit| (depth + cost(unit), depth, unit)));
            found.sort_unstable();
            found.truncate(most);
        }
        found.into_iter().map(|(.., unit)| unit).collect()
    }

    /// The middle of the wanted seats, as far as they are in the row of the first.
    pub(super) fn centre_of(&self, wanted: &[UnitNo]) -> Point {
        let row = self.plan.row_index(wanted[0]);
        let Row { first, seats, .. } = self.rows()[row];
        let in_row = wanted.iter().filter(|&&unit| (first..first + seats).contains(&unit));
        let (low, high) = in_row.fold((UnitNo::MAX, 0), |(low, high), &unit| (low.min(unit), high.max(unit)));
        let right = i64::from(low - first) + i64::from(high - first) + 1 - i64::from(seats);
        Point { row, right }
    }
}

/// Shares out `qty` over rows as evenly as their widths allow; what is left over goes to the front.
fn shares(qty: u32, widths: &[u32]) -> Vec<u32> {
    let mut shares = vec![0; widths.len()];
    let mut left = qty;
    while left > 0 {
        let open = shares.iter().zip(widths).filter(|(share, width)| share < width).count() as u32;
        if open == 0 {
            break;
        }
        let each = (left / open).max(1);
        for (share, width) in shares.iter_mut().zip(widths) {
            let more = each.min(width - *share).min(left);
            *share += more;
            left -= more;
        }
    }
    shares
}
