//! A hold: what is in it, how long it lasts, and the checkout.

use askama::Template;
use axum::{
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Redirect, Response},
};
use holdfast_domain::{Command, HoldState, Kind, PaymentState, Refusal, Relaxed, hold::MAX_EXTENSIONS};
use holdfast_engine::ledger::{HoldView, Reply};

use super::{
    Form, Posted, Visitor, checkout, form, led,
    lines::{Again, LineWords},
    own_page, words,
};
use crate::{
    app::{App, Shared},
    problem::Problem,
    routes::{Of, OfHold},
};

#[derive(Template)]
#[template(path = "hold.html")]
struct HoldPage {
    id: String,
    lines: Vec<LineWords>,
    total: String,
    time: TimeLeft,
    /// What best-available had to give up.
    gave_up: Option<&'static str>,
    /// Why the last card was not charged.
    declined: Option<String>,
    checkout: checkout::Way,
    /// How long it is kept for whoever leaves this page; `None` where that changes nothing.
    leaving: Option<String>,
    /// What is kept, as its holder would call it.
    yours: &'static str,
    key: String,
}

/// How long a hold lasts, by the server's clock.
struct TimeLeft {
    ms: i64,
    shown: String,
    until: String,
    until_words: String,
    extensions: u8,
}

#[derive(Template)]
#[template(path = "hold_over.html")]
struct OverPage {
    released: bool,
    /// Somebody began to pay for it: what became of the money is for the booking's page to say.
    was_paid_for: bool,
    lines: Vec<LineWords>,
    key: String,
}

#[derive(Template)]
#[template(path = "hold_paying.html")]
struct PayingPage {
    id: String,
    booking: String,
    lines: Vec<LineWords>,
    total: String,
    /// Where the buyer's card is waited for.
    card_form: Option<checkout::CardForm>,
}

/// `GET /holds/{id}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    Of(id): OfHold,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Problem> {
    let view = visitor.own_hold(&app, id).await?;
    let view = visitor.back_to(&app, view).await;
    let query = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let mut response = shown(&app, &visitor, &view, &query).await?;
    visitor.keep(&app, id, &mut response);
    visitor.renew(&app, &mut response);
    Ok(response)
}

async fn shown(app: &App, visitor: &Visitor, view: &HoldView, query: &Form) -> Result<Response, Problem> {
    let hold = &view.hold;
    let total = words::money(hold.amount, hold.currency);
    match hold.state {
        HoldState::Booked { booking } => Ok(Redirect::to(&format!("/bookings/{booking}")).into_response()),
        HoldState::Paying { booking, .. } if hold.is_live(view.at) => {
            let page = PayingPage {
                id: hold.id.to_string(),
                booking: booking.to_string(),
                lines: lines(view),
                total,
                card_form: checkout::go_on(app, view, booking).await?,
            };
            let mut response = own_page(visitor, &page)?;
            if page.card_form.is_some() {
                checkout::allow_stripe(&mut response);
            }
            Ok(response)
        }
        HoldState::Active if hold.is_live(view.at) => {
            let page = HoldPage {
                id: hold.id.to_string(),
                lines: lines(view),
                total,
                time: TimeLeft::of(view),
                gave_up: hold.relaxed.last().map(|&relaxed| gave_up(relaxed)),
                declined: declined(app, visitor, view, query).await?,
                checkout: checkout::Way::of(app, view),
                leaving: leave_keep_s(app, view).map(words::seconds),
                yours: yours(view),
                key: form::fresh_key(),
            };
            let mut response = own_page(visitor, &page)?;
            page.checkout.allow(&mut response);
            Ok(response)
        }
        HoldState::Active | HoldState::Paying { .. } | HoldState::Expired { .. } => {
            over(visitor, view, false)
        }
        HoldState::Released { .. } => over(visitor, view, true),
    }
}

fn yours(view: &HoldView) -> &'static str {
    match &view.hold.lines[..] {
        [line] => match view.offer_of(line).kind() {
            Kind::Seats => "your seat",
            Kind::Slots => "your appointment",
            Kind::Stock => "what you hold",
        },
        lines if lines.iter().all(|line| view.offer_of(line).kind() == Kind::Seats) => "your seats",
        _ => "what you hold",
    }
}

fn over(visitor: &Visitor, view: &HoldView, released: bool) -> Result<Response, Problem> {
    let was_paid_for = view.hold.payments > 0;
    own_page(visitor, &OverPage { released, was_paid_for, lines: lines(view), key: form::fresh_key() })
}

