//! Putting something on sale: a form for each kind, a look at what would come of it, and then the sale.
//!
//! A draft is what was typed, kept as it was typed: it is shown again with a word on what is wrong, and nothing is lost.
//! When it is whole it becomes the JSON that `POST /v1/offers` takes and is read by the same rules.

mod calendar;
mod draft;
mod drawing;
mod plan;
mod preview;
mod sheet;
mod stock;

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderValue, Method},
    response::Response,
};
use calendar::CalendarDraft;
use draft::Terms;
use holdfast_domain::{Command, Offer};
use holdfast_engine::{
    ledger::{Answer, IdempotencyKey, Outcome, Reply, Wording},
    mint,
};
use plan::PlanDraft;
use preview::PreviewPart;
use sha2::{Digest, Sha256};
use sheet::SheetDraft;
use stock::StockDraft;

use super::{Form, Notice, Submitted, frame::Frame, go, is_ours_to_say, refused, shown};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    idempotency,
    problem::{Code, Problem},
};

#[derive(Template)]
#[template(path = "admin/create.html")]
struct CreatePage {
    frame: Frame,
    /// The form's own name for what it does, so that sending it twice is doing it once.
    key: String,
    terms: Terms,
    draft: Draft,
    preview: PreviewPart,
}

/// What is drawn up, by kind.
enum Draft {
    Seats(PlanDraft),
    Sheet(SheetDraft),
    Stock(StockDraft),
    Slots(CalendarDraft),
}

impl Draft {
    /// The draft in the form of the kind that the address names.
    fn of(kind: &str, form: &Form) -> Result<Self, Problem> {
        match kind {
            "seats" => Ok(Self::Seats(PlanDraft::of(form))),
            "csv" => Ok(Self::Sheet(SheetDraft::of(form))),
            "stock" => Ok(Self::Stock(StockDraft::of(form))),
            "slots" => Ok(Self::Slots(CalendarDraft::of(form))),
            _ => Err(Problem::new(Code::NotFound, "There is no such kind of offer.")),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Seats(_) => "seats",
            Self::Sheet(_) => "csv",
            Self::Stock(_) => "stock",
            Self::Slots(_) => "slots",
        }
    }

    /// Room for one more section, line or service.
    fn grow(&mut self) {
        match self {
            Self::Seats(plan) => plan.grow(),
            Self::Stock(stock) => stock.grow(),
            Self::Slots(calendar) => calendar.grow(),
            Self::Sheet(_) => {}
        }
    }

    /// Without the section of that number, counted from 0.
    fn remove(&mut self, at: usize) {
        if let Self::Seats(plan) = self {
            plan.remove(at);
        }
    }

    /// What it amounts to, as the API would be told: the kind and its inventory.
    fn inventory(&self, terms: &Terms) -> Result<(&'static str, serde_json::Value), Problem> {
        match self {
            Self::Seats(plan) => Ok(("seats", plan.json(terms)?)),
            Self::Sheet(sheet) => sheet.json(terms),
            Self::Stock(stock) => Ok(("stock", stock.json(terms)?)),
            Self::Slots(calendar) => Ok(("slots", calendar.json(terms)?)),
        }
    }
}

/// The offer that a draft would become.
fn offer(terms: &Terms, draft: &Draft) -> Result<Arc<Offer>, Problem> {
    let (kind, inventory) = draft.inventory(terms)?;
    terms.offer(kind, inventory)
}

/// `GET /admin/new/{kind}`.
pub(crate) async fn begin(
    State(app): State<Shared>,
    organiser: Organiser,
    Path(kind): Path<String>,
) -> Result<Response, Problem> {
    let (terms, draft) = (Terms::of(&Form::default()), Draft::of(&kind, &Form::default())?);
    let preview = PreviewPart::of(offer(&terms, &draft).as_deref().map_err(|_| None));
    let frame = Frame::around(&app, None).await;
    shown(&organiser, &CreatePage { frame, key: fresh_key(), terms, draft, preview })
}

fn fresh_key() -> String {
    format!("{:032x}", mint::hold_id().bits())
}

