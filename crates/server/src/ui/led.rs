//! Where a form leads: to a page with what came of it, or to a refusal.
//!
//! The place is also what is kept under the form's key, in place of the JSON that the API keeps: whoever submits twice
//! is led to the same page twice.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use holdfast_domain::{Command, PaymentState, Refusal};
use holdfast_engine::{
    ledger::{Answer, BookingView, Outcome, Reply, Wording},
    payments::Words,
};

use super::Posted;
use crate::{
    app::App,
    problem::{Code, Problem},
};

/// The address that an outcome leads to, or why there is none.
pub(super) type Led = Result<String, Refusal>;

/// Submits the command of a form, past the same doors as one that comes through the API.
pub(super) async fn submit(app: &App, posted: &Posted, command: Command) -> Result<Led, Problem> {
    let words = Wording(Arc::new(|outcome: &Outcome| kept(leads_to(outcome))));
    let caller = posted.visitor.caller();
    said(app.ask_for(caller, command, Some(posted.intention()?), Some(words)).await?)
}

/// The same words for a payment, which is answered by what the provider said.
pub(super) fn words() -> Words {
    Words(Arc::new(|outcome, _secret| kept(leads_to(outcome))))
}

pub(super) fn said(reply: Reply) -> Result<Led, Problem> {
    match reply {
        Reply::Done(outcome) => Ok(Ok(leads_to(&outcome))),
        Reply::Replayed(answer) => Ok(Ok(place_in(&answer))),
        Reply::Open { booking } => Ok(Ok(format!("/bookings/{booking}"))),
        Reply::Refused(refusal) => Ok(Err(refusal)),
        Reply::KeyReused => Err(Problem::new(
            Code::IdempotencyKeyReused,
            "This form was submitted before with other contents.",
        )),
    }
}

fn leads_to(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Held { hold, .. }
        | Outcome::Extended(hold)
        | Outcome::Released(hold)
        | Outcome::Left(hold)
        | Outcome::Returned(hold) => format!("/holds/{}", hold.hold.id),
        Outcome::Confirmed(view) | Outcome::Cancelled(view) => format!("/bookings/{}", view.booking.id),
        Outcome::PaymentBegun(view) | Outcome::Payment { booking: view, .. } => of_payment(view),
        Outcome::OfferCreated(view)
        | Outcome::OfferAmended(view)
        | Outcome::Blocked(view)
        | Outcome::Unblocked(view) => format!("/o/{}", view.offer.id()),
        Outcome::Tidied { .. } => "/".to_owned(),
    }
}

/// A declined card leads back to the hold, which is still there for another.
fn of_payment(view: &BookingView) -> String {
    let booking = &view.booking;
    let declined = booking.payment.as_ref().is_some_and(|payment| payment.state == PaymentState::Failed);
    match declined {
        true => format!("/holds/{}?declined={}", booking.hold, booking.id),
        false => format!("/bookings/{}", booking.id),
    }
}

fn kept(place: String) -> Answer {
    Answer { status: StatusCode::SEE_OTHER.as_u16(), body: place.into() }
}

pub(super) fn place_in(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// See other: whatever was posted, what comes next is read.
pub(super) fn go(posted: &Posted, place: &str) -> Result<Response, Problem> {
    let place = HeaderValue::try_from(place)
        .map_err(|fault| Problem::internal("The page has no address.", fault.to_string()))?;
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response();
    posted.visitor.remember(&mut response);
    Ok(response)
}
