//! Random command sequences: whatever a sequence of commands is, the model and the ledger give the same answer to each
//! of them and have the same books in the end.
//!
//! A [`Move`] names things by small numbers (the third hold, the second seat), resolved when it is made, so a sequence
//! stays meaningful when a part of it is taken away, which is how a failure shrinks to the few moves that show it.

mod moves;
mod said;

use std::{collections::BTreeMap, sync::Arc};

use holdfast_domain::{BookingId, Conflict, HoldId, OfferId, Refusal, invariants};
use holdfast_engine::{
    ledger::{LedgerError, Outcome, Reply, embedded::Storage},
    strategy::Claiming,
};

pub use moves::{Move, a_move};
use moves::{Scope, offer_ids};
use said::Booked;
pub use said::Said;

use crate::{
    live::Live,
    model::{Model, Numbering},
    story_start,
    subject::Subject,
};

/// The model and a ledger that have been told the same things.
#[derive(Debug)]
pub struct Pair {
    model: Model,
    ledger: Live,
    /// Sequences told so far; each plays with offers of its own.
    sequences: u64,
    minted: u128,
    seen: Answers,
    hints: Hints,
}

/// Whether the alternatives in a refusal are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hints {
    Compared,
    /// A gate's come from a glance of a moment ago: advice, which may differ.
    Free,
}

/// How often each answer was given, by its code.
pub type Answers = BTreeMap<&'static str, u64>;

/// What one sequence made.
#[derive(Debug, Default)]
struct Made {
    offers: Vec<OfferId>,
    holds: Vec<HoldId>,
    bookings: Vec<Booked>,
}

/// The two said different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference(pub String);

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pair {
    pub fn new(storage: Storage) -> Self {
        Self::apart(storage, 0)
    }

    /// A pair that must be told apart: the ledger's clock is that much ahead.
    pub fn apart(storage: Storage, ahead_ms: i64) -> Self {
        let start = story_start();
        Self::of(Model::at(start), Live::embedded(storage, start.plus_ms(ahead_ms)))
    }

    /// The model beside any ledger that numbers its journal as the model does.
    pub fn on(ledger: Live) -> Self {
        Self::of(Model::at(story_start()), ledger)
    }

    /// The model beside PostgreSQL, on a database of its own.
    pub fn postgres(url: String, claiming: Claiming) -> Self {
        let start = story_start();
        Self::of(Model::numbered(Numbering::Offers, start), Live::postgres(url, claiming, start))
    }

    /// The model beside PostgreSQL with a gate before it.
    pub fn behind_a_gate(ledger: Live) -> Self {
        let model = Model::numbered(Numbering::Offers, story_start());
        Self { hints: Hints::Free, ..Self::of(model, ledger) }
    }

    fn of(model: Model, ledger: Live) -> Self {
        Self { model, ledger, sequences: 0, minted: 0, seen: Answers::new(), hints: Hints::Compared }
    }

    pub fn seen(&self) -> &Answers {
        &self.seen
    }

    pub fn sequences(&self) -> u64 {
        self.sequences
    }

    /// Tells the moves to both, comparing every answer, then all they made.
    pub fn play(&mut self, moves: &[Move]) -> Result<(), Difference> {
        self.sequences += 1;
        let scope = Scope { sequence: self.sequences };
        let mut made = Made { offers: offer_ids(&scope), ..Made::default() };
        for offer in moves::offers(&scope) {
            self.ask(crate::subject::Asked::by_key(offer), &mut made)?;
        }
        let mut last = None;
        for next in moves {
            // Whoever sends something again lets the server mint anew.
            let next = if *next == Move::Again { last.unwrap_or(&Move::Tick(1)) } else { next };
            self.make(&scope, next, &mut made)?;
            last = Some(next);
        }
        self.compare(&made)
    }

    fn make(&mut self, scope: &Scope, next: &Move, made: &mut Made) -> Result<(), Difference> {
        match next {
            Move::Tick(ms) => {
                self.model.tick(*ms);
                self.ledger.tick(*ms);
                Ok(())
            }
            Move::Restart => {
                self.model.restart().map_err(failed)?;
                self.ledger.restart().map_err(failed)
            }
            other => {
                self.minted += 2;
                let now = self.model.now();
                let ask = other.ask(scope, self.minted, &made.holds, &made.bookings, now);
                self.ask(ask, made)
            }
        }
    }

    fn ask(&mut self, ask: crate::subject::Asked, made: &mut Made) -> Result<(), Difference> {
        let expected = self.model.execute(ask.clone()).map_err(failed)?;
        let answered = self.ledger.execute(ask.clone()).map_err(failed)?;
        *self.seen.entry(code(&expected)).or_default() += 1;
        match &expected {
            Reply::Done(Outcome::Held { hold, .. }) => made.holds.push(hold.hold.id),
            Reply::Done(Outcome::Confirmed(view) | Outcome::PaymentBegun(view)) => {
                let (id, price) = (view.booking.id, view.booking.amount);
                made.bookings.push(Booked { id, price, key: ask.key.clone() });
            }
            _ => {}
        }
        let (expected, answered) = match self.hints {
            Hints::Compared => (expected, answered),
            Hints::Free => (without_hints(expected), without_hints(answered)),
        };
        same(&format!("{ask:?}"), &expected, &answered)
    }

    /// Offers, units, holds and bookings, and the invariants over all of the model's state.
    fn compare(&mut self, made: &Made) -> Result<(), Difference> {
        for id in &made.offers {
            let (expected, found) = (self.model.offer(id), self.ledger.offer(id));
            same("the offer", &expected.map_err(failed)?, &found.map_err(failed)?)?;
            let (expected, found) = (self.model.snapshot(id, None), self.ledger.snapshot(id, None));
            same("the units", &expected.map_err(failed)?, &found.map_err(failed)?)?;
        }
        for &id in &made.holds {
            let (expected, found) = (self.model.hold(id), self.ledger.hold(id));
            same("a hold", &expected.map_err(failed)?, &found.map_err(failed)?)?;
        }
        for &Booked { id, .. } in &made.bookings {
            let (expected, found) = (self.model.booking(id), self.ledger.booking(id));
            same("a booking", &expected.map_err(failed)?, &found.map_err(failed)?)?;
        }
        let due = self.model.state().payments_due(self.model.now()).map(|booking| booking.id);
        let mut expected: Vec<BookingId> = due.collect();
        let mut found = self.ledger.payments_due().map_err(failed)?;
        expected.sort_unstable();
        found.sort_unstable();
        same("the payments that are due", &expected, &found)?;
        match invariants::check(self.model.state()) {
            broken if broken.is_empty() => Ok(()),
            broken => Err(Difference(format!("broken: {broken:?}"))),
        }
    }

    /// The ledger's journal, in words, is what the model wrote down.
    pub fn compare_journals(&mut self) -> Result<(), Difference> {
        let expected: Vec<_> = self.model.entries().iter().map(|entry| entry.event.kind()).collect();
        let records = self.ledger.records().map_err(failed)?;
        let found: Vec<_> = records.iter().map(|record| record.kind.as_str()).collect();
        same("the journal", &expected, &found)
    }
}

