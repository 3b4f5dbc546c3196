//! Selling each thing once, as a pure model.
//!
//! [`decide()`] says what a command would change, or why it may not; [`apply()`] changes it. Neither reads a
//! clock, rolls dice or performs I/O: time and ids arrive as arguments. Every ledger must give the answers this
//! crate gives, so it is the specification as well as the embedded ledger's engine.
//!
//! Deliberately absent: serialisation (the adapters own their formats), async, HTTP status codes, logging.

pub mod apply;
pub mod command;
pub mod decide;
pub mod event;
pub mod hold;
pub mod ids;
pub mod invariants;
pub mod money;
pub mod offer;
pub mod payment;
pub mod refusal;
pub mod schedule;
pub mod seat_plan;
pub mod seating;
pub mod state;
pub mod text;
pub mod time;

pub use apply::{absorb, apply, apply_as};
pub use command::{Actor, Ask, Command, Pick};
pub use decide::{Decision, Subject, decide};
pub use event::{Entry, Event, PaymentBegun, PaymentEvent, Placed};
pub use hold::{Booking, BookingState, Hold, HoldState, Line, Version};
pub use ids::{BookingId, HoldId, HolderId, OfferId};
pub use money::{Currency, Money};
pub use offer::{Amendment, Inventory, InventoryDef, Kind, Offer, OfferDef, StockLine, UnitNo};
pub use payment::{
    IntentId, PayTerms, Payment, PaymentMethod, PaymentOutcome, PaymentState, Provider, Reason,
    RefundOutcome, Resolution,
};
pub use refusal::{Conflict, InTheWay, Limit, Refusal, UnitState};
pub use seating::Relaxed;
pub use state::{Counts, Fold, OfferPart, OfferState, Part, Parts, State, Unit};
pub use text::Invalid;
pub use time::Moment;
