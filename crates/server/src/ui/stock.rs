//! Counted stock: how many of which.

use askama::Template;
use holdfast_domain::{Offer, StockLine};
use holdfast_engine::ledger::{Snapshot, SnapshotUnits};

use super::{form, offer::Head, words};

#[derive(Template)]
#[template(path = "offer_stock.html")]
pub(super) struct StockPage {
    head: Head,
    lines: Vec<Line>,
}

struct Line {
    unit: String,
    price: String,
    capacity: u32,
    left: u32,
    left_words: String,
    percent: u64,
    most: u32,
    /// Each line is a form of its own.
    key: String,
}

/// How many can be asked for at once where the offer sets no limit.
const MOST: u32 = 10;

impl StockPage {
    pub(super) fn of(head: Head, offer: &Offer, lines: &[StockLine], snapshot: &Snapshot) -> Self {
        let SnapshotUnits::Dense(units) = &snapshot.units else { return Self { head, lines: Vec::new() } };
        let limit = head.limit.unwrap_or(MOST);
        let shown = lines.iter().zip(units.iter()).map(|(line, unit)| {
            let left = unit.remaining(line.capacity);
            Line {
                unit: line.key.clone(),
                price: words::money(line.price, offer.currency()),
                capacity: line.capacity,
                left,
                left_words: words::count(left.into()),
                percent: u64::from(left) * 100 / u64::from(line.capacity),
                most: limit.min(left).max(1),
                key: form::fresh_key(),
            }
        });
        Self { lines: shown.collect(), head }
    }
}
