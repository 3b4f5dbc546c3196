//! Every gate before a real ledger, on private Redis servers that are hurt on purpose.

mod counting;
mod faults;
mod limits;
mod locks;
mod random;
mod rates;
mod rebuild;
mod sharing;
mod shop;
mod topologies;
