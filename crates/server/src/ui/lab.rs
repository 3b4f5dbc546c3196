//! The lab, where the server was given one: what it has recorded, and a race at the press of a button. Without one
//! these addresses do not exist.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};

use super::{Visitor, own_page};
use crate::{
    app::{App, Shared, json},
    assets,
    body::FromAdmin,
    lab::{Came, Kind, Lab, NoRace, Picture, Shelf},
    problem::{Code, Problem},
};

#[derive(Template)]
#[template(path = "lab.html")]
struct Front {
    shelf: Shelf,
}

/// `GET /lab`.
pub(crate) async fn front(State(app): State<Shared>, visitor: Visitor) -> Result<Response, Problem> {
    let shelf = lab(&app)?.shelf();
    own_page(&visitor, &Front { shelf })
}

/// `POST /lab/run`.
pub(crate) async fn run(State(app): State<Shared>, _visitor: Visitor) -> Result<Redirect, Problem> {
    match lab(&app)?.race().await {
        Ok(id) => Ok(Redirect::to(&address(Kind::Race, &id))),
        Err(NoRace::NotHere) => Err(nothing_here()),
        Err(NoRace::Busy) => Err(Problem::overloaded()),
        Err(NoRace::Failed(why)) => Err(Problem::internal("The race could not be run.", why)),
    }
}

/// `GET /lab/races/{id}`.
pub(crate) async fn race(State(app): State<Shared>, id: Path<String>) -> Result<Response, Problem> {
    shown(&app, Kind::Race, &id)
}

/// `GET /lab/reports/{id}`.
pub(crate) async fn report(State(app): State<Shared>, id: Path<String>) -> Result<Response, Problem> {
    shown(&app, Kind::Report, &id)
}

/// `POST /lab/races`.
pub(crate) async fn keep_race(State(app): State<Shared>, sent: FromAdmin) -> Result<Response, Problem> {
    kept(&app, Kind::Race, &sent)
}

/// `POST /lab/reports`.
pub(crate) async fn keep_report(State(app): State<Shared>, sent: FromAdmin) -> Result<Response, Problem> {
    kept(&app, Kind::Report, &sent)
}

fn lab(app: &App) -> Result<&Arc<dyn Lab>, Problem> {
    app.lab.as_ref().ok_or_else(nothing_here)
}

fn nothing_here() -> Problem {
    Problem::new(Code::NotFound, "There is nothing at this address.")
}

fn address(of: Kind, id: &str) -> String {
    match of {
        Kind::Race => format!("/lab/races/{id}"),
        Kind::Report => format!("/lab/reports/{id}"),
    }
}

fn kept(app: &App, of: Kind, FromAdmin(sent): &FromAdmin) -> Result<Response, Problem> {
    let id = lab(app)?.keep(of, sent.bytes()?).map_err(Problem::invalid)?;
    let url = address(of, &id);
    let body = json(serde_json::json!({"id": id, "url": url}).to_string().into());
    Ok((StatusCode::CREATED, [(header::LOCATION, url)], body).into_response())
}

/// A picture is a page of the lab's own making, with a policy that names its style and script by hash.
fn shown(app: &App, of: Kind, id: &str) -> Result<Response, Problem> {
    let gone = || Problem::new(Code::NotFound, "This picture is not kept any more; only the newest are.");
    let Picture { html, policy } = lab(app)?.picture(of, id).ok_or_else(gone)?;
    let policy = HeaderValue::try_from(format!("{policy}; frame-ancestors 'none'"))
        .map_err(|fault| Problem::internal("The page could not be made.", fault.to_string()))?;
    let mut response = assets::html(html);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}
