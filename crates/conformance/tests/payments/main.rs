//! Payments: charged once or not at all. The real client and the real saga, on both ledgers, against the simulated
//! provider, whose own count of the money is what is believed. Time passes only when told to.

mod crash;
mod dice;
mod postgres;
mod schedules;
mod shop;
mod table;
