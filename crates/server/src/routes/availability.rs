//! What can be had right now, and how old that news is.

use axum::{
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use bytes::Bytes;
use holdfast_engine::ledger::{Snapshot, SnapshotUnits};

use super::{InOffer, Of, has_it, tagged};
use crate::{
    app::{Shared, json},
    problem::Problem,
    wire::{
        self,
        availability::{Availability, AvailabilityQuery, Range, etag},
        query,
    },
};

/// From this many units on, writing an answer takes long enough to keep the thread's other requests waiting.
const MANY_UNITS: usize = 4_096;

/// See what is available.
///
/// Advisory: `as_of` says how old it is, and the ledger decides. `from`, `to` and `service` choose the part of a
/// calendar to show; other offers show everything.
#[utoipa::path(get, path = "/v1/offers/{offer}/availability", tag = "Offers", operation_id = "getAvailability",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id."), AvailabilityQuery),
    responses(
        (status = 200, description = "The units and their states.", body = Availability<'_>),
        (status = 304, description = "Nothing has changed since the version in `If-None-Match`.")))]
pub(crate) async fn read(
    State(app): State<Shared>,
    Of(id): InOffer,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let query = query::parse::<AvailabilityQuery>(&uri)?;
    let unknown = || Problem::unknown_offer(id.as_str());
    let offer = app.ledger().offer(&id).await?.ok_or_else(unknown)?.offer;
    let range = query.range(&offer, app.clock.now())?;
    let cells = range.as_ref().map(|range| range.cells.clone());
    let snapshot = app.ledger().snapshot(&id, cells).await?.ok_or_else(unknown)?;
    let tag = etag(&snapshot, range.as_ref());
    let body = if has_it(&headers, &tag) { Bytes::new() } else { written(snapshot, range).await? };
    Ok(tagged(&headers, &tag, "no-cache", || json(body)))
}

async fn written(snapshot: Snapshot, range: Option<Range>) -> Result<Bytes, Problem> {
    let many = match &snapshot.units {
        SnapshotUnits::Dense(units) => units.len() >= MANY_UNITS,
        // Days are bounded, but a fine grid and many services add up.
        SnapshotUnits::Cells(_) => true,
    };
    let write = move || wire::json(&Availability::of(&snapshot, range.as_ref()));
    if !many {
        return Ok(write());
    }
    let written = tokio::task::spawn_blocking(write).await;
    written.map_err(|fault| Problem::internal("The answer could not be written.", fault.to_string()))
}
