//! The report of a run: its data, which is also the JSON, and the pictures drawn from it.

pub mod model;

pub use model::Report;
