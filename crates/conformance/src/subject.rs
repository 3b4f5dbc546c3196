//! Whatever keeps books, as the stories and the random sequences see it: one command at a time, on a clock that
//! stands still until told otherwise.

use std::{fmt, sync::Arc};

use holdfast_domain::{Actor, BookingId, Command, HoldId, Moment, OfferId};
use holdfast_engine::ledger::{
    Answer, BookingView, Cells, HoldView, IdempotencyKey, LedgerError, OfferView, Outcome, Render, Reply,
    Snapshot,
};

pub trait Subject: fmt::Debug {
    fn now(&self) -> Moment;
    fn tick(&mut self, ms: i64);

    fn execute(&mut self, ask: Asked) -> Result<Reply, LedgerError>;

    fn offer(&mut self, id: &OfferId) -> Result<Option<OfferView>, LedgerError>;
    fn snapshot(&mut self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError>;
    fn hold(&mut self, id: HoldId) -> Result<Option<HoldView>, LedgerError>;
    fn booking(&mut self, id: BookingId) -> Result<Option<BookingView>, LedgerError>;
    /// The kinds of all journal entries, in order.
    fn journal(&mut self) -> Result<Vec<String>, LedgerError>;

    /// Ends as a process would, and begins again from what it kept.
    fn restart(&mut self) -> Result<(), LedgerError>;
}

/// A command and who asks it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub command: Command,
    pub actor: Actor,
    pub key: Option<IdempotencyKey>,
}

impl Asked {
    pub fn by_key(command: Command) -> Self {
        Self { command, actor: Actor::Key(Arc::from("test")), key: None }
    }
}

/// The words of a keyed answer: everything there is to know of the outcome, so that a replay that differs in
/// anything at all is seen.
pub fn render() -> Render {
    Arc::new(|outcome| Answer { status: 200, body: words(outcome).into() })
}

fn words(outcome: &Outcome) -> String {
    let of_offer = |view: &OfferView| {
        format!("{:?} {} {} {:?}", view.offer.def(), view.created_at, view.version, view.counts)
    };
    match outcome {
        Outcome::OfferCreated(view) => format!("created {}", of_offer(view)),
        Outcome::OfferAmended(view) => format!("amended {}", of_offer(view)),
        Outcome::Blocked(view) => format!("blocked {}", of_offer(view)),
        Outcome::Unblocked(view) => format!("unblocked {}", of_offer(view)),
        Outcome::Held { hold, again } => format!("held {:?} {again} {}", hold.hold, hold.at),
        Outcome::Extended(view) => format!("extended {:?} {}", view.hold, view.at),
        Outcome::Released(view) => format!("released {:?} {}", view.hold, view.at),
        Outcome::Left(view) => format!("left {:?} {}", view.hold, view.at),
        Outcome::Returned(view) => format!("returned {:?} {}", view.hold, view.at),
        Outcome::Confirmed(view) => format!("confirmed {:?} {}", view.booking, view.at),
        Outcome::Cancelled(view) => format!("cancelled {:?} {}", view.booking, view.at),
        Outcome::PaymentBegun(view) => format!("begun {:?} {}", view.booking, view.at),
        Outcome::Payment { booking, changed } => {
            format!("payment {:?} {changed} {}", booking.booking, booking.at)
        }
        Outcome::Tidied { expired } => format!("tidied {expired}"),
    }
}
