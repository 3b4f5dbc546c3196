//! A card provider that looks like Stripe from the outside, on loopback, for demos and tests.
//!
//! ```text
//! HTTP ─► serve ─► faults ─► idempotency ─► account ─► webhooks
//!         sockets  scripted  saved answers  the money  signed, late, twice
//! ```
//! It speaks the part of Stripe's REST API that a shop needs to charge and refund a card (PaymentIntents, refunds,
//! charges and events to look at), answers errors and idempotency keys the way Stripe does, and sends webhooks that Stripe's own libraries accept.
//! What it has beyond Stripe is a script: the next call may fail, hang or lose its answer, time may be moved
//! forward, and [`Simulator::money`] says what every card was charged.
//!
//! Deliberately absent: anything that survives the process, customers, subscriptions, real cards. It depends on
//! nothing of Holdfast, so that it can judge Holdfast and be pointed at by anybody else.

mod account;
mod answer;
mod api;
mod cards;
mod control;
mod events;
mod faults;
mod form;
mod idempotency;
mod serve;
mod simulator;
mod time;
mod webhooks;

pub use account::Money;
pub use cards::{CARDS, Card};
pub use faults::{Fault, Operation};
pub use simulator::{Settings, Simulator};
pub use time::Pace;
pub use webhooks::{Deliveries, Delivery, sign};
