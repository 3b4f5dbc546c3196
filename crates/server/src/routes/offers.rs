//! Offers: putting something on sale, changing it, and taking units of it off sale.

use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{Command, OfferId};

use super::{About, InOffer, Of};
use crate::{
    app::{Shared, json},
    body::FromAdmin,
    problem::Problem,
    wire::{
        self, List,
        offer::{Offer, OfferSummary},
        offer_in::{AmendOffer, NewOffer, UnitList},
        query::{self, OffersQuery},
    },
};

/// Put something on sale.
///
/// `id` is optional; without one a readable id is made. Exactly the inventory of its `kind` is given.
#[utoipa::path(post, path = "/v1/offers", tag = "Offers", operation_id = "createOffer",
    request_body(content = NewOffer, example = json!({"id": "hall", "name": "Night at the Hall", "kind": "seats",
        "currency": "EUR", "hold_ttl_s": 600, "limit_per_holder": 6,
        "seats": {"sections": [{"name": "Stalls", "category": "A", "price": 4500,
            "rows": [{"name": "A", "seats": 20}, {"name": "B", "seats": 20}]}]}})),
    responses((status = 201, description = "The offer as it is now on sale.", body = Offer<'_>)))]
pub(crate) async fn create(
    State(app): State<Shared>,
    FromAdmin(sent): FromAdmin,
) -> Result<Response, Problem> {
    let offer = app.sensible(&sent, sent.json::<NewOffer>().and_then(NewOffer::offer)).await?;
    let key = sent.idempotency();
    app.submit(Command::CreateOffer { offer }, sent.caller.actor, key).await
}

/// List what is on sale.
///
/// In the order the offers were made, without the definitions of their units.
#[utoipa::path(get, path = "/v1/offers", tag = "Offers", operation_id = "listOffers", params(OffersQuery),
    responses((status = 200, description = "A page of offers.", body = List<OfferSummary<'_>>)))]
pub(crate) async fn list(State(app): State<Shared>, uri: Uri) -> Result<Response, Problem> {
    let (after, limit) = query::parse::<OffersQuery>(&uri)?.page()?;
    let page = app.ledger().offers(after, limit).await?;
    let data = page.data.iter().map(OfferSummary::of).collect();
    Ok(json(wire::json(&List { data, next: page.next })))
}

/// Read an offer.
#[utoipa::path(get, path = "/v1/offers/{offer}", tag = "Offers", operation_id = "getOffer",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "The offer.", body = Offer<'_>)))]
pub(crate) async fn read(State(app): State<Shared>, Of(id): InOffer) -> Result<Response, Problem> {
    let view = app.ledger().offer(&id).await?.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
    Ok(json(wire::json(&Offer::of(&view))))
}

/// Change an offer.
///
/// Units and prices stay what they are; a stock line's capacity cannot go below what is held and booked.
#[utoipa::path(patch, path = "/v1/offers/{offer}", tag = "Offers", operation_id = "amendOffer",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    request_body(content = AmendOffer, example = json!({"name": "Another Night at the Hall"})),
    responses((status = 200, description = "The offer as it is now.", body = Offer<'_>)))]
pub(crate) async fn amend(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    let amendment = sent.json::<AmendOffer>()?.amendment()?;
    let key = sent.idempotency();
    app.submit(Command::AmendOffer { offer, amendment }, sent.caller.actor, key).await
}

/// Take units off sale.
///
/// Stops the sale of what is left of each; a unit that is wholly held or booked is refused.
#[utoipa::path(post, path = "/v1/offers/{offer}/block", tag = "Offers", operation_id = "blockUnits",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    request_body(content = UnitList, example = json!({"units": ["A-1"]})),
    responses((status = 200, description = "The offer as it is now.", body = Offer<'_>)))]
pub(crate) async fn block(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    let units = app.sensible(&sent, sent.json::<UnitList>().and_then(UnitList::units)).await?;
    let key = sent.idempotency();
    app.submit(Command::Block { offer, units }, sent.caller.actor, key).await
}

/// Put units back on sale.
#[utoipa::path(post, path = "/v1/offers/{offer}/unblock", tag = "Offers", operation_id = "unblockUnits",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    request_body(content = UnitList, example = json!({"units": ["A-1"]})),
    responses((status = 200, description = "The offer as it is now.", body = Offer<'_>)))]
pub(crate) async fn unblock(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    let units = app.sensible(&sent, sent.json::<UnitList>().and_then(UnitList::units)).await?;
    let key = sent.idempotency();
    app.submit(Command::Unblock { offer, units }, sent.caller.actor, key).await
}
