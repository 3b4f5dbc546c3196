//! Payments: charged once or not at all.
//!
//! ```text
//! request, webhook, worker ─► saga: look ─► report ─► ledger
//!                             one provider call   one command, journalled
//! ```
//! The [`provider`] port says what is asked of whoever moves the money; [`stripe`] asks Stripe. The [`saga`] takes one
//! step at a time: it looks at the provider, then reports what it saw. Deliberately absent: decisions. Whether a
//! payment confirms a booking, waits or is given back is decided in the domain and journalled by the ledger, and
//! transitions are monotone, so that any number of nodes may drive one payment at once. Never is a provider asked
//! inside a transaction.

pub mod provider;
pub mod saga;
pub mod stripe;
mod worker;

pub use saga::{Answered, Beginning, Payments, Settings, Words};
