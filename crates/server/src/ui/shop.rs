//! The list of what is on sale.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{HoldState, Inventory, Moment, Money, Offer};
use holdfast_engine::ledger::{HoldView, OfferView};

use super::{Visitor, hold, own_page, words};
use crate::{app::Shared, problem::Problem, wire::query::OffersQuery};

#[derive(Template)]
#[template(path = "shop.html")]
struct Shop {
    holding: Vec<Holding>,
    offers: Vec<OfferCard>,
    next: Option<String>,
    /// Whether this server has a lab to link to.
    has_lab: bool,
}

/// What the visitor holds, to go on with.
struct Holding {
    id: String,
    what: String,
    ms: i64,
    left: String,
    paying: bool,
}

impl Holding {
    fn of(view: &HoldView) -> Self {
        let lines = hold::lines(view);
        let first = lines.first().map(|line| format!("{}: {}", line.name, line.what)).unwrap_or_default();
        let what = match lines.len() {
            0 | 1 => first,
            many => format!("{first} and {} more", words::count(many as u64 - 1)),
        };
        let ms = view.hold.ends_at().ms_since(view.at).max(0);
        let paying = matches!(view.hold.state, HoldState::Paying { .. });
        Self { id: view.hold.id.to_string(), what, ms, left: words::minutes_and_seconds(ms), paying }
    }
}

/// An offer as the list shows it.
struct OfferCard {
    id: String,
    name: String,
    kind: &'static str,
    price: Price,
    sale: Sale,
    left: Option<Left>,
}

/// What the cheapest of it costs, and whether all of it costs that.
pub(super) struct Price {
    pub from: bool,
    pub amount: String,
}

impl Price {
    pub(super) fn of(offer: &Offer) -> Self {
        let prices: Vec<Money> = match offer.inventory() {
            Inventory::Seats(plan) => plan.sections().iter().map(|section| section.price).collect(),
            Inventory::Stock(lines) => lines.iter().map(|line| line.price).collect(),
            Inventory::Slots(calendar) => calendar.services().iter().map(|service| service.price).collect(),
        };
        let (least, most) = (prices.iter().min(), prices.iter().max());
        let amount = words::money(least.copied().unwrap_or(Money::ZERO), offer.currency());
        Self { from: least != most, amount }
    }
}

/// Whether it can be bought now, as far as the clock and the counts tell.
pub(super) enum Sale {
    Open,
    NotYet { opens: String, at: String },
    Closed,
    SoldOut,
}

impl Sale {
    pub(super) fn of(view: &OfferView, now: Moment) -> Self {
        let def = view.offer.def();
        match def.opens_at {
            Some(opens) if now < opens => {
                return Self::NotYet { opens: words::in_utc(opens), at: opens.to_string() };
            }
            _ => {}
        }
        match (view.offer.on_sale(now), view.counts.available, view.counts.capacity) {
            (false, ..) => Self::Closed,
            (true, 0, 1..) => Self::SoldOut,
            (true, ..) => Self::Open,
        }
    }
}

/// How much is left; a calendar is not counted as a whole.
pub(super) struct Left {
    pub words: String,
    pub percent: u64,
}

impl Left {
    pub(super) fn of(view: &OfferView) -> Option<Self> {
        let counts = view.counts;
        let words = match view.offer.inventory() {
            Inventory::Slots(_) => return None,
            Inventory::Seats(_) => {
                format!(
                    "{} of {} free",
                    words::count(counts.available),
                    words::plural(counts.capacity, "seat")
                )
            }
            Inventory::Stock(_) => {
                format!("{} of {} left", words::count(counts.available), words::count(counts.capacity))
            }
        };
        Some(Self { words, percent: counts.available * 100 / counts.capacity.max(1) })
    }
}

impl OfferCard {
    fn of(view: &OfferView, now: Moment) -> Self {
        Self {
            id: view.offer.id().to_string(),
            name: view.offer.def().name.clone(),
            kind: words::kind(view.offer.kind()),
            price: Price::of(&view.offer),
            sale: Sale::of(view, now),
            left: Left::of(view),
        }
    }
}

/// `GET /`.
pub(crate) async fn list(State(app): State<Shared>, visitor: Visitor, uri: Uri) -> Result<Response, Problem> {
    let (after, limit) = OffersQuery::of_page(&uri)?.page()?;
    let page = app.ledger().offers(after, limit).await?;
    let now = app.clock.now();
    let offers = page.data.iter().map(|view| OfferCard::of(view, now)).collect();
    let holding = visitor.holding(&app).await?.iter().map(Holding::of).collect();
    own_page(&visitor, &Shop { holding, offers, next: page.next, has_lab: app.lab.is_some() })
}
