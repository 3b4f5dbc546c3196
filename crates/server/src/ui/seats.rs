//! Seats to choose from: by section and row in a form, or the best there are.

use askama::Template;
use holdfast_domain::{Offer, Unit, UnitState, seat_plan::SeatPlan};
use holdfast_engine::ledger::{Snapshot, SnapshotUnits};

use super::{Form, form, offer::Head, words};

/// Up to this many seats are shown at once; of a larger plan, one section.
const SHOWN_AT_ONCE: u32 = 400;

#[derive(Template)]
#[template(path = "offer_seats.html")]
pub(super) struct SeatsPage {
    head: Head,
    sections: Vec<Section>,
    /// The sections whose seats are shown.
    open: Vec<OpenSection>,
    categories: Vec<String>,
    most: u32,
    /// As many as the form begins with: people come in pairs, where they may.
    usual: u32,
    /// What the visitor holds, by id.
    holds: String,
    key: String,
}

/// A section as a table shows it.
struct Section {
    at: usize,
    name: String,
    category: String,
    price: String,
    free: u32,
    seats: u32,
    open: bool,
}

struct OpenSection {
    name: String,
    price: String,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    seats: Vec<Seat>,
}

struct Seat {
    unit: String,
    number: u32,
    state: UnitState,
}

impl Seat {
    fn is_free(&self) -> bool {
        self.state == UnitState::Available
    }
}

/// How many seats the form for the best ones offers where the offer sets no limit.
const MOST: u32 = 10;

impl SeatsPage {
    pub(super) fn of(
        head: Head,
        offer: &Offer,
        plan: &SeatPlan,
        snapshot: &Snapshot,
        query: &Form,
        holds: String,
    ) -> Self {
        let units = match &snapshot.units {
            SnapshotUnits::Dense(units) => units,
            SnapshotUnits::Cells(_) => &[][..],
        };
        let all = plan.seats() <= SHOWN_AT_ONCE;
        let chosen = query.number("section").map(|at| at as usize);
        let is_open = |at: usize| all || chosen == Some(at);
        let sections = sections(offer, plan, units, &is_open);
        let open = sections.iter().filter(|section| section.open).map(|section| open(plan, units, section));
        let mut categories: Vec<String> = Vec::new();
        for section in plan.sections() {
            if !categories.contains(&section.category) {
                categories.push(section.category.clone());
            }
        }
        let most = head.limit.unwrap_or(MOST).min(MOST);
        Self {
            open: open.collect(),
            sections,
            categories,
            most,
            usual: most.min(2),
            holds,
            key: form::fresh_key(),
            head,
        }
    }
}

fn sections(offer: &Offer, plan: &SeatPlan, units: &[Unit], is_open: &dyn Fn(usize) -> bool) -> Vec<Section> {
    let listed = |(at, section): (usize, &holdfast_domain::seat_plan::Section)| Section {
        at,
        name: section.name.clone(),
        category: section.category.clone(),
        price: words::money(section.price, offer.currency()),
        free: 0,
        seats: 0,
        open: is_open(at),
    };
    let mut sections: Vec<Section> = plan.sections().iter().enumerate().map(listed).collect();
    for row in plan.rows() {
        let section = &mut sections[row.section as usize];
        let free =
            row.units().filter_map(|unit| units.get(unit as usize)).filter(|unit| unit.remaining(1) > 0);
        section.free += free.count() as u32;
        section.seats += row.seats;
    }
    sections
}

fn open(plan: &SeatPlan, units: &[Unit], section: &Section) -> OpenSection {
    let rows = plan.rows().iter().filter(|row| row.section as usize == section.at);
    let seat = |(number, unit): (u32, u32)| Seat {
        unit: plan.key(unit),
        number,
        state: units.get(unit as usize).map_or(UnitState::Available, |unit| unit.state(1)),
    };
    let rows =
        rows.map(|row| Row { name: row.name.clone(), seats: (1..).zip(row.units()).map(seat).collect() });
    OpenSection { name: section.name.clone(), price: section.price.clone(), rows: rows.collect() }
}
