//! The report of a run: its data, which is also the JSON, and the pictures drawn from it.
//!
//! ```text
//! model ─► page: one HTML file, drawn by the hand-written script in assets/
//! ```
//! The pictures show what the data says and judge nothing.

pub mod model;
mod page;

pub use model::Report;
pub use page::{Page, html, page};
