//! The report of a run: its data, which is also the JSON, and the pictures drawn from it.
//!
//! ```text
//! model ─┬─► page: one HTML file, drawn by the hand-written script in assets/
//!        ├─► svg: the story of it, for a README
//!        └─► claims: the tables of docs/strategies.md
//! ```
//! The pictures show what the data says and judge nothing.

mod claims;
pub mod model;
mod page;
mod svg;

pub use claims::claims;
pub use model::Report;
pub use page::{Page, html, page};
pub use svg::svg;