/// `POST /admin/new/{kind}`: one more section or one less, a look, or the sale itself.
pub(crate) async fn send(
    State(app): State<Shared>,
    Path(kind): Path<String>,
    submitted: Submitted,
) -> Result<Response, Problem> {
    let form = &submitted.form;
    let (terms, mut draft) = (Terms::of(form), Draft::of(&kind, form)?);
    let key = form.one("key").unwrap_or_default().to_owned();
    let removed = form.one("do").and_then(|what| what.strip_prefix("remove-")?.parse().ok());
    if let Some(at) = removed {
        draft.remove(at);
    }
    let made = offer(&terms, &draft);
    let outcome = match (form.one("do"), &made) {
        (Some("create"), Ok(offer)) => put_on_sale(&app, &submitted, offer).await,
        (Some("more"), _) => {
            draft.grow();
            Err(None)
        }
        (_, Ok(_)) => Err(None),
        _ if removed.is_some() => Err(None),
        (_, Err(problem)) => Err(Some(problem.clone())),
    };
    // What is wrong is told at the top of the page, and only there.
    let told = matches!(outcome, Err(Some(_)));
    let preview = PreviewPart::of(made.as_deref().map_err(|problem| (!told).then_some(problem)));
    let page = async |notice| {
        let frame = Frame::around(&app, notice).await;
        CreatePage { frame, key, terms, draft, preview }
    };
    match outcome {
        Ok(place) => go(&place),
        Err(None) => shown(&submitted.organiser, &page(None).await),
        Err(Some(problem)) if is_ours_to_say(&problem) => {
            refused(&submitted.organiser, &problem, &page(Some(Notice::of(&problem))).await)
        }
        Err(Some(problem)) => Err(problem),
    }
}

/// `POST /admin/new/{kind}/preview`: only what would come of it.
pub(crate) async fn preview(
    Path(kind): Path<String>,
    Submitted { form, .. }: Submitted,
) -> Result<Response, Problem> {
    let made = offer(&Terms::of(&form), &Draft::of(&kind, &form)?);
    super::super::page(&PreviewPart::of(made.as_deref().map_err(Some)))
}

async fn put_on_sale(app: &App, from: &Submitted, offer: &Arc<Offer>) -> Result<String, Option<Problem>> {
    let command = Command::CreateOffer { offer: Arc::clone(offer) };
    let words = Wording(Arc::new(|outcome: &Outcome| Answer { status: 303, body: leads_to(outcome).into() }));
    let (actor, key) = (from.organiser.actor.clone(), intention(from).map_err(Some)?);
    let reply = app.pipeline.submit_worded(command, actor, Some(key), Some(words)).await;
    match reply.map_err(|fault| Some(fault.into()))? {
        Reply::Done(outcome) => Ok(leads_to(&outcome)),
        Reply::Replayed(answer) => Ok(String::from_utf8_lossy(&answer.body).into_owned()),
        Reply::Refused(refusal) => Err(Some(refusal.into())),
        Reply::Open { .. } | Reply::KeyReused => {
            Err(Some(Problem::invalid("This form was sent before with other contents. Load the page again.")))
        }
    }
}

fn leads_to(outcome: &Outcome) -> String {
    match outcome {
        Outcome::OfferCreated(view) => format!("/admin/offers/{}?done=created", view.offer.id()),
        _ => "/admin".to_owned(),
    }
}

/// The form's key, with what was typed as a part of it: another draft of the same page is another intention.
fn intention(from: &Submitted) -> Result<IdempotencyKey, Problem> {
    let key = from.form.one("key").filter(|key| key.len() <= 64).unwrap_or_default();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(Problem::invalid("The form is not complete. Load the page again."));
    }
    let typed: String = Sha256::digest(&from.body)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let key = HeaderValue::try_from(format!("page-{key}-{typed}"));
    let key = key.map_err(|_| Problem::invalid("The form is not complete. Load the page again."))?;
    Ok(idempotency::scoped(&key, &from.organiser.actor, &Method::POST, &from.path, &from.body))
}
