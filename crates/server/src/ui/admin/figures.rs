//! Counts as organisers look at them: figures, and a bar of the same.

use holdfast_domain::{Counts, Inventory, Moment};
use holdfast_engine::ledger::OfferView;

use super::super::{shop::Sale, words};

/// One state of the units and how many are in it.
pub(super) struct Figure {
    /// As the look names the state.
    pub state: &'static str,
    pub word: &'static str,
    pub count: String,
    /// Its part of the bar, of a thousand.
    pub from: u64,
    pub width: u64,
}

/// The four states, which always add up to the capacity.
pub(super) fn of(counts: Counts) -> Vec<Figure> {
    let Counts { capacity, available, held, booked, blocked } = counts;
    let mut from = 0;
    [
        ("booked", "booked", booked),
        ("held", "held", held),
        ("available", "free", available),
        ("blocked", "blocked", blocked),
    ]
    .into_iter()
    .map(|(state, word, count)| {
        let width = count * 1000 / capacity.max(1);
        // What is there at all is seen, however little it is.
        let width = if count > 0 { width.max(4) } else { 0 };
        let figure = Figure { state, word, count: words::count(count), from, width };
        from += width;
        figure
    })
    .collect()
}

/// Whether it sells, in a word.
pub(super) struct Selling {
    pub tone: &'static str,
    pub word: String,
}

impl Selling {
    pub(super) fn of(view: &OfferView, now: Moment) -> Self {
        let (tone, word) = match Sale::of(view, now) {
            Sale::Open => ("good", "On sale".to_owned()),
            Sale::NotYet { opens, .. } => ("held", format!("Opens {opens}")),
            Sale::Closed => ("", "Closed".to_owned()),
            Sale::SoldOut if view.counts.booked == view.counts.capacity => ("good", "Sold out".to_owned()),
            Sale::SoldOut => ("held", "Nothing free".to_owned()),
        };
        Self { tone, word }
    }
}

/// Whether there is anything to count: a calendar is counted by range only.
pub(super) fn counted(view: &OfferView) -> Option<Vec<Figure>> {
    match view.offer.inventory() {
        Inventory::Slots(_) => None,
        Inventory::Seats(_) | Inventory::Stock(_) => Some(of(view.counts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_whatever_is_there() {
        let counts = Counts { capacity: 20_480, available: 20_479, held: 1, booked: 0, blocked: 0 };
        let widths: Vec<_> = of(counts).iter().map(|figure| (figure.state, figure.width > 0)).collect();
        assert_eq!(widths, [("booked", false), ("held", true), ("available", true), ("blocked", false)]);
    }
}
