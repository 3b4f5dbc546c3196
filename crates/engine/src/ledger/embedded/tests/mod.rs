//! The embedded ledger's promises, each with the accident that would break it.

mod bench;
mod serving;
