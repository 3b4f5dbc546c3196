//! The model put to the test through `decide` and `apply` alone, as a ledger would use it.

mod best;
mod expiry;
mod history;
mod limits;
mod lines;
mod payments;
mod random;
mod sale;
mod slots;
