//! Counts as organisers look at them: figures, and a bar of the same.

use holdfast_domain::{
    Counts, Inventory, InventoryDef, Moment, Offer, OfferId,
    schedule::{Calendar, Date},
};
use holdfast_engine::ledger::OfferView;
use jiff::ToSpan;

use super::super::{shop::Sale, words};
use crate::{app::App, problem::Problem, wire::availability::cell};

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

/// What there is of an offer, by state, and what of it was counted.
pub(super) struct Counted {
    pub figures: Vec<Figure>,
    pub capacity: String,
    /// Of a calendar, which goes on for ever: what of it this is.
    pub part: Option<String>,
}

impl Counted {
    pub(super) async fn of(app: &App, view: &OfferView) -> Result<Self, Problem> {
        let (counts, part) = match view.offer.inventory() {
            Inventory::Seats(_) | Inventory::Stock(_) => (view.counts, None),
            Inventory::Slots(calendar) => {
                let minutes = words::plural(calendar_grid(&view.offer).into(), "minute");
                let part = format!("Today and the six days after it, in times of {minutes}");
                (week(app, view.offer.id(), calendar).await?, Some(part))
            }
        };
        Ok(Self { figures: of(counts), capacity: words::count(counts.capacity), part })
    }
}

fn calendar_grid(offer: &Offer) -> u32 {
    match &offer.def().inventory {
        InventoryDef::Slots(calendar) => calendar.grid_minutes,
        InventoryDef::Seats(_) | InventoryDef::Stock(_) => 0,
    }
}

/// What the next seven days of a calendar add up to, as its own clocks count days.
async fn week(app: &App, id: &OfferId, calendar: &Calendar) -> Result<Counts, Problem> {
    let today = today(calendar, app.clock.now());
    let Ok(days) = calendar.days(today, today.saturating_add(6.days())) else { return Ok(Counts::default()) };
    let snapshot = app.ledger().snapshot(id, Some(calendar.cells(days))).await?;
    let snapshot = snapshot.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
    Ok(calendar.counts(days, |unit| cell(&snapshot, unit)))
}

pub(super) fn today(calendar: &Calendar, now: Moment) -> Date {
    words::clock(calendar.local(now)).date()
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
