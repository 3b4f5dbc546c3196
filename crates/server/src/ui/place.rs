//! Holding what was chosen: the form of an offer's page.

use axum::{extract::State, response::Response};
use holdfast_domain::{Ask, Command, OfferId, Pick, text};
use holdfast_engine::mint;

use super::{Form, Posted, led, refused};
use crate::{
    app::Shared,
    problem::{Code, Problem},
    routes::{InOffer, Of},
    wire::{hold::MAX_LINES, time},
};

/// `POST /o/{offer}/hold`: `unit` (several, for seats) with `qty`, or `best` with `category`, or `service` and `start`.
pub(crate) async fn hold(
    State(app): State<Shared>,
    Of(offer): InOffer,
    posted: Posted,
) -> Result<Response, Problem> {
    let asks = asks(&offer, &posted.form)?;
    if asks.is_empty() {
        return led::go(&posted, &format!("/o/{offer}?nothing=chosen"));
    }
    let holder = posted.visitor.holder().clone();
    let command = Command::PlaceHold { hold: mint::hold_id(), holder, asks: asks.clone() };
    match led::submit(&app, &posted, command).await {
        Ok(Ok(place)) => led::go(&posted, &place),
        Ok(Err(refusal)) => refused::to_hold(&app, &posted, &offer, &asks, refusal).await,
        Err(problem) if problem.code == Code::QueueRequired => led::go(&posted, &format!("/o/{offer}/queue")),
        Err(problem) => Err(problem),
    }
}

/// What the form asks for; nothing, where nothing was chosen.
fn asks(offer: &OfferId, form: &Form) -> Result<Vec<Ask>, Problem> {
    let ask = |pick| Ask { offer: offer.clone(), pick };
    if let (Some(service), Some(start)) = (form.one("service"), form.one("start")) {
        let start = time::instant(start)
            .map_err(|fault| Problem::new(Code::InvalidTime, format!("{offer}: start {}", fault.rule())))?;
        return Ok(vec![ask(Pick::Slot {
            service: text::visible("service", service, 64)?,
            start: Ok(start),
        })]);
    }
    if let Some(qty) = form.number("best") {
        let category = form.one("category").map(str::to_owned);
        return Ok(vec![ask(Pick::Best { qty, category })]);
    }
    let qty = form.number("qty").unwrap_or(1);
    let units: Vec<&str> = form.all("unit").collect();
    if units.len() > MAX_LINES {
        return Err(Problem::invalid(format!("Choose at most {MAX_LINES} at once.")));
    }
    let named = |unit| Ok(ask(Pick::Unit { key: text::visible("unit", unit, 64)?, qty }));
    units.into_iter().map(named).collect()
}
