//! Payments: charged once or not at all.
//!
//! The [`provider`] port says what is asked of whoever moves the money; [`stripe`] asks Stripe. Deliberately
//! absent: decisions. Whether a payment confirms a booking, waits or is given back is decided in the domain and
//! journalled by the ledger.

pub mod provider;
pub mod stripe;
