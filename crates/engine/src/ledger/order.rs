//! Lists in either order, a page at a time.
//!
//! ```text
//!   rows     1   2   3   4   5
//!   gaps   0   1   2   3   4   5
//! ```
//! Where a page begins and where it ends is a gap between two rows, named by the row before it. From one gap a list is
//! read on towards the newest or back towards the oldest, and the two meet every row once: so whoever looks at a page
//! that was reached from one side finds back to the other.

use holdfast_domain::Invalid;

use super::PageRequest;

/// Which way a list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    OldestFirst,
    NewestFirst,
}

impl Order {
    /// The gap at which a page begins.
    pub(super) fn begins(self, page: &PageRequest) -> Result<i64, Invalid> {
        let malformed = || Invalid::new("after", "must be the `next` of an earlier page");
        // Databases count in signed numbers, and no list is that long.
        let gap = |text: &str| text.parse().ok().filter(|gap: &i64| *gap >= 0).ok_or_else(malformed);
        page.after.as_deref().map_or(Ok(self.end()), gap)
    }

    /// The gap before the first row, as one reads.
    const fn end(self) -> i64 {
        match self {
            Self::OldestFirst => 0,
            Self::NewestFirst => i64::MAX,
        }
    }

    /// The gap behind a row, as one reads.
    pub(super) const fn behind(self, row: i64) -> i64 {
        match self {
            Self::OldestFirst => row,
            Self::NewestFirst => row - 1,
        }
    }

    /// Whether one who reads comes by this row before that gap.
    pub(super) const fn is_before(self, row: i64, gap: i64) -> bool {
        match self {
            Self::OldestFirst => row <= gap,
            Self::NewestFirst => row > gap,
        }
    }

    /// Sorts by this where the rows come in order.
    pub(super) const fn rank(self, row: i64) -> i64 {
        match self {
            Self::OldestFirst => row,
            Self::NewestFirst => -row,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_one_gap_both_ways_meet_every_row_once() {
        let gap = Order::NewestFirst.behind(4);
        let read = |order: Order| (1..=5).filter(move |&row| !order.is_before(row, gap));
        assert_eq!(read(Order::OldestFirst).collect::<Vec<i64>>(), [4, 5]);
        assert_eq!(read(Order::NewestFirst).collect::<Vec<i64>>(), [1, 2, 3]);
    }
}
