//! The embedded ledger's promises, each with the accident that would break it.

mod batches;
mod bench;
mod checkpoints;
mod codec;
mod crashes;
mod expiry;
mod failures;
mod flushing;
mod leaving;
mod logs;
mod payments;
mod queueing;
mod serving;
mod verifying;
