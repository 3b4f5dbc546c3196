//! A small HTTP/1.1 client: enough to ask a Holdfast server anything, and light enough to drive it to its limits
//! from the same two cores. One connection, one request at a time, kept open between them.
//!
//! Deliberately absent: TLS, redirects, pipelining, proxies, compressed bodies (callers that ask for one get
//! its bytes as sent). [`api`] adds keys, JSON and what to do about a refusal.

pub mod api;
mod connection;
mod request;
mod target;

pub use connection::{Connection, Response};
pub use request::{Request, Template, escaped};
pub use target::Target;