/// The same reply without the alternatives that a refusal names.
pub fn without_hints(reply: Reply) -> Reply {
    let bare = |conflict: Arc<Conflict>| {
        Arc::new(Conflict { alternatives: vec![], conflicts: conflict.conflicts.clone() })
    };
    match reply {
        Reply::Refused(Refusal::UnitTaken(conflict)) => Reply::Refused(Refusal::UnitTaken(bare(conflict))),
        Reply::Refused(Refusal::UnitBlocked(conflict)) => {
            Reply::Refused(Refusal::UnitBlocked(bare(conflict)))
        }
        other => other,
    }
}

fn code(reply: &Reply) -> &'static str {
    match reply {
        Reply::Done(Outcome::Held { again: true, .. }) => "held again",
        Reply::Done(Outcome::Held { .. }) => "held",
        Reply::Done(Outcome::Extended(_)) => "extended",
        Reply::Done(Outcome::Released(_)) => "released",
        Reply::Done(Outcome::Left(view)) if view.hold.returns_to.is_some() => "left",
        Reply::Done(Outcome::Returned(_)) => "returned",
        Reply::Done(Outcome::Confirmed(_)) => "confirmed",
        Reply::Done(Outcome::Cancelled(_)) => "cancelled",
        Reply::Done(Outcome::PaymentBegun(_)) => "payment begun",
        Reply::Done(Outcome::Payment { changed: true, .. }) => "payment changed",
        Reply::Done(Outcome::Payment { .. }) => "payment unchanged",
        Reply::Done(Outcome::Tidied { expired: 1.. }) => "tidied",
        Reply::Done(_) => "done",
        Reply::Refused(refusal) => refusal.code(),
        Reply::Replayed(_) => "replayed",
        Reply::Open { .. } => "open",
        Reply::KeyReused => "idempotency_key_reused",
    }
}

fn failed(error: LedgerError) -> Difference {
    Difference(format!("no answer: {error}"))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), Difference> {
    match expected == found {
        true => Ok(()),
        false => Err(Difference(format!("{what}\n  model:  {expected:?}\n  ledger: {found:?}"))),
    }
}
