//! Bookings: holds made permanent.

use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{Actor, BookingId, Command, HoldId, Money};
use holdfast_engine::{
    ledger::{IdempotencyKey, Role},
    mint,
    payments::{Answered, Beginning},
};

use super::{About, Of, OfBooking, private};
use crate::{
    app::{App, Shared, json, worded},
    auth::Caller,
    body::{FromAdmin, FromAnyone, Sent},
    payments::{self, Desk},
    problem::{Code, Problem},
    wire::{
        self, List,
        booking::{Booking, ConfirmHold, Paying, ResolvePayment},
        query::{self, BookingsQuery},
    },
};

/// Book a hold.
///
/// Needs an `Idempotency-Key`: sending it twice books once. With the provider `stripe` the booking is `pending` until it
/// is paid: by the buyer's browser with the answer's `client_secret`, or at once by the server with `payment_method`. A
/// card that is declined leaves the hold as it was, for another try with a new key. Where this server takes cards, a
/// browser pays for what has a price; that it was paid elsewhere (`none`) is for an API key to say.
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
    let (hold, paying) = app.sensible(&sent, asked(&app, &sent)).await?;
    match paying {
        Paying::Elsewhere if owes(&app, &sent.caller, hold).await? => {
            must_pay(&app, &sent.caller.actor, key).await
        }
        Paying::Elsewhere => {
            let command = Command::Confirm { booking: mint::booking_id(), hold };
            app.submit(command, sent.caller.actor, Some(key)).await
        }
        Paying::WithStripe { method } => {
            let desk = app.desk.as_ref().ok_or_else(Problem::no_provider)?;
            let words = payments::words(sent.request_id());
            let beginning = Beginning { hold, method, actor: sent.caller.actor, key, words };
            pay(&app, desk, beginning).await
        }
    }
}

fn asked(app: &App, sent: &Sent) -> Result<(HoldId, Paying), Problem> {
    let asked = sent.json::<ConfirmHold<'_>>()?;
    let paying = asked.paying()?;
    // Whoever asks for a provider that is not there hears just that, whatever the hold.
    if matches!(paying, Paying::WithStripe { .. }) && app.desk.is_none() {
        return Err(Problem::no_provider());
    }
    Ok((asked.hold()?, paying))
}

/// Whether a browser would have for nothing what has a price here. A hold's price never changes, so it can be looked at
/// before the hold is confirmed.
async fn owes(app: &App, caller: &Caller, hold: HoldId) -> Result<bool, Problem> {
    let (Some(session), Some(_)) = (caller.session(), &app.desk) else { return Ok(false) };
    let view = app.ledger().hold(hold).await?;
    Ok(view.is_some_and(|view| view.hold.holder == *session && view.hold.amount > Money::ZERO))
}

/// What such a browser hears; a key that stands for a booking from before cards were taken still does.
async fn must_pay(app: &App, actor: &Actor, key: IdempotencyKey) -> Result<Response, Problem> {
    match app.found(actor, key).await? {
        Some(reply) => app.said(reply),
        None => Err(Problem::invalid(
            "payment.provider: must be \"stripe\", because this hold has a price; only an API key may book with \"none\" \
             what was paid elsewhere",
        )),
    }
}

/// Begins a payment and answers with what came of it.
async fn pay(app: &Shared, desk: &Desk, beginning: Beginning) -> Result<Response, Problem> {
    match desk.begin(beginning).await? {
        Answered::Fresh(answer) => Ok(worded(answer)),
        Answered::Otherwise(reply) => app.said(reply),
        Answered::InFlight => Err(Problem::in_flight()),
        Answered::NoAnswer { why, retry_after } => Err(Problem::unpaid(why, retry_after)),
    }
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
    Ok(private(json(wire::json(&List { data, next: page.next }))))
}

/// Read a booking.
#[utoipa::path(get, path = "/v1/bookings/{id}", tag = "Bookings", operation_id = "getBooking",
    params(("id" = wire::schema::BookingId, Path, description = "The booking's id.")),
    responses((status = 200, description = "The booking.", body = Booking<'_>)))]
pub(crate) async fn read(
    State(app): State<Shared>,
    caller: Caller,
    Of(id): OfBooking,
) -> Result<Response, Problem> {
    let view = app.ledger().booking(id).await?;
    let own = view.filter(|view| caller.actor.may_touch(&view.booking.holder));
    Ok(private(json(wire::json(&Booking::of(&own.ok_or_else(Problem::unknown_booking)?)))))
}

/// Cancel a booking.
///
/// Frees the units at once. A second time changes nothing.
#[utoipa::path(post, path = "/v1/bookings/{id}/cancel", tag = "Bookings", operation_id = "cancelBooking",
    params(("id" = wire::schema::BookingId, Path, description = "The booking's id.")),
    responses((status = 200, description = "The booking, cancelled.", body = Booking<'_>)))]
pub(crate) async fn cancel(
    State(app): State<Shared>,
    About(booking, FromAnyone(sent)): About<BookingId, FromAnyone>,
) -> Result<Response, Problem> {
    app.sensible(&sent, sent.nothing()).await?;
    let key = sent.idempotency();
    let answer = app.submit(Command::Cancel { booking }, sent.caller.actor, key).await;
    // What was paid is due to be given back, now.
    app.desk.iter().for_each(|desk| desk.payments.nudge());
    answer
}

/// Resolve a payment.
///
/// An operator's word on a payment that the machine must not decide about (`manual`), or `retry` to have one looked at
/// now. Needs an admin key.
#[utoipa::path(post, path = "/v1/bookings/{id}/payment", tag = "Payments", operation_id = "resolvePayment",
    params(("id" = wire::schema::BookingId, Path, description = "The booking's id.")),
    request_body = ResolvePayment,
    responses((status = 200, description = "The booking as it is now.", body = Booking<'_>)))]
pub(crate) async fn resolve_payment(
    State(app): State<Shared>,
    About(booking, FromAdmin(sent)): About<BookingId, FromAdmin>,
) -> Result<Response, Problem> {
    let how = app.sensible(&sent, sent.json::<ResolvePayment>()).await?.resolution();
    let key = sent.idempotency();
    let answer = app.submit(Command::ResolvePayment { booking, how }, sent.caller.actor, key).await;
    app.desk.iter().for_each(|desk| desk.payments.nudge());
    answer
}
