//! A booking: a ticket with its code, and the way to cancel it.

use askama::Template;
use axum::{
    extract::State,
    http::{Uri, header},
    response::{IntoResponse, Response},
};
use holdfast_domain::{Booking, BookingId, BookingState, Command, Payment, PaymentState, Refusal};
use holdfast_engine::ledger::BookingView;

use super::{Form, Posted, Visitor, checkout, form, ics, led, lines::LineWords, own_page, qr, words};
use crate::{
    app::{App, Shared},
    problem::{Code, Problem},
    routes::{Of, OfBooking},
};

#[derive(Template)]
#[template(path = "booking.html")]
struct BookingPage {
    id: String,
    hold: String,
    state: &'static str,
    stands: Stands,
    /// What was booked, by the name of its offer.
    kicker: String,
    lines: Vec<LineWords>,
    /// Whether there is something to put into a calendar.
    has_times: bool,
    total: String,
    payment: Option<&'static str>,
    /// Of one that failed: why.
    why: String,
    /// Money came in, whatever became of it since.
    charged: bool,
    made: String,
    made_at: String,
    code: Option<qr::Code>,
    not_cancellable: bool,
    key: String,
}

/// What a booking is to whoever made it.
#[derive(PartialEq, Eq)]
pub(super) enum Stands {
    /// The bank has to say something.
    Waiting,
    /// The buyer has to do something: no card was charged, and one can be.
    Unpaid,
    Good,
    Cancelled,
    Failed,
}

impl Stands {
    pub(super) fn of(app: &App, booking: &Booking) -> Self {
        let payment = booking.payment.as_deref();
        match booking.state {
            BookingState::Pending
                if payment.is_some_and(|payment| checkout::waits_for_card(app, payment)) =>
            {
                Self::Unpaid
            }
            BookingState::Pending => Self::Waiting,
            BookingState::Confirmed => Self::Good,
            BookingState::Cancelled { .. } => Self::Cancelled,
            BookingState::Failed { .. } => Self::Failed,
        }
    }

    /// Whether it may still change by itself.
    fn is_open(&self) -> bool {
        matches!(self, Self::Waiting | Self::Unpaid)
    }

    /// Whether nothing comes of it any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Failed)
    }
}

async fn own(app: &App, id: BookingId, visitor: &Visitor) -> Result<BookingView, Problem> {
    let view = app.ledger().booking(id).await?;
    view.filter(|view| view.booking.holder == *visitor.holder()).ok_or_else(Problem::unknown_booking)
}

/// `GET /bookings/{id}/calendar.ics`: its appointments, for the visitor's own calendar.
pub(crate) async fn calendar(
    State(app): State<Shared>,
    Of(id): OfBooking,
    visitor: Visitor,
) -> Result<Response, Problem> {
    let own = own(&app, id, &visitor).await?;
    let file = match own.booking.state {
        BookingState::Confirmed => ics::file(&own),
        _ => None,
    };
    let file =
        file.ok_or_else(|| Problem::new(Code::NotFound, "There is no appointment in this booking."))?;
    let headers = [
        (header::CONTENT_TYPE, "text/calendar; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"booking.ics\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, file).into_response())
}

/// `GET /bookings/{id}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    Of(id): OfBooking,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Problem> {
    let own = own(&app, id, &visitor).await?;
    let query = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let mut response = own_page(&visitor, &BookingPage::of(&app, &own, &query))?;
    visitor.renew(&app, &mut response);
    Ok(response)
}

/// Whether Stripe sent the buyer here with a payment that is made, or as good as made. The books hear of it by themselves,
/// a moment later; until then nobody who has just paid is asked to pay.
fn has_just_paid(query: &Form) -> bool {
    matches!(query.one("redirect_status"), Some("succeeded" | "processing" | "pending"))
}

impl BookingPage {
    fn of(app: &App, view: &BookingView, query: &Form) -> Self {
        let booking = &view.booking;
        let stands = match Stands::of(app, booking) {
            Stands::Unpaid if has_just_paid(query) => Stands::Waiting,
            stands => stands,
        };
        let id = booking.id.to_string();
        let payment = booking.payment.as_deref();
        let lines: Vec<LineWords> = booking
            .lines
            .iter()
            .map(|line| LineWords::of(line, view.offer_of(line), booking.currency))
            .collect();
        let mut names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        names.dedup();
        Self {
            hold: booking.hold.to_string(),
            state: booking.state.as_str(),
            kicker: names.join(" · "),
            has_times: lines.iter().any(|line| line.at.is_some()),
            lines,
            total: words::money(booking.amount, booking.currency),
            payment: payment.map(|payment| payment_words(payment.state, &stands)),
            why: not_booked(payment),
            charged: payment.is_some_and(|payment| payment.state != PaymentState::Failed),
            made: words::in_utc(booking.created_at),
            made_at: booking.created_at.to_string(),
            code: (stands == Stands::Good).then(|| qr::code(&id)).flatten(),
            not_cancellable: query.one("cancel").is_some(),
            key: form::fresh_key(),
            stands,
            id,
        }
    }
}

/// Why it is not booked, for whoever paid or tried to. What the books say of money that came too late is for those who
/// keep them; what the bank says of a card is for its owner.
fn not_booked(payment: Option<&Payment>) -> String {
    let late = "The payment came in after your time was up, and by then this could not be had any more.";
    match payment.map(|payment| (payment.state, &payment.why)) {
        Some((PaymentState::Refunding, _)) => format!("{late} The money is on its way back to you."),
        Some((PaymentState::Refunded, _)) => format!("{late} The money went back to you."),
        Some((PaymentState::Manual, _)) => {
            "Something about the payment has to be looked at by a person. Nothing more is charged.".to_owned()
        }
        Some((_, Some(why))) => words::sentence(why.as_str()),
        Some((_, None)) | None => "The payment did not come about.".to_owned(),
    }
}

fn payment_words(state: PaymentState, stands: &Stands) -> &'static str {
    match state {
        PaymentState::RequiresPayment if *stands == Stands::Unpaid => "Not paid yet",
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
