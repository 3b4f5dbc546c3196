//! A booking: a ticket with its code, and the way to cancel it.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{BookingState, Command, PaymentState, Refusal};
use holdfast_engine::ledger::BookingView;

use super::{Form, Posted, Visitor, form, led, lines::LineWords, own_page, qr, words};
use crate::{
    app::Shared,
    problem::Problem,
    routes::{Of, OfBooking},
};

#[derive(Template)]
#[template(path = "booking.html")]
struct BookingPage {
    id: String,
    hold: String,
    state: &'static str,
    stands: Stands,
    lines: Vec<LineWords>,
    total: String,
    payment: Option<&'static str>,
    why: Option<String>,
    made: String,
    made_at: String,
    code: Option<qr::Code>,
    not_cancellable: bool,
    key: String,
}

/// What a booking is to whoever made it.
#[derive(PartialEq, Eq)]
enum Stands {
    Waiting,
    Good,
    Cancelled,
    Failed,
}

impl Stands {
    const fn of(state: BookingState) -> Self {
        match state {
            BookingState::Pending => Self::Waiting,
            BookingState::Confirmed => Self::Good,
            BookingState::Cancelled { .. } => Self::Cancelled,
            BookingState::Failed { .. } => Self::Failed,
        }
    }
}

/// `GET /bookings/{id}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    Of(id): OfBooking,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Problem> {
    let view = app.ledger().booking(id).await?;
    let own = view.filter(|view| view.booking.holder == *visitor.holder());
    let query = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let page = BookingPage::of(&own.ok_or_else(Problem::unknown_booking)?, query.one("cancel").is_some());
    own_page(&visitor, &page)
}

impl BookingPage {
    fn of(view: &BookingView, not_cancellable: bool) -> Self {
        let booking = &view.booking;
        let stands = Stands::of(booking.state);
        let id = booking.id.to_string();
        let payment = booking.payment.as_deref();
        Self {
            hold: booking.hold.to_string(),
            state: booking.state.as_str(),
            lines: booking
                .lines
                .iter()
                .map(|line| LineWords::of(line, view.offer_of(line), booking.currency))
                .collect(),
            total: words::money(booking.amount, booking.currency),
            payment: payment.map(|payment| payment_words(payment.state)),
            why: payment.and_then(|payment| payment.why.as_ref()).map(|why| why.as_str().to_owned()),
            made: words::in_utc(booking.created_at),
            made_at: booking.created_at.to_string(),
            code: (stands == Stands::Good).then(|| qr::code(&id)).flatten(),
            not_cancellable,
            key: form::fresh_key(),
            stands,
            id,
        }
    }
}

const fn payment_words(state: PaymentState) -> &'static str {
    match state {
        PaymentState::RequiresPayment | PaymentState::Processing | PaymentState::Authorized => {
            "The bank is being asked"
        }
        PaymentState::Succeeded => "Paid",
        PaymentState::Refunding => "The money is on its way back",
        PaymentState::Refunded => "Paid, and given back",
        PaymentState::Failed => "Not charged",
        PaymentState::Manual => "Being looked at by a person",
    }
}

/// `POST /bookings/{id}/cancel`.
pub(crate) async fn cancel(
    State(app): State<Shared>,
    Of(booking): OfBooking,
    posted: Posted,
) -> Result<Response, Problem> {
    let led = led::submit(&app, &posted, Command::Cancel { booking }).await?;
    // What was paid is due to be given back, now.
    app.desk.iter().for_each(|desk| desk.payments.nudge());
    match led {
        Ok(place) => led::go(&posted, &place),
        Err(Refusal::NotCancellable { .. }) => {
            led::go(&posted, &format!("/bookings/{booking}?cancel=refused"))
        }
        Err(refusal) => Err(refusal.into()),
    }
}
