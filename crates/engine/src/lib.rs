//! The engine: everything between a parsed request and a durable answer.
//!
//! ```text
//! http ─► admission ─► gate ─► ledger ─► journal ─► outbox: live map
//!         how often,   fast    durable   audit,
//!         whose turn   no      yes       hash chain
//! ```
//! [`pipeline`] shows the whole walk in one function. The [`gate`] may only refuse; the [`ledger`] alone
//! says yes. Knows nothing of HTTP.

pub mod admission;
pub mod clock;
pub mod gate;
pub mod ledger;
pub mod mint;
pub mod outbox;
pub mod payments;
pub mod pipeline;
mod private_file;
pub mod strategy;
pub mod tls;
