//! One booking: what was booked, how it stands, what can be done about it, and its story.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{BookingId, BookingState, Command, Money, PaymentState, Resolution};
use holdfast_engine::ledger::{BookingView, JournalFilter, Order, PageRequest};

use super::{
    super::{lines::LineWords, words},
    Form, Notice, Submitted, SubmittedTo,
    bookings::Standing,
    frame::Frame,
    go, is_ours_to_say, refused, shown,
    story::{People, Told},
    submit,
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
    routes::{Of, OfBooking},
};

/// The longest story that is told of one booking.
const ENTRIES: usize = 200;

#[derive(Template)]
#[template(path = "admin/booking.html")]
struct BookingPage {
    frame: Frame,
    booking: Details,
    story: Vec<Told>,
}

struct Details {
    id: String,
    hold: String,
    holder: String,
    amount: String,
    at: String,
    state: Standing,
    lines: Vec<BookedLine>,
    payment: Option<Paid>,
    can_cancel: bool,
    /// What cancelling gives back.
    refunds: Option<String>,
}

struct BookedLine {
    /// As the buyer reads it.
    words: LineWords,
    unit: String,
}

struct Paid {
    state: Standing,
    intent: String,
    why: String,
    captured: String,
    refunded: String,
    needs_a_person: bool,
    /// Somebody will look at it anyway; they may look now.
    has_work: bool,
}

impl Details {
    fn of(view: &BookingView) -> Self {
        let booking = &view.booking;
        let money = |amount| words::money(amount, booking.currency);
        let captured = booking.payment.as_ref().map(|payment| payment.captured);
        Self {
            id: booking.id.to_string(),
            hold: booking.hold.to_string(),
            holder: booking.holder.to_string(),
            amount: money(booking.amount),
            at: words::to_the_second(booking.created_at),
            state: Standing::of_booking(booking.state),
            lines: lines(view),
            payment: booking.payment.as_deref().map(|payment| Paid {
                state: Standing::of_payment(Some(payment.state)),
                intent: payment.intent.as_ref().map_or("", |intent| intent.as_str()).to_owned(),
                why: payment.why.as_ref().map_or("", |why| why.as_str()).to_owned(),
                captured: words::sum(payment.captured, booking.currency),
                refunded: words::sum(payment.refunded, booking.currency),
                needs_a_person: payment.state == PaymentState::Manual,
                has_work: payment.state.has_work(),
            }),
            can_cancel: matches!(booking.state, BookingState::Confirmed | BookingState::Pending),
            refunds: captured.filter(|captured| *captured > Money::ZERO).map(money),
        }
    }
}

fn lines(view: &BookingView) -> Vec<BookedLine> {
    let line = |line: &holdfast_domain::Line| {
        let offer = view.offer_of(line);
        BookedLine { words: LineWords::of(line, offer, offer.currency()), unit: offer.key(line.unit) }
    };
    view.booking.lines.iter().map(line).collect()
}

impl BookingPage {
    async fn load(app: &App, id: BookingId, notice: Option<Notice>) -> Result<Self, Problem> {
        let view = app.ledger().booking(id).await?.ok_or_else(Problem::unknown_booking)?;
        let newest =
            JournalFilter { booking: Some(id), order: Order::NewestFirst, ..JournalFilter::default() };
        let page = PageRequest { after: None, limit: ENTRIES };
        let mut records = app.ledger().journal(newest, page).await?.data;
        // A booking's story is short, and told from its beginning.
        records.reverse();
        let people = People::of(app, &records).await?;
        let story = records.iter().map(|record| Told::of(record, &people)).collect();
        Ok(Self { frame: Frame::around(app, notice).await, booking: Details::of(&view), story })
    }
}

/// `GET /admin/bookings/{id}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    organiser: Organiser,
    Of(id): OfBooking,
    uri: Uri,
) -> Result<Response, Problem> {
    let form = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let notice = form.one("done").and_then(|done| match done {
        "cancelled" => Some(Notice::good("Cancelled. Its units are free again; what was paid goes back.")),
        "looked" => {
            Some(Notice::good("The card provider will be asked at once. Load the page again in a moment."))
        }
        "settled" => Some(Notice::good("Written down.")),
        _ => None,
    });
    shown(&organiser, &BookingPage::load(&app, id, notice).await?)
}

/// `POST /admin/bookings/{id}/cancel`.
pub(crate) async fn cancel(
    State(app): State<Shared>,
    SubmittedTo(booking, Submitted { organiser, .. }): SubmittedTo<BookingId>,
) -> Result<Response, Problem> {
    change(&app, &organiser, booking, Command::Cancel { booking }, "cancelled").await
}

/// `POST /admin/bookings/{id}/payment`.
pub(crate) async fn settle(
    State(app): State<Shared>,
    SubmittedTo(booking, Submitted { organiser, form, .. }): SubmittedTo<BookingId>,
) -> Result<Response, Problem> {
    let (how, done) = match form.one("how") {
        Some("retry") => (Resolution::Retry, "looked"),
        Some("refunded") => (Resolution::Refunded, "settled"),
        Some("paid") => (Resolution::Paid, "settled"),
        _ => return Err(Problem::invalid("Say what became of the money.")),
    };
    change(&app, &organiser, booking, Command::ResolvePayment { booking, how }, done).await
}

async fn change(
    app: &App,
    organiser: &Organiser,
    booking: BookingId,
    command: Command,
    done: &str,
) -> Result<Response, Problem> {
    let outcome = submit(app, &organiser.actor, command).await;
    // Whatever is due about the money is looked at now.
    app.desk.iter().for_each(|desk| desk.payments.nudge());
    match outcome {
        Ok(_) => go(&format!("/admin/bookings/{booking}?done={done}")),
        Err(problem) if is_ours_to_say(&problem) => {
            let page = BookingPage::load(app, booking, Some(Notice::of(&problem))).await?;
            refused(organiser, &problem, &page)
        }
        Err(problem) => Err(problem),
    }
}
