//! What is around every one of these pages: the ways to the others, how many payments wait for a person, and what came
//! of whatever led here.

use askama::Template;
use axum::{extract::State, response::Response};

use super::{super::words, Notice};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
};

pub(super) struct Frame {
    pub notice: Option<Notice>,
    pub payments: PaymentsPart,
}

/// The way to the payments, with a figure while any of them waits: whoever looks at any page at night sees it. It keeps
/// itself up to date.
#[derive(Template)]
#[template(path = "admin/payments_part.html")]
pub(super) struct PaymentsPart {
    waiting: Option<String>,
}

impl Frame {
    /// A page is not lost, nor what was typed on it, because nobody can say what else there is to do.
    pub(super) async fn around(app: &App, notice: Option<Notice>) -> Self {
        let payments = PaymentsPart::load(app).await.unwrap_or(PaymentsPart { waiting: None });
        Self { notice, payments }
    }
}

impl PaymentsPart {
    async fn load(app: &App) -> Result<Self, Problem> {
        let waiting = app.ledger().payments_parked().await? as u64;
        Ok(Self { waiting: (waiting > 0).then(|| words::count(waiting)) })
    }
}

/// `GET /admin/payments`.
pub(crate) async fn payments(State(app): State<Shared>, _organiser: Organiser) -> Result<Response, Problem> {
    super::super::page(&PaymentsPart::load(&app).await?)
}
