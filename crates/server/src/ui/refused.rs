//! A no, as a page with a way forward.

use askama::Template;
use axum::response::{IntoResponse, Response};
use holdfast_domain::{Ask, Conflict, Inventory, Kind, Limit, Money, Offer, OfferId, Pick, Refusal};

use super::{Posted, form, led, own_page, words};
use crate::{app::App, problem::Problem};

#[derive(Template)]
#[template(path = "refused.html")]
struct Refused {
    offer: String,
    name: String,
    title: &'static str,
    why: String,
    alternatives: Vec<Alternative>,
    /// For whoever takes one of them.
    key: String,
}

/// Something to have instead, one tap away.
struct Alternative {
    label: String,
    more: String,
    fields: Vec<(&'static str, String)>,
}

/// A refusal to hold. What cannot be explained on this page is a problem like any other.
pub(super) async fn to_hold(
    app: &App,
    posted: &Posted,
    offer: &OfferId,
    asks: &[Ask],
    refusal: Refusal,
) -> Result<Response, Problem> {
    let problem = Problem::from(refusal.clone());
    let status = problem.code.status();
    let view = app.ledger().offer(offer).await?.ok_or_else(|| Problem::unknown_offer(offer.as_str()))?;
    let (title, why, alternatives) = match refusal {
        Refusal::UnitTaken(conflict) => {
            ("Just taken", taken(&conflict, &view.offer), instead(&conflict, &view.offer, asks))
        }
        Refusal::UnitBlocked(conflict) => {
            ("Off sale", off_sale(&conflict, &view.offer), instead(&conflict, &view.offer, asks))
        }
        Refusal::SoldOut { .. } => ("Not enough left", sold_out(asks), Vec::new()),
        Refusal::LimitReached(limit) => {
            ("That is more than one person may have", limit_words(&limit, view.offer.kind()), Vec::new())
        }
        Refusal::NotOnSale { opens_at, .. } => ("Not on sale", not_on_sale(opens_at), Vec::new()),
        Refusal::HoldReleased | Refusal::HoldExpired | Refusal::UnknownHold => {
            return led::go(posted, &format!("/o/{offer}"));
        }
        Refusal::AlreadyBooked { booking } => return led::go(posted, &format!("/bookings/{booking}")),
        Refusal::UnknownOffer { .. }
        | Refusal::UnknownUnit { .. }
        | Refusal::UnknownBooking
        | Refusal::InvalidTime { .. }
        | Refusal::Invalid(_)
        | Refusal::OfferExists { .. }
        | Refusal::NotCancellable { .. } => return Err(problem),
    };
    let name = view.offer.def().name.clone();
    let page = Refused { offer: offer.to_string(), name, title, why, alternatives, key: form::fresh_key() };
    Ok((status, own_page(&posted.visitor, &page)?).into_response())
}

fn taken(conflict: &Conflict, offer: &Offer) -> String {
    let units = in_the_way(conflict, offer);
    match conflict.conflicts.len() {
        1 => format!("Somebody was quicker: {units} is held or booked."),
        _ => format!("Somebody was quicker: {units} are held or booked. Nothing of your choice was taken."),
    }
}

/// Nobody was quicker: it is not for sale.
fn off_sale(conflict: &Conflict, offer: &Offer) -> String {
    let units = in_the_way(conflict, offer);
    match conflict.conflicts.len() {
        1 => format!("The organiser does not sell {units} at the moment."),
        _ => format!("The organiser does not sell {units} at the moment. Nothing of your choice was taken."),
    }
}

/// What stands in the way, as people would say it; of many, the first few.
fn in_the_way(conflict: &Conflict, offer: &Offer) -> String {
    let units: Vec<String> = conflict.conflicts.iter().map(|way| unit_words(offer, &way.unit)).collect();
    let (shown, rest) = units.split_at(units.len().min(6));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join("; "))
}

/// A unit's key as people would say it.
fn unit_words(offer: &Offer, key: &str) -> String {
    match offer.inventory() {
        Inventory::Seats(plan) => match plan.find(key) {
            Some(unit) => words::seat(plan, unit),
            None => key.to_owned(),
        },
        Inventory::Stock(_) => key.to_owned(),
        Inventory::Slots(calendar) => match calendar.find(key) {
            Some(unit) => words::day_and_time(calendar, calendar.begins(unit)),
            None => key.to_owned(),
        },
    }
}

fn instead(conflict: &Conflict, offer: &Offer, asks: &[Ask]) -> Vec<Alternative> {
    conflict.alternatives.iter().filter_map(|units| alternative(offer, asks, units)).collect()
}

fn alternative(offer: &Offer, asks: &[Ask], units: &[String]) -> Option<Alternative> {
    match offer.inventory() {
        Inventory::Seats(plan) => {
            let section = plan.section_of(plan.find(units.first()?)?);
            let prices = units.iter().filter_map(|unit| offer.price(plan.find(unit)?));
            let together = Money::new(prices.map(Money::minor).sum()).ok()?;
            let price = words::money(together, offer.currency());
            let fields = units.iter().map(|unit| ("unit", unit.clone())).collect();
            let label = words::seats(plan, units);
            Some(Alternative { label, more: format!("{} · {price}", section.name), fields })
        }
        Inventory::Slots(calendar) => {
            let service = asks.iter().find_map(|ask| match &ask.pick {
                Pick::Slot { service, .. } => Some(service.clone()),
                _ => None,
            })?;
            let start = calendar.begins(calendar.find(units.first()?)?);
            let fields = vec![("service", service.clone()), ("start", calendar.local(start).to_string())];
            Some(Alternative {
                label: words::day_and_time(calendar, start),
                more: words::capital(&service),
                fields,
            })
        }
        Inventory::Stock(_) => None,
    }
}

fn sold_out(asks: &[Ask]) -> String {
    let wanted: u64 = asks
        .iter()
        .map(|ask| match &ask.pick {
            Pick::Unit { qty, .. } | Pick::Best { qty, .. } => u64::from(*qty),
            Pick::Slot { .. } => 1,
        })
        .sum();
    let advice = "Ask for fewer, or look again in a little while: holds run out and bookings are cancelled.";
    format!("There are not {} to be had together now. {advice}", words::count(wanted))
}

/// In the buyer's own figures, and what they are figures of.
fn limit_words(limit: &Limit, kind: Kind) -> String {
    let thing = match kind {
        Kind::Seats => "seat",
        Kind::Slots => "appointment",
        Kind::Stock => "ticket",
    };
    match limit {
        Limit::PerHolder { limit, used: 0, asked, .. } => {
            format!("You can have up to {}, and asked for {asked}.", words::plural((*limit).into(), thing))
        }
        Limit::PerHolder { limit, used, .. } => format!(
            "You can have up to {} and already have {used}. Give some back to choose others.",
            words::plural((*limit).into(), thing)
        ),
        Limit::Extensions { limit } => format!("A hold can be extended {limit} times."),
        Limit::Unconfirmed { limit, asked, .. } => format!(
            "At most {limit} can be held at a time, and you asked for {asked}. Choose fewer, and book them before the next."
        ),
    }
}

fn not_on_sale(opens_at: Option<holdfast_domain::Moment>) -> String {
    match opens_at {
        Some(opens) => format!("The sale opens on {}.", words::in_utc(opens)),
        None => "The sale has closed.".to_owned(),
    }
}
