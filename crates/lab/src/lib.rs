//! The lab: every way of not selling a thing twice, side by side, with what was seen of each.
//!
//! ```text
//! scenarios ─► strategies, mistakes ─► histories ─► holdfast-checker ─► report: JSON, HTML, SVG
//! ```
//! Verdicts are the checker's, read from recorded histories. The [`report`] draws what it is given and judges
//! nothing. Called by the binary; the server does not know this crate.

pub mod report;
