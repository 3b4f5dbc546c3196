//! Bookings: holds made permanent.

use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::Command;
use holdfast_engine::{ledger::Role, mint};

use super::OfBooking;
use crate::{
    app::{Shared, json},
    auth::Caller,
    body::FromAnyone,
    problem::{Code, Problem},
    wire::{
        self, List,
        booking::{Booking, ConfirmHold},
        query::{self, BookingsQuery},
    },
};

/// Book a hold.
///
/// Needs an `Idempotency-Key`: sending it twice books once.
#[utoipa::path(post, path = "/v1/bookings", tag = "Bookings", operation_id = "createBooking",
    request_body(content = ConfirmHold<'_>,
        example = json!({"hold": "hold_00000000000000000000000000", "payment": {"provider": "none"}})),
    responses((status = 201, description = "The booking.", body = Booking<'_>)))]
pub(crate) async fn create(
    State(app): State<Shared>,
    FromAnyone(sent): FromAnyone,
) -> Result<Response, Problem> {
    let Some(key) = sent.idempotency() else {
        return Err(Problem::new(Code::IdempotencyKeyRequired, "A booking needs an Idempotency-Key header."));
    };
    let hold = sent.json::<ConfirmHold<'_>>()?.hold()?;
    let command = Command::Confirm { booking: mint::booking_id(), hold };
    app.submit(command, sent.caller.actor, Some(key)).await
}

/// List bookings.
///
/// In the order they were made. Needs an API key.
#[utoipa::path(get, path = "/v1/bookings", tag = "Bookings", operation_id = "listBookings", params(BookingsQuery),
    responses((status = 200, description = "A page of bookings.", body = List<Booking<'_>>)))]
pub(crate) async fn list(State(app): State<Shared>, caller: Caller, uri: Uri) -> Result<Response, Problem> {
    caller.require(Role::Seller)?;
    let (filter, page) = query::parse::<BookingsQuery>(&uri)?.request()?;
    let page = app.ledger().bookings(filter, page).await?;
    let data = page.data.iter().map(Booking::of).collect();
    Ok(json(wire::json(&List { data, next: page.next })))
}

/// Read a booking.
#[utoipa::path(get, path = "/v1/bookings/{id}", tag = "Bookings", operation_id = "getBooking",
    params(("id" = wire::schema::BookingId, Path, description = "The booking's id.")),
    responses((status = 200, description = "The booking.", body = Booking<'_>)))]
pub(crate) async fn read(
    State(app): State<Shared>,
    OfBooking(id): OfBooking,
    caller: Caller,
) -> Result<Response, Problem> {
    let view = app.ledger().booking(id).await?;
    let own = view.filter(|view| caller.actor.may_touch(&view.booking.holder));
    Ok(json(wire::json(&Booking::of(&own.ok_or_else(Problem::unknown_booking)?))))
}

/// Cancel a booking.
///
/// Frees the units at once. A second time changes nothing.
#[utoipa::path(post, path = "/v1/bookings/{id}/cancel", tag = "Bookings", operation_id = "cancelBooking",
    params(("id" = wire::schema::BookingId, Path, description = "The booking's id.")),
    responses((status = 200, description = "The booking, cancelled.", body = Booking<'_>)))]
pub(crate) async fn cancel(
    State(app): State<Shared>,
    OfBooking(booking): OfBooking,
    FromAnyone(sent): FromAnyone,
) -> Result<Response, Problem> {
    sent.nothing()?;
    let key = sent.idempotency();
    app.submit(Command::Cancel { booking }, sent.caller.actor, key).await
}
