//! Every gate before a real ledger, on private Redis servers that are hurt on purpose.

#[path = "../common/certificates.rs"]
mod certificates;
mod counting;
mod faults;
mod limits;
mod locks;
mod random;
mod rates;
mod rebuild;
mod sharing;
mod shop;
mod tls;
mod topologies;
