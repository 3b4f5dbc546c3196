//! The specification, runnable: `decide` and `apply` with a clock and the answers of used keys around them.
//!
//! It keeps everything in memory, forgets nothing and shares no code with any ledger beyond the domain.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::{
    BookingId, Command, Decision, Entry, Event, HoldId, Kind, Line, Moment, OfferId, State, Version, apply,
    apply_as, decide,
};
use holdfast_engine::ledger::{
    Answer, BookingView, Cells, HoldView, IdempotencyKey, LedgerError, OfferView, Outcome, Render, Reply,
    Snapshot, SnapshotUnits,
};

use crate::{
    subject::{Asked, Subject, render},
    views,
};

pub struct Model {
    state: State,
    now: Moment,
    journal: Vec<Entry>,
    answers: HashMap<(String, String), ([u8; 32], Kept)>,
    render: Render,
    numbering: Numbering,
}

/// What is kept under a key.
#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Words(Answer),
    /// None yet: the payment that it began will have them.
    Open(BookingId),
}

/// How entries are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// One after another.
    Journal,
    /// One more than any of the offers it touches had: all that books kept offer by offer can know.
    Offers,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("state", &self.state).field("now", &self.now).finish_non_exhaustive()
    }
}

impl Model {
    pub fn at(now: Moment) -> Self {
        Self::numbered(Numbering::Journal, now)
    }

    pub fn numbered(numbering: Numbering, now: Moment) -> Self {
        let (state, journal, answers) = Default::default();
        Self { state, now, journal, answers, render: render(), numbering }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn entries(&self) -> &[Entry] {
        &self.journal
    }

    fn answered_before(&self, key: &IdempotencyKey) -> Option<Reply> {
        let (fingerprint, kept) = self.answers.get(&(key.scope.clone(), key.key.clone()))?;
        Some(match (*fingerprint == key.fingerprint, kept) {
            (true, Kept::Words(answer)) => Reply::Replayed(answer.clone()),
            (true, Kept::Open(booking)) => Reply::Open { booking: *booking },
            (false, _) => Reply::KeyReused,
        })
    }

    fn write(&mut self, ask: &Asked, decision: &Decision) {
        for event in &decision.events {
            match self.numbering {
                Numbering::Journal => apply(&mut self.state, event, self.now),
                Numbering::Offers => {
                    let version = next_of_its_offers(&self.state, event);
                    apply_as(&mut self.state, event, self.now, version);
                }
            }
            let seq = self.state.version().0;
            let (actor, event) = (ask.actor.clone(), event.clone());
            self.journal.push(Entry { seq, at: self.now, actor, event });
        }
    }
}

fn next_of_its_offers(state: &State, event: &Event) -> Version {
    let of_lines = |lines: &[Line]| lines.iter().map(|line| line.offer.clone()).collect();
    let of_hold = |id| state.hold(id, Moment::MIN).map(|hold| of_lines(&hold.lines)).unwrap_or_default();
    let offers: Vec<OfferId> = match event {
        Event::OfferCreated { offer } => vec![offer.id().clone()],
        Event::OfferAmended { offer, .. }
        | Event::UnitsBlocked { offer, .. }
        | Event::UnitsUnblocked { offer, .. } => vec![offer.clone()],
        Event::HoldPlaced(placed) => of_lines(&placed.lines),
        Event::HoldExtended { hold, .. }
        | Event::HoldLeft { hold, .. }
        | Event::HoldReturned { hold, .. }
        | Event::HoldReleased { hold }
        | Event::HoldExpired { hold }
        | Event::BookingConfirmed { hold, .. } => of_hold(*hold),
        Event::PaymentBegun(begun) => of_hold(begun.hold),
        Event::BookingCancelled { booking } | Event::Payment { booking, .. } => {
            state.booking(*booking).map(|booking| of_lines(&booking.lines)).unwrap_or_default()
        }
    };
    let newest = offers.iter().filter_map(|id| state.offer(id)).map(|offer| offer.version().0).max();
    Version(1 + newest.unwrap_or_default())
}

impl Subject for Model {
    fn now(&self) -> Moment {
        self.now
    }

    fn tick(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
    }

    fn execute(&mut self, ask: Asked) -> Result<Reply, LedgerError> {
        let before = ask.key.as_ref().and_then(|key| self.answered_before(key));
        let begins = matches!(ask.command, Command::BeginPayment { .. });
        let reports = ask.command.of_payment().filter(|_| !begins);
        if let (Some(before), None) = (&before, reports) {
            return Ok(before.clone());
        }
        let decision = match decide(&self.state, &ask.command, &ask.actor, self.now) {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        self.write(&ask, &decision);
        let outcome = views::outcome(&self.state, &ask.command, &decision, self.now);
        let opened = match before {
            // Whoever reports of a payment that has its words already hears those.
            Some(Reply::Replayed(words)) => return Ok(Reply::Replayed(words)),
            Some(Reply::Open { booking }) => Some(booking),
            _ => None,
        };
        if let Some(key) = ask.key.filter(|_| reports == opened) {
            let kept = match &outcome {
                Outcome::PaymentBegun(view) => Kept::Open(view.booking.id),
                outcome => Kept::Words((self.render)(outcome)),
            };
            self.answers.insert((key.scope, key.key), (key.fingerprint, kept));
        }
        Ok(Reply::Done(outcome))
    }

    fn offer(&mut self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        Ok(self.state.offer(id).map(views::of_offer))
    }

    fn snapshot(&mut self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        let Some(at) = self.state.offer(id) else { return Ok(None) };
        let units = match at.offer().kind() {
            Kind::Slots => SnapshotUnits::Cells(at.cells(cells.unwrap_or(0..u32::MAX)).collect()),
            Kind::Seats | Kind::Stock => SnapshotUnits::Dense(at.dense().into()),
        };
        Ok(Some(Snapshot {
            offer: Arc::clone(at.offer()),
            version: at.version(),
            as_of: self.now,
            counts: at.counts(),
            units,
        }))
    }

    fn hold(&mut self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        Ok(self.state.hold(id, self.now).map(|hold| views::of_hold(&self.state, hold, self.now)))
    }

    fn booking(&mut self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        Ok(self.state.booking(id).map(|booking| views::of_booking(&self.state, booking, self.now)))
    }

    fn journal(&mut self) -> Result<Vec<String>, LedgerError> {
        Ok(self.journal.iter().map(|entry| entry.event.kind().to_owned()).collect())
    }

    /// What a journal is for: the state is thrown away and folded anew.
    fn restart(&mut self) -> Result<(), LedgerError> {
        let mut folded = State::default();
        let fold = |entry: &Entry| apply_as(&mut folded, &entry.event, entry.at, Version(entry.seq));
        self.journal.iter().for_each(fold);
        self.state = folded;
        Ok(())
    }
}
