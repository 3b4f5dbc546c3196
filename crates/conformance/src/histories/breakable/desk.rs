//! The writer itself: memory, a list for a disk, and the places where it can be broken.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::{
    Amendment, Booking, BookingState, Command, Decision, Event, Hold, HoldId, HoldState, Moment, OfferId,
    Placed, Refusal, State, Unit, UnitNo, Version, apply, decide,
};
use holdfast_engine::ledger::{Answer, BookingView, HoldView, IdempotencyKey, Outcome, Render, Reply};

use super::Bug;
use crate::{subject::Asked, views};

/// How early [`Bug::TakesTheUnexpired`] is, and how far [`Bug::LetsTheClockGoBack`] goes back.
const OFF_BY_MS: i64 = 400;
/// [`Bug::LosesAWrite`] loses one yes in so many.
const LOSES_ONE_IN: u64 = 20;

type Answers = HashMap<(String, String), ([u8; 32], Answer)>;

/// Events of one commit, with the moment of each.
type Batch = Vec<(Event, Moment)>;

pub(super) struct Desk {
    bug: Option<Bug>,
    render: Render,
    memory: State,
    /// What the disk adds up to, and the last batch that was written to it.
    disk: State,
    last_batch: Batch,
    batch: Batch,
    answers: Answers,
    fresh_answers: Answers,
    /// Holds that were granted though they no longer fitted: memory cannot take them in.
    ghosts: HashMap<HoldId, Placed>,
    /// For those who read from it.
    copy: State,
    clock_behind_ms: i64,
    swept_at: Moment,
    granted: u64,
    minted: u128,
}

