//! The page of one offer.

use askama::Template;
use axum::{extract::State, response::Response};
use holdfast_domain::{Currency, Inventory, Moment, seat_plan::SeatPlan};
use holdfast_engine::ledger::{OfferView, Snapshot, SnapshotUnits};

use super::{
    Visitor, own_page,
    shop::{Left, Price, Sale},
    words,
};
use crate::{app::Shared, problem::Problem, routes::InOffer};

/// What stands above every kind of offer.
pub(super) struct Head {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub price: Price,
    pub sale: Sale,
    pub left: Option<Left>,
    pub hold_for: String,
    pub limit: Option<u32>,
}

impl Head {
    pub(super) fn of(view: &OfferView, now: Moment) -> Self {
        let def = view.offer.def();
        Self {
            id: def.id.to_string(),
            name: def.name.clone(),
            kind: words::kind(view.offer.kind()),
            price: Price::of(&view.offer),
            sale: Sale::of(view, now),
            left: Left::of(view),
            hold_for: words::seconds(def.hold_ttl_s),
            limit: def.limit_per_holder,
        }
    }
}

#[derive(Template)]
#[template(path = "offer_seats.html")]
struct SeatsPage {
    head: Head,
    sections: Vec<SectionRow>,
}

#[derive(Template)]
#[template(path = "offer_plain.html")]
struct PlainPage {
    head: Head,
}

/// A section as a table shows it.
struct SectionRow {
    name: String,
    category: String,
    price: String,
    free: u32,
    seats: u32,
}

/// `GET /o/{offer}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    InOffer(id): InOffer,
    visitor: Visitor,
) -> Result<Response, Problem> {
    let unknown = || Problem::unknown_offer(id.as_str());
    let view = app.ledger().offer(&id).await?.ok_or_else(unknown)?;
    let head = Head::of(&view, app.clock.now());
    match view.offer.inventory() {
        Inventory::Seats(plan) => {
            let snapshot = app.ledger().snapshot(&id, None).await?.ok_or_else(unknown)?;
            let sections = sections(plan, &snapshot, view.offer.currency());
            own_page(&visitor, &SeatsPage { head, sections })
        }
        Inventory::Stock(_) | Inventory::Slots(_) => own_page(&visitor, &PlainPage { head }),
    }
}

fn sections(plan: &SeatPlan, snapshot: &Snapshot, currency: Currency) -> Vec<SectionRow> {
    let mut sections: Vec<SectionRow> = plan
        .sections()
        .iter()
        .map(|section| SectionRow {
            name: section.name.clone(),
            category: section.category.clone(),
            price: words::money(section.price, currency),
            free: 0,
            seats: 0,
        })
        .collect();
    let SnapshotUnits::Dense(units) = &snapshot.units else { return sections };
    for row in plan.rows() {
        let section = &mut sections[row.section as usize];
        let free = row.units().filter(|&unit| units[unit as usize].remaining(1) > 0).count();
        section.free += free as u32;
        section.seats += row.seats;
    }
    sections
}
