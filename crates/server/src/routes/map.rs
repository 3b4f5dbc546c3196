//! The live map of an offer of seats: its layout, the states of its seats, and their changes as they happen.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use holdfast_domain::{Inventory, Offer, Version, seat_plan::SeatPlan};
use holdfast_engine::{
    ledger::SnapshotUnits,
    outbox::live_map::{Frame, Subscription},
};
use serde::Deserialize;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use super::{InOffer, Of, tagged};
use crate::{
    app::{Shared, json},
    problem::{Code, Problem},
    wire::{
        self,
        map::{MapEvent, MapLayout, MapQuery, MapStatus, hash},
        query,
    },
};

fn plan_of(offer: &Offer) -> Result<&SeatPlan, Problem> {
    match offer.inventory() {
        Inventory::Seats(plan) => Ok(plan),
        _ => Err(Problem::new(
            Code::NotFound,
            format!("{} does not sell seats, so it has no map.", offer.id()),
        )),
    }
}

/// Read the layout of the seats.
///
/// It never changes. Asked for by its hash (`?v=`, from `map/status`) it may be kept for good.
#[utoipa::path(get, path = "/v1/offers/{offer}/map", tag = "Live map", operation_id = "getMap",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id."), MapQuery),
    responses(
        (status = 200, description = "Where the seats are.", body = MapLayout<'_>),
        (status = 304, description = "It is the layout named in `If-None-Match`.")))]
pub(crate) async fn layout(
    State(app): State<Shared>,
    Of(id): InOffer,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = query::parse::<MapQuery>(&uri)?.hash()?;
    let view = app.ledger().offer(&id).await?.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
    let body = wire::json(&MapLayout::of(&view.offer, plan_of(&view.offer)?));
    let hash = hash(&body);
    let caching = match asked {
        Some(asked) if asked == hash => "public, max-age=31536000, immutable",
        _ => "no-cache",
    };
    Ok(tagged(&headers, &format!("\"{hash}\""), caching, || json(body)))
}

/// Read the states of all seats.
///
/// Two bits a seat at one version; `map/stream` continues from that version.
#[utoipa::path(get, path = "/v1/offers/{offer}/map/status", tag = "Live map", operation_id = "getMapStatus",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses(
        (status = 200, description = "The states of the seats.", body = MapStatus<'_>),
        (status = 304, description = "Nothing has changed since the version in `If-None-Match`.")))]
pub(crate) async fn status(
    State(app): State<Shared>,
    Of(id): InOffer,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let unknown = || Problem::unknown_offer(id.as_str());
    let snapshot = app.live_map.snapshot(&id).await?.ok_or_else(unknown)?;
    let map = hash(&wire::json(&MapLayout::of(&snapshot.offer, plan_of(&snapshot.offer)?)));
    let SnapshotUnits::Dense(units) = &snapshot.units else { return Err(unknown()) };
    let tag = format!("W/\"{}\"", snapshot.version);
    Ok(tagged(&headers, &tag, "no-cache", || json(wire::json(&MapStatus::of(&snapshot, units, map)))))
}

/// Where a stream goes on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// The version from which to go on, for those who cannot send `Last-Event-ID`.
    since: Option<String>,
}

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Follow the seats as they change.
///
/// Server-sent events. A delta's `id` is the version it leads to, its `data` one object
/// `{"from":"1.42","to":"1.43","d":"h12-15,40b7"}`: for each state its letter (`a` available, `h` held, `b` booked,
/// `x` blocked) and the numbers of the seats that now are in it. `Last-Event-ID` goes on without a gap; where that is
/// too old, `event: reset` with `{"version":"…"}` says to read `map/status` again.
#[utoipa::path(get, path = "/v1/offers/{offer}/map/stream", tag = "Live map", operation_id = "streamMap",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id."), StreamQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The version from which to go on.")),
    responses((status = 200, description = "Deltas, until either side ends it.", content_type = "text/event-stream",
        body = MapEvent)))]
pub(crate) async fn stream(
    State(app): State<Shared>,
    Of(id): InOffer,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = query::parse::<StreamQuery>(&uri)?;
    let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default());
    let seen = seen(header.or(asked.since.as_deref()))?;
    let unknown = || Problem::unknown_offer(id.as_str());
    plan_of(&app.ledger().offer(&id).await?.ok_or_else(unknown)?.offer)?;
    let place = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| Problem::overloaded())?;
    let frames = app.live_map.subscribe(&id, seen).await?.ok_or_else(unknown)?;
    let viewer = Viewer {
        frames,
        closing: app.closing.clone(),
        keep_alive: app.limits.stream_keep_alive,
        greeted: false,
        _place: place,
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Asks proxies that gather answers not to gather this one.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    let events = stream::unfold(viewer, |mut viewer| async move {
        let event = viewer.next().await?;
        Some((Ok::<_, Infallible>(event), viewer))
    });
    Ok((headers, Body::from_stream(events)).into_response())
}

/// An empty id is what a browser sends that has seen nothing. One of another history is too old by definition.
fn seen(id: Option<&str>) -> Result<Option<Version>, Problem> {
    match id {
        None | Some("") => Ok(None),
        Some(id) => Ok(Some(id.parse().unwrap_or(Version(u64::MAX)))),
    }
}

/// One who watches, for as long as the connection lives.
struct Viewer {
    frames: Subscription,
    closing: CancellationToken,
    keep_alive: Duration,
    greeted: bool,
    _place: OwnedSemaphorePermit,
}

impl Viewer {
    /// The next bytes of the stream; `None` ends it.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            self.greeted = true;
            // Something at once, so that the browser knows it is connected, and how soon to come back.
            return Some(Bytes::from_static(b"retry: 2000\n\n"));
        }
        tokio::select! {
            biased;
            () = self.closing.cancelled() => None,
            frame = timeout(self.keep_alive, self.frames.next()) => match frame {
                Ok(frame) => frame.map(|frame| event(&frame)),
                Err(_) => Some(Bytes::from_static(b":\n\n")),
            },
        }
    }
}

fn event(frame: &Frame) -> Bytes {
    match frame {
        Frame::Delta { id, json, .. } => {
            let mut text = format!("id: {id}\ndata: ").into_bytes();
            text.reserve_exact(json.len() + 2);
            text.extend_from_slice(json);
            text.extend_from_slice(b"\n\n");
            text.into()
        }
        Frame::Reset { version } => {
            format!("event: reset\nid: {version}\ndata: {{\"version\":\"{version}\"}}\n\n").into()
        }
    }
}
