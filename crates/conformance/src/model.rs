//! The specification, runnable: `decide` and `apply` with a clock and the answers of used keys around them.
//!
//! It keeps everything in memory, forgets nothing and shares no code with any ledger beyond the domain.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::{
    BookingId, Command, Decision, Entry, HoldId, Kind, Line, Moment, Offer, OfferId, OfferState, State,
    Subject as Of, apply, decide,
};
use holdfast_engine::ledger::{
    Answer, BookingView, Cells, HoldView, IdempotencyKey, LedgerError, OfferView, Outcome, Render, Reply,
    Snapshot, SnapshotUnits,
};

use crate::subject::{Asked, Subject, render};

pub struct Model {
    state: State,
    now: Moment,
    journal: Vec<Entry>,
    answers: HashMap<(String, String), ([u8; 32], Answer)>,
    render: Render,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("state", &self.state).field("now", &self.now).finish_non_exhaustive()
    }
}

impl Model {
    pub fn at(now: Moment) -> Self {
        Self { state: State::default(), now, journal: Vec::new(), answers: HashMap::new(), render: render() }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn entries(&self) -> &[Entry] {
        &self.journal
    }

    fn answered_before(&self, key: &IdempotencyKey) -> Option<Reply> {
        let (fingerprint, answer) = self.answers.get(&(key.scope.clone(), key.key.clone()))?;
        Some(match *fingerprint == key.fingerprint {
            true => Reply::Replayed(answer.clone()),
            false => Reply::KeyReused,
        })
    }

    fn write(&mut self, ask: &Asked, decision: &Decision) {
        for event in &decision.events {
            apply(&mut self.state, event, self.now);
            let seq = self.state.version().0;
            let (actor, event) = (ask.actor.clone(), event.clone());
            self.journal.push(Entry { seq, at: self.now, actor, event });
        }
    }

    fn outcome(&self, command: &Command, decision: &Decision) -> Outcome {
        match (&decision.subject, command) {
            (Of::Offer(id), command) => offer_outcome(command, self.offer_view(self.state_of(id))),
            (Of::Hold(id), Command::PlaceHold { .. }) => {
                Outcome::Held { hold: self.hold_view(*id), again: decision.events.is_empty() }
            }
            (Of::Hold(id), Command::ExtendHold { .. }) => Outcome::Extended(self.hold_view(*id)),
            (Of::Hold(id), _) => Outcome::Released(self.hold_view(*id)),
            (Of::Booking(id), Command::Confirm { .. }) => Outcome::Confirmed(self.booking_view(*id)),
            (Of::Booking(id), _) => Outcome::Cancelled(self.booking_view(*id)),
            (Of::Nothing, _) => Outcome::Tidied { expired: decision.events.len() },
        }
    }

    fn state_of(&self, id: &OfferId) -> &OfferState {
        self.state.offer(id).expect("a decision is about what exists")
    }

    fn offer_view(&self, at: &OfferState) -> OfferView {
        OfferView {
            offer: Arc::clone(at.offer()),
            created_at: at.created_at(),
            version: at.version(),
            counts: at.counts(),
        }
    }

    fn hold_view(&self, id: HoldId) -> HoldView {
        let hold = self.state.hold(id, self.now).expect("a decision is about what exists").clone();
        HoldView { offers: self.offers_of(&hold.lines), hold, at: self.now }
    }

    fn booking_view(&self, id: BookingId) -> BookingView {
        let booking = self.state.booking(id).expect("a decision is about what exists").clone();
        BookingView { offers: self.offers_of(&booking.lines), booking, at: self.now }
    }

    fn offers_of(&self, lines: &[Line]) -> Vec<Arc<Offer>> {
        let mut offers: Vec<Arc<Offer>> = Vec::new();
        for line in lines {
            if !offers.iter().any(|offer| *offer.id() == line.offer) {
                offers.push(Arc::clone(self.state_of(&line.offer).offer()));
            }
        }
        offers
    }
}

fn offer_outcome(command: &Command, view: OfferView) -> Outcome {
    match command {
        Command::CreateOffer { .. } => Outcome::OfferCreated(view),
        Command::AmendOffer { .. } => Outcome::OfferAmended(view),
        Command::Block { .. } => Outcome::Blocked(view),
        _ => Outcome::Unblocked(view),
    }
}

impl Subject for Model {
    fn now(&self) -> Moment {
        self.now
    }

    fn tick(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
    }

    fn execute(&mut self, ask: Asked) -> Result<Reply, LedgerError> {
        if let Some(before) = ask.key.as_ref().and_then(|key| self.answered_before(key)) {
            return Ok(before);
        }
        let decision = match decide(&self.state, &ask.command, &ask.actor, self.now) {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        self.write(&ask, &decision);
        let outcome = self.outcome(&ask.command, &decision);
        if let Some(key) = ask.key {
            self.answers.insert((key.scope, key.key), (key.fingerprint, (self.render)(&outcome)));
        }
        Ok(Reply::Done(outcome))
    }

    fn offer(&mut self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        Ok(self.state.offer(id).map(|at| self.offer_view(at)))
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
        Ok(self.state.hold(id, self.now).is_some().then(|| self.hold_view(id)))
    }

    fn booking(&mut self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        Ok(self.state.booking(id).is_some().then(|| self.booking_view(id)))
    }

    fn journal(&mut self) -> Result<Vec<String>, LedgerError> {
        Ok(self.journal.iter().map(|entry| entry.event.kind().to_owned()).collect())
    }

    /// What a journal is for: the state is thrown away and folded anew.
    fn restart(&mut self) -> Result<(), LedgerError> {
        let mut folded = State::default();
        self.journal.iter().for_each(|entry| apply(&mut folded, &entry.event, entry.at));
        self.state = folded;
        Ok(())
    }
}
