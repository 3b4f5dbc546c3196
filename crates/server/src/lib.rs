//! Holdfast over HTTP: the contract of the API, as a thin skin around the engine.
//!
//! ```text
//! serve ─► layers ─► router ─► routes ─► pipeline
//! sockets  id, shed,  one page  parse,    the engine decides
//! limits   log, count           render
//! ```
//! `router.rs` lists every route on one page. A handler parses once into domain types (`wire`), submits one
//! command or asks one question, and words the answer. Everything that is not the asked-for answer is a
//! `problem`. Deliberately absent: decisions about what is sold, and any state that must survive a restart.

mod app;
mod assets;
mod auth;
mod body;
mod doors;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod idempotency;
pub mod lab;
mod layers;
mod openapi;
mod payments;
mod problem;
mod router;
mod routes;
mod serve;
mod settings;
mod telemetry;
mod ui;
mod wire;

pub use app::Parts;
pub use auth::keys::mint as mint_key;
pub use doors::{Network, RateLimits, TrustedProxies};
pub use openapi::json as openapi_json;
pub use payments::{Checkout, PaymentDesk};
pub use problem::explained;
pub use serve::run;
pub use settings::{KeyHash, Limits, Secret, Settings};
pub use telemetry::install as install_metrics;
pub use wire::{OfferFault, Sheet, SheetFault, check_offers, parse_sheet, render};
