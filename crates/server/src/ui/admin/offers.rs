//! Everything that is on sale, with its figures.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_engine::ledger::OfferView;

use super::{
    super::words,
    figures::{Counted, Selling},
    frame::Frame,
    shown,
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
    wire::query::OffersQuery,
};

#[derive(Template)]
#[template(path = "admin/offers.html")]
struct OffersPage {
    frame: Frame,
    list: OffersPart,
}

/// The part that keeps itself up to date.
#[derive(Template)]
#[template(path = "admin/offers_part.html")]
struct OffersPart {
    /// Where the same part is drawn again.
    from: String,
    offers: Vec<OfferRow>,
    next: Option<String>,
}

struct OfferRow {
    id: String,
    name: String,
    kind: &'static str,
    selling: Selling,
    counted: Counted,
}

impl OfferRow {
    async fn of(app: &App, view: &OfferView) -> Result<Self, Problem> {
        Ok(Self {
            id: view.offer.id().to_string(),
            name: view.offer.def().name.clone(),
            kind: words::kind(view.offer.kind()),
            selling: Selling::of(view, app.clock.now()),
            counted: Counted::of(app, view).await?,
        })
    }
}

impl OffersPart {
    async fn load(app: &App, uri: &Uri) -> Result<Self, Problem> {
        let (after, limit) = OffersQuery::of_page(uri)?.page()?;
        let from = match &after {
            Some(after) => format!("/admin/figures?after={after}"),
            None => "/admin/figures".to_owned(),
        };
        let page = app.ledger().offers(after, limit).await?;
        let mut offers = Vec::with_capacity(page.data.len());
        for view in &page.data {
            offers.push(OfferRow::of(app, view).await?);
        }
        Ok(Self { from, offers, next: page.next })
    }
}

/// `GET /admin`.
pub(crate) async fn list(
    State(app): State<Shared>,
    organiser: Organiser,
    uri: Uri,
) -> Result<Response, Problem> {
    let list = OffersPart::load(&app, &uri).await?;
    shown(&organiser, &OffersPage { frame: Frame::around(&app, None).await, list })
}

/// `GET /admin/figures`.
pub(crate) async fn figures(
    State(app): State<Shared>,
    _organiser: Organiser,
    uri: Uri,
) -> Result<Response, Problem> {
    super::super::page(&OffersPart::load(&app, &uri).await?)
}
