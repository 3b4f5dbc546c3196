//! The HTTP contract, line by line, against a real listener over the embedded ledger.

mod access;
mod admin;
mod app;
mod availability;
mod bookings;
mod hoarding;
mod holds;
mod hostile;
mod idempotency;
mod lab;
mod limits;
mod map;
mod offers;
mod operations;
mod pages;
mod payments;
mod room;
mod shop;
mod shutdown;
