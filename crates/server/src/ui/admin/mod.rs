//! The organiser's pages: put something on sale, watch it sell, block, find, cancel, refund, and read what happened.
//!
//! Like the shop's pages they are ordinary HTML with ordinary forms, and call what the JSON routes call. Whoever has
//! shown an administrator's key gets in ([`auth::organiser`](crate::auth::organiser)); everybody else meets the form that
//! asks for one. What is live is a part of a page that the server draws again (`assets/live-part.js`), so there is one
//! place that knows how it looks.
//!
//! ```text
//! /admin ─► /admin/offers/{offer} ─► block, unblock, change ─► the same page, with what came of it
//!   │  └──► /admin/new/{kind} ─► preview ─► on sale
//!   ├─────► /admin/bookings ─► /admin/bookings/{id} ─► cancel, refund, settle
//!   └─────► /admin/journal: a unit's story in plain words
//! ```
//! Deliberately absent: decisions. A form submits one command, and a refusal is shown on the page it came from.

pub(crate) mod booking;
pub(crate) mod bookings;
pub(crate) mod change;
pub(crate) mod create;
mod entry;
mod figures;
pub(crate) mod frame;
pub(crate) mod journal;
pub(crate) mod offer;
pub(crate) mod offers;
mod paging;
pub(crate) mod room;
pub(crate) mod sign_in;
mod spans;
mod story;
mod unit;
pub(crate) mod units;

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use entry::{Submitted, SubmittedTo};
use holdfast_domain::{Actor, Command};
use holdfast_engine::ledger::{Outcome, Reply};

use super::Form;
use crate::{
    app::App,
    auth::organiser::Organiser,
    problem::{Code, Problem},
};

/// What came of something, at the top of a page.
pub(super) struct Notice {
    /// `good` or `bad`, as the look has them.
    pub tone: &'static str,
    pub words: String,
    /// One by one, where there are several things to say.
    pub list: Vec<String>,
}

impl Notice {
    fn good(words: impl Into<String>) -> Self {
        Self { tone: "good", words: words.into(), list: Vec::new() }
    }

    fn bad(words: impl Into<String>) -> Self {
        Self { tone: "bad", words: words.into(), list: Vec::new() }
    }

    /// Several faults stand on lines of their own in a problem's words.
    fn of(problem: &Problem) -> Self {
        // What is wrong with a form is said by the words on its fields; a request is nothing that people sent.
        let title = match problem.code {
            Code::InvalidRequest => "That cannot be done yet",
            code => code.title(),
        };
        let lines: Vec<String> = problem.detail.lines().map(str::to_owned).collect();
        match &lines[..] {
            [] | [_] => Self::bad(format!("{title}. {}", problem.detail)),
            _ => Self { list: lines, ..Self::bad(format!("{title}.")) },
        }
    }
}

/// A page for the organiser alone. Nobody keeps a copy.
fn shown(organiser: &Organiser, template: &impl Template) -> Result<Response, Problem> {
    let mut response = super::page(template)?;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(cookie) = &organiser.renewed {
        headers.insert(header::SET_COOKIE, cookie.clone());
    }
    Ok(response)
}

/// A page that says why something did not happen, with the status that says the same to machines.
fn refused(organiser: &Organiser, problem: &Problem, template: &impl Template) -> Result<Response, Problem> {
    let mut response = shown(organiser, template)?;
    *response.status_mut() = problem.code.status();
    Ok(response)
}

/// See other: whatever was posted, what comes next is read.
fn go(place: &str) -> Result<Response, Problem> {
    let place = HeaderValue::try_from(place)
        .map_err(|fault| Problem::internal("The page has no address.", fault.to_string()))?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
}

/// Submits one command that may be submitted twice without harm.
async fn submit(app: &App, actor: &Actor, command: Command) -> Result<Outcome, Problem> {
    match app.pipeline.submit(command, actor.clone(), None).await? {
        Reply::Done(outcome) => Ok(outcome),
        Reply::Refused(refusal) => Err(refusal.into()),
        Reply::Replayed(_) | Reply::Open { .. } | Reply::KeyReused => {
            Err(Problem::internal("The ledger answered another question.", "a key without a key".to_owned()))
        }
    }
}

/// Whether the page can say it: what is wrong with the server is not the page's to explain.
fn is_ours_to_say(problem: &Problem) -> bool {
    problem.code.status().is_client_error() && problem.code != Code::NotFound
}