impl Desk {
    pub(super) fn new(bug: Option<Bug>, render: Render, now: Moment) -> Self {
        Self {
            bug,
            render,
            memory: State::default(),
            disk: State::default(),
            last_batch: Vec::new(),
            batch: Vec::new(),
            answers: Answers::new(),
            fresh_answers: Answers::new(),
            ghosts: HashMap::new(),
            copy: State::default(),
            clock_behind_ms: 0,
            swept_at: now,
            granted: 0,
            minted: u128::MAX,
        }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Decides, and keeps the answer of a key beside its effect. The answer must wait for the commit.
    pub(super) fn ask(&mut self, ask: &Asked, now: Moment) -> Reply {
        let now = now.plus_ms(-self.clock_behind_ms);
        if let Some(before) = ask.key.as_ref().and_then(|key| self.answered(key)) {
            return before;
        }
        let reply = self.decide(ask, now);
        if let (Reply::Done(outcome), Some(key)) = (&reply, &ask.key)
            && !self.has(Bug::ForgetsKeys)
        {
            self.fresh_answers.insert(self.name_of(key), (key.fingerprint, (self.render)(outcome)));
        }
        reply
    }

    fn name_of(&self, key: &IdempotencyKey) -> (String, String) {
        let scope = if self.has(Bug::SharesKeysBetweenCallers) { String::new() } else { key.scope.clone() };
        (scope, key.key.clone())
    }

    fn answered(&self, key: &IdempotencyKey) -> Option<Reply> {
        let name = self.name_of(key);
        let (fingerprint, answer) = self.fresh_answers.get(&name).or_else(|| self.answers.get(&name))?;
        match *fingerprint == key.fingerprint || self.has(Bug::SharesKeysBetweenCallers) {
            true => Some(Reply::Replayed(answer.clone())),
            false => Some(Reply::KeyReused),
        }
    }

    fn decide(&mut self, ask: &Asked, now: Moment) -> Reply {
        if let Some(reply) = self.misjudge(ask, now) {
            return reply;
        }
        let decided_at = self.moment_for(&ask.command, now);
        let state = if self.has(Bug::SkipsTheRecheck) { &self.disk } else { &self.memory };
        match decide(state, &ask.command, &ask.actor, decided_at) {
            Err(refusal) => Reply::Refused(refusal),
            Ok(decision) => self.grant(ask, decision, now),
        }
    }

    /// The moment as of which a command is decided: now, unless the bug is about time.
    fn moment_for(&self, command: &Command, now: Moment) -> Moment {
        let last_moment_of = |hold: &HoldId| {
            let hold = self.memory.hold(*hold, Moment::MIN).filter(|hold| hold.state == HoldState::Active);
            hold.map_or(now, |hold| now.min(hold.expires_at.plus_ms(-1)))
        };
        match (self.bug, command) {
            (Some(Bug::ConfirmsTheExpired), Command::Confirm { hold, .. })
            | (Some(Bug::RevivesTheExpired), Command::ExtendHold { hold }) => last_moment_of(hold),
            (Some(Bug::TakesTheUnexpired), Command::PlaceHold { .. }) => now.plus_ms(OFF_BY_MS),
            (Some(Bug::ExpiresOnlyWhenSwept), Command::PlaceHold { .. }) => self.swept_at,
            _ => now,
        }
    }

    /// Answers that are wrong without anything having been decided.
    fn misjudge(&mut self, ask: &Asked, now: Moment) -> Option<Reply> {
        match (self.bug?, &ask.command) {
            (Bug::SkipsTheRecheck, Command::Confirm { booking, hold }) => {
                let ghost = self.ghosts.get(hold).filter(|ghost| now < ghost.expires_at)?;
                let booking = Booking {
                    id: *booking,
                    hold: *hold,
                    holder: ghost.holder.clone(),
                    state: BookingState::Confirmed,
                    lines: Arc::clone(&ghost.lines),
                    amount: ghost.amount,
                    currency: ghost.currency,
                    payment: None,
                    created_at: now,
                    version: self.memory.version(),
                };
                Some(Reply::Done(Outcome::Confirmed(views::of_booking(&self.memory, &booking, now))))
            }
            (Bug::BooksTwice, Command::Confirm { booking, hold }) => {
                let HoldState::Booked { booking: first } = self.memory.hold(*hold, now)?.state else {
                    return None;
                };
                let second = Booking { id: *booking, ..self.memory.booking(first)?.clone() };
                Some(Reply::Done(Outcome::Confirmed(views::of_booking(&self.memory, &second, now))))
            }
            (Bug::AddsBackBlindly, Command::ReleaseHold { hold }) => {
                let released = self.memory.hold(*hold, now)?;
                let again = matches!(released.state, HoldState::Released { .. } | HoldState::Expired { .. });
                let released = again.then(|| released.clone())?;
                self.add_back(&released, now);
                None
            }
            (Bug::TakesLinesOneByOne, Command::PlaceHold { asks, .. }) if asks.len() > 1 => {
                Some(self.take_one_by_one(ask, now))
            }
            _ => None,
        }
    }

    /// Stock grows by what was given back, whether or not it was taken.
    fn add_back(&mut self, released: &Hold, now: Moment) {
        for line in released.lines.iter() {
            let offer = self.memory.offer(&line.offer).expect("a line's offer").offer();
            if offer.kind() == holdfast_domain::Kind::Stock {
                let capacities = vec![(offer.key(line.unit), offer.capacity(line.unit) + line.qty)];
                let amendment = Amendment { capacities, ..Amendment::default() };
                self.write(Event::OfferAmended { offer: line.offer.clone(), amendment }, now);
            }
        }
    }

    /// Each line is a hold of its own; the first one bears the name, and what cannot be had does not undo the rest.
    fn take_one_by_one(&mut self, ask: &Asked, now: Moment) -> Reply {
        let Command::PlaceHold { hold, holder, asks } = &ask.command else { unreachable!("a hold") };
        let mut first: Option<Reply> = None;
        for (at, one) in asks.iter().enumerate() {
            self.minted -= 1;
            let id = if at == 0 { *hold } else { HoldId::from_bits(self.minted) };
            let command = Command::PlaceHold { hold: id, holder: holder.clone(), asks: vec![one.clone()] };
            match decide(&self.memory, &command, &ask.actor, now) {
                Err(refusal) => return Reply::Refused(refusal),
                Ok(decision) => {
                    let reply = self.grant(&Asked { command, ..ask.clone() }, decision, now);
                    first.get_or_insert(reply);
                }
            }
        }
        first.unwrap_or(Reply::Refused(Refusal::UnknownHold))
    }

    fn grant(&mut self, ask: &Asked, mut decision: Decision, now: Moment) -> Reply {
        self.granted += 1;
        let ttl_moved = self.moment_for(&ask.command, now).ms_since(now);
        for event in &mut decision.events {
            if let Event::HoldPlaced(placed) = event {
                placed.expires_at = placed.expires_at.plus_ms(-ttl_moved);
            }
        }
        let lost = self.has(Bug::LosesAWrite) && self.granted.is_multiple_of(LOSES_ONE_IN);
        if lost && let Some(Event::HoldPlaced(placed)) = decision.events.last() {
            return Reply::Done(Outcome::Held { hold: self.as_if_held(placed, now), again: false });
        }
        let forgotten = matches!(
            (self.bug, &ask.command),
            (Some(Bug::ForgetsTheRelease), Command::ReleaseHold { .. })
                | (Some(Bug::ForgetsTheCancel), Command::Cancel { .. })
        );
        if forgotten {
            decision.events.clear();
        }
        match decision.events.last() {
            Some(Event::HoldPlaced(placed)) if self.has(Bug::SkipsTheRecheck) => {
                return self.grant_unseen(ask, &placed.clone(), now);
            }
            Some(Event::HoldPlaced(placed)) if self.has(Bug::DropsALine) && placed.lines.len() > 1 => {
                return self.grant_in_part(placed.clone(), decision, now);
            }
            _ => {}
        }
        self.write_all(&decision.events, now);
        Reply::Done(views::outcome(&self.memory, &ask.command, &decision, now))
    }

    /// What was free when it was looked at is granted, whether or not it still is.
    fn grant_unseen(&mut self, ask: &Asked, placed: &Placed, now: Moment) -> Reply {
        match decide(&self.memory, &ask.command, &ask.actor, now) {
            Ok(decision) if !decision.events.is_empty() => {
                self.write_all(&decision.events, now);
                Reply::Done(views::outcome(&self.memory, &ask.command, &decision, now))
            }
            _ => {
                self.ghosts.insert(placed.hold, placed.clone());
                Reply::Done(Outcome::Held { hold: self.as_if_held(placed, now), again: false })
            }
        }
    }

    fn grant_in_part(&mut self, whole: Placed, mut decision: Decision, now: Moment) -> Reply {
        let lines = &whole.lines[..whole.lines.len() - 1];
        let part = Placed { lines: lines.into(), ..whole.clone() };
        *decision.events.last_mut().expect("the placing") = Event::HoldPlaced(part);
        self.write_all(&decision.events, now);
        Reply::Done(Outcome::Held { hold: self.as_if_held(&whole, now), again: false })
    }

    /// The view of a hold that is not in the books as it is told.
    fn as_if_held(&self, placed: &Placed, now: Moment) -> HoldView {
        let hold = Hold {
            id: placed.hold,
            holder: placed.holder.clone(),
            state: HoldState::Active,
            lines: Arc::clone(&placed.lines),
            amount: placed.amount,
            currency: placed.currency,
            expires_at: placed.expires_at,
            returns_to: None,
            extensions: 0,
            payments: 0,
            relaxed: placed.relaxed.clone(),
            version: Version(self.memory.version().0),
        };
        views::of_hold(&self.memory, &hold, now)
    }

    fn write_all(&mut self, events: &[Event], now: Moment) {
        events.iter().for_each(|event| self.write(event.clone(), now));
    }

    fn write(&mut self, event: Event, now: Moment) {
        // Decided on another state than this one, an expiry may have been written down before.
        if let Event::HoldExpired { hold } = &event
            && self.memory.hold(*hold, Moment::MIN).is_none_or(|hold| hold.state != HoldState::Active)
        {
            return;
        }
        apply(&mut self.memory, &event, now);
        self.batch.push((event, now));
    }

    pub(super) fn sweep(&mut self, now: Moment) {
        let tidy = Command::Tidy { limit: usize::MAX };
        let decision =
            decide(&self.memory, &tidy, &holdfast_domain::Actor::System, now).expect("never refused");
        self.write_all(&decision.events, now);
        self.swept_at = now;
    }

    /// Makes the batch durable.
    pub(super) fn commit(&mut self) {
        if !self.batch.is_empty() {
            self.last_batch = std::mem::take(&mut self.batch);
            self.last_batch.iter().for_each(|(event, at)| apply(&mut self.disk, event, *at));
        }
        self.answers.extend(std::mem::take(&mut self.fresh_answers));
    }

    pub(super) fn refresh_copy(&mut self) {
        if self.has(Bug::ReadsAStaleCopy) {
            self.copy = self.memory.clone();
        }
    }

    /// Throws memory away and begins again from the disk.
    pub(super) fn reload(&mut self) {
        self.batch.clear();
        self.fresh_answers.clear();
        self.memory = self.disk.clone();
        if self.has(Bug::LetsTheClockGoBack) {
            self.clock_behind_ms = OFF_BY_MS;
        }
        if self.has(Bug::ReplaysTheLastBatchTwice) {
            self.replay_last_batch();
        }
    }

    /// What fits a second time is there a second time, under a name that nobody knows.
    fn replay_last_batch(&mut self) {
        for (event, at) in self.last_batch.clone() {
            let Event::HoldPlaced(placed) = event else { continue };
            let fits = placed.lines.iter().flat_map(|line| line.units().map(move |unit| (line, unit))).all(
                |(line, unit)| {
                    let offer = self.memory.offer(&line.offer).expect("a line's offer");
                    offer.unit(unit).remaining(offer.offer().capacity(unit)) >= line.qty
                },
            );
            if fits {
                self.minted -= 1;
                self.write(Event::HoldPlaced(Placed { hold: HoldId::from_bits(self.minted), ..placed }), at);
            }
        }
    }

    pub(super) fn read(&self, offer: &OfferId, unit: UnitNo) -> Unit {
        let state = if self.has(Bug::ReadsAStaleCopy) { &self.copy } else { &self.memory };
        state.offer(offer).map(|offer| offer.unit(unit)).unwrap_or_default()
    }

    pub(super) fn holds(&self, now: Moment) -> Vec<HoldView> {
        self.memory.holds().map(|hold| views::of_hold(&self.memory, hold, now)).collect()
    }

    pub(super) fn bookings(&self, now: Moment) -> Vec<BookingView> {
        self.memory.bookings().map(|booking| views::of_booking(&self.memory, booking, now)).collect()
    }
}

/// Whether a decision changed anything, as far as its asker can tell.
pub(super) fn is_yes(reply: &Reply) -> bool {
    matches!(reply, Reply::Done(_))
}