pub(super) fn lines(view: &HoldView) -> Vec<LineWords> {
    let hold = &view.hold;
    hold.lines.iter().map(|line| LineWords::of(line, view.offer_of(line), hold.currency)).collect()
}

impl TimeLeft {
    fn of(view: &HoldView) -> Self {
        let ms = view.hold.expires_at.ms_since(view.at).max(0);
        Self {
            ms,
            shown: words::minutes_and_seconds(ms),
            until: view.hold.expires_at.to_string(),
            until_words: words::time_in_utc(view.hold.expires_at),
            extensions: MAX_EXTENSIONS.saturating_sub(view.hold.extensions),
        }
    }
}

const fn gave_up(relaxed: Relaxed) -> &'static str {
    match relaxed {
        Relaxed::Orphan => "They leave a single seat beside them.",
        Relaxed::SplitRows => "They are in more than one row: no row had enough together.",
        Relaxed::Scattered => "They are not all side by side: nothing better was free.",
    }
}

/// What the bank said of the card that this visitor tried last, if the address says which that was.
async fn declined(
    app: &App,
    visitor: &Visitor,
    view: &HoldView,
    query: &Form,
) -> Result<Option<String>, Problem> {
    let Some(booking) = query.one("declined").and_then(|id| id.parse().ok()) else { return Ok(None) };
    let tried = app.ledger().booking(booking).await?;
    let tried =
        tried.filter(|tried| tried.booking.holder == *visitor.holder() && tried.booking.hold == view.hold.id);
    let payment = tried.and_then(|tried| tried.booking.payment);
    let payment = payment.filter(|payment| payment.state == PaymentState::Failed);
    Ok(payment.and_then(|payment| payment.why).map(|why| words::sentence(why.as_str())))
}

/// `POST /holds/{id}/extend`.
pub(crate) async fn extend(
    State(app): State<Shared>,
    Of(hold): OfHold,
    posted: Posted,
) -> Result<Response, Problem> {
    let led = led::submit(&app, &posted, Command::ExtendHold { hold }).await?;
    back(&posted, hold, led)
}

/// `POST /holds/{id}/release`.
pub(crate) async fn release(
    State(app): State<Shared>,
    Of(hold): OfHold,
    posted: Posted,
) -> Result<Response, Problem> {
    let led = led::submit(&app, &posted, Command::ReleaseHold { hold }).await?;
    back(&posted, hold, led)
}

/// `POST /holds/{id}/leave`: the page has gone away, perhaps for good. Sent as it goes, by a script that hears no answer.
pub(crate) async fn leave(
    State(app): State<Shared>,
    Of(hold): OfHold,
    posted: Posted,
) -> Result<StatusCode, Problem> {
    let view = posted.visitor.own_hold(&app, hold).await?;
    if let Some(keep_s) = leave_keep_s(&app, &view) {
        let command = Command::LeaveHold { hold, keep_s };
        if let Reply::Refused(refusal) = app.pipeline.submit(command, posted.visitor.actor(), None).await? {
            return Err(refusal.into());
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

/// How long a hold is kept for whoever leaves; `None` where that changes nothing. Whoever pays on a page that is not ours
/// has to go there, and has not left.
fn leave_keep_s(app: &App, view: &HoldView) -> Option<u32> {
    let elsewhere = matches!(checkout::Way::of(app, view), checkout::Way::Elsewhere);
    app.leave_keep_s.filter(|_| !elsewhere)
}

/// `POST /holds/{id}/return`: a page of it is there after all. Said more often than it is news, so the books are looked
/// at first.
pub(crate) async fn come_back(
    State(app): State<Shared>,
    Of(hold): OfHold,
    posted: Posted,
) -> Result<StatusCode, Problem> {
    let view = posted.visitor.own_hold(&app, hold).await?;
    posted.visitor.back_to(&app, view).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The hold's own page says what became of it; only one that is not there is a problem.
pub(super) fn back(
    posted: &Posted,
    hold: holdfast_domain::HoldId,
    led: led::Led,
) -> Result<Response, Problem> {
    match led {
        Ok(place) => led::go(posted, &place),
        Err(Refusal::AlreadyBooked { booking }) => led::go(posted, &format!("/bookings/{booking}")),
        Err(Refusal::HoldExpired | Refusal::HoldReleased | Refusal::LimitReached(_)) => {
            led::go(posted, &format!("/holds/{hold}"))
        }
        Err(refusal) => Err(refusal.into()),
    }
}
