//! Pages for people: the shop, from the list of offers to the booking.
//!
//! Server-rendered HTML with ordinary forms, one file a page; every step works without scripts, and the modules in
//! `assets/` only make it livelier. A page asks the ledger and a form submits one command, like the JSON routes do and
//! through the same functions; nothing here calls this server over HTTP. A refusal is a value, and becomes a page with
//! a way forward. Deliberately absent: decisions about what is sold, and anything that only a script could do.
//!
//! ```text
//! GET /  ─► GET /o/{offer} ─► POST /o/{offer}/hold ─► GET /holds/{id} ─► POST /holds/{id}/book ─► GET /bookings/{id}
//!                   ▲               │ refused                ▲                    │ declined
//!                   └── just taken ◄┘                        └────────────────────┘
//! ```
//! The templates are in `templates/`: `base.html` is around every page, and `app.css` is the look of all of them.

pub(crate) mod admin;
pub(crate) mod booking;
pub(crate) mod bookings;
pub(crate) mod checkout;
pub(crate) mod fault;
mod form;
pub(crate) mod hold;
mod ics;
pub(crate) mod lab;
mod led;
mod lines;
pub(crate) mod offer;
pub(crate) mod place;
mod qr;
pub(crate) mod queue;
mod refused;
mod seats;
pub(crate) mod shop;
mod slots;
mod stock;
mod visitor;
pub(crate) mod words;

use askama::Template;
use axum::{
    http::{HeaderValue, header},
    response::Response,
};
pub(crate) use form::{Form, Posted};
pub(crate) use visitor::Visitor;

use crate::{assets, problem::Problem};

/// A page that is the same for everybody.
pub(crate) fn page(template: &impl Template) -> Result<Response, Problem> {
    let text = template
        .render()
        .map_err(|fault| Problem::internal("The page could not be made.", fault.to_string()))?;
    Ok(assets::html(text))
}

/// A page for one visitor. Nobody keeps a copy, so going back shows how things are now.
pub(crate) fn own_page(visitor: &Visitor, template: &impl Template) -> Result<Response, Problem> {
    let mut response = page(template)?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    visitor.remember(&mut response);
    Ok(response)
}
