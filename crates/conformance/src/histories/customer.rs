//! Somebody who wants something: asks, remembers the answers, and asks again where there was none.

use std::sync::Arc;

use holdfast_checker::history::UnitRef;
use holdfast_domain::{Actor, BookingId, Command, HoldId, HolderId};
use holdfast_engine::ledger::{IdempotencyKey, LedgerError, Outcome, Reply};
pub use holdfast_lab::Dice;

use super::Stage;
use crate::subject::Asked;

/// What a customer does next.
#[derive(Debug, Clone)]
pub enum Next {
    Ask(Box<Asked>),
    Read(UnitRef),
}

#[derive(Debug)]
pub struct Customer {
    pub process: u32,
    holder: HolderId,
    stage: Arc<Stage>,
    dice: Dice,
    holds: Vec<HoldId>,
    bookings: Vec<BookingId>,
    asked: u64,
    /// Sent, and not answered: to be sent again.
    unanswered: Option<Asked>,
    /// Answered, and sent again all the same now and then.
    answered: Option<Asked>,
    /// Has thought about a hold for too long, and goes for it now.
    late: bool,
}

/// How many of its own holds a customer keeps in mind.
const MEMORY: usize = 4;

impl Customer {
    pub fn new(process: u32, stage: Arc<Stage>, seed: u64) -> Self {
        let holder = HolderId::new(&format!("customer-{process}")).expect("a valid holder");
        let dice = Dice::from_seed(seed ^ u64::from(process).wrapping_mul(0x9e37_79b9));
        let (holds, bookings) = Default::default();
        Self {
            process,
            holder,
            stage,
            dice,
            holds,
            bookings,
            asked: 0,
            unanswered: None,
            answered: None,
            late: false,
        }
    }

    pub fn next_question(&mut self) -> Next {
        self.asked += 1;
        if let Some(again) = self.unanswered.take() {
            return Next::Ask(Box::new(self.renamed(again)));
        }
        if let Some(again) = self.answered.take_if(|_| self.dice.below(8) == 0) {
            return Next::Ask(Box::new(self.renamed(again)));
        }
        let late = std::mem::take(&mut self.late);
        let command = match if late { 4 + self.dice.below(4) } else { self.dice.below(20) } {
            0..=3 => return Next::Read(self.dice.below(self.stage.places.len() as u64) as UnitRef),
            4 | 5 => self.a_hold().map(|hold| Command::Confirm { booking: self.booking_id(), hold }),
            6 => self.a_hold().map(|hold| Command::ReleaseHold { hold }),
            7 => self.a_hold().map(|hold| Command::ExtendHold { hold }),
            8..=10 => self.bookings.pop().map(|booking| Command::Cancel { booking }),
            _ => None,
        };
        let command = command.unwrap_or_else(|| Command::PlaceHold {
            hold: HoldId::from_bits(self.fresh()),
            holder: self.holder.clone(),
            asks: self.stage.wish(&mut self.dice),
        });
        let keyed =
            matches!(command, Command::PlaceHold { .. } | Command::Confirm { .. }) && self.dice.below(2) == 0;
        let key = keyed.then(|| self.key());
        Next::Ask(Box::new(Asked { command, actor: Actor::Key(Arc::from("test")), key }))
    }

    /// How long the customer thinks before asking again, in milliseconds: now and then longer than a hold lasts.
    pub fn thinks_ms(&mut self) -> i64 {
        self.late = !self.holds.is_empty() && self.dice.below(16) == 0;
        let thinks = if self.late { 800 + self.dice.below(600) } else { 1 + self.dice.below(30) };
        thinks as i64
    }

    /// Takes note of what came of it.
    pub fn hear(&mut self, ask: Asked, reply: &Result<Reply, LedgerError>, replayed: Option<&Outcome>) {
        match reply {
            Ok(Reply::Done(outcome)) => self.learn(outcome),
            Ok(Reply::Replayed(_)) => replayed.into_iter().for_each(|outcome| self.learn(outcome)),
            Err(LedgerError::OutcomeUnknown(_)) if ask.key.is_some() => {
                self.unanswered = Some(ask);
                return;
            }
            _ => {}
        }
        if ask.key.is_some() {
            self.answered = Some(ask);
        }
    }

    fn learn(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Held { hold, .. } => {
                self.holds.push(hold.hold.id);
                if self.holds.len() > MEMORY {
                    self.holds.remove(0);
                }
            }
            Outcome::Confirmed(view) => {
                self.bookings.push(view.booking.id);
                self.forget(view.booking.hold);
            }
            Outcome::Released(view) => self.forget(view.hold.id),
            _ => {}
        }
    }

    /// Mostly: now and then somebody asks for what is over.
    fn forget(&mut self, hold: HoldId) {
        if self.dice.below(4) > 0 {
            self.holds.retain(|known| *known != hold);
        }
    }

    /// The same intention, sent again: whoever mints mints anew, the key stays.
    fn renamed(&self, ask: Asked) -> Asked {
        let command = match ask.command {
            Command::PlaceHold { holder, asks, .. } => {
                Command::PlaceHold { hold: HoldId::from_bits(self.fresh()), holder, asks }
            }
            Command::Confirm { hold, .. } => Command::Confirm { booking: self.booking_id(), hold },
            other => other,
        };
        Asked { command, ..ask }
    }

    fn a_hold(&mut self) -> Option<HoldId> {
        let count = self.holds.len() as u64;
        (count > 0).then(|| self.holds[self.dice.below(count) as usize])
    }

    fn booking_id(&self) -> BookingId {
        BookingId::from_bits(self.fresh())
    }

    /// Customers' numbers never meet.
    fn fresh(&self) -> u128 {
        u128::from(self.process + 1) << 64 | u128::from(self.asked)
    }

    /// Every customer counts its keys alike: only the scope keeps them apart.
    fn key(&self) -> IdempotencyKey {
        let fingerprint = [self.process as u8; 32];
        IdempotencyKey {
            scope: format!("caller-{}", self.process),
            key: format!("key-{}", self.asked),
            fingerprint,
        }
    }
}
