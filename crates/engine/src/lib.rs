//! The engine: everything between a parsed request and a durable answer.
//!
//! ```text
//! http ─► admission ─► ledger ─► journal ─► outbox: live map
//!         bounded      durable   audit,
//!         in-flight    yes       hash chain
//! ```
//! [`pipeline`] shows the whole walk in one function. The [`ledger`] alone says yes. Knows nothing of HTTP.

pub mod clock;
pub mod ledger;
pub mod mint;
pub mod outbox;
pub mod pipeline;
