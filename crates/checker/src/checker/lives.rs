//! The life of each hold, put together from everything that was said about it.
//!
//! Operations that carry one key are one intention: it began when the first of them was sent and was known when
//! the first of them was answered.

use std::collections::{HashMap, HashSet};

use crate::history::{
    Answer, BookingRef, Call, Claim, Ending, History, HoldRef, HolderRef, KeptHold, KeptState, Micros,
    Operation, Outcome, UnitRef,
};

/// The end of time: of what has no end, or none that anybody was told of.
pub(super) const NEVER: Micros = Micros::MAX;

/// Something done to a hold: asked from `start`, and if acknowledged, done by `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) op: usize,
    pub(super) start: Micros,
    /// [`NEVER`] while unacknowledged.
    pub(super) end: Micros,
    key: Option<u32>,
}

impl Act {
    fn of(at: usize, operation: &Operation, key: Option<u32>) -> Self {
        let end = if operation.is_unknown() { NEVER } else { operation.end };
        Self { op: at, start: operation.start, end, key }
    }

    pub(super) fn acknowledged(&self) -> bool {
        self.end != NEVER
    }

    /// The same, had nobody answered.
    pub(super) fn unacknowledged(self) -> Self {
        Self { end: NEVER, ..self }
    }

    fn same_key(&self, other: &Self) -> bool {
        self.key.is_some() && self.key == other.key
    }

    fn merge(&mut self, other: Self) {
        self.start = self.start.min(other.start);
        if other.end < self.end {
            (self.end, self.op) = (other.end, other.op);
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Placing<'h> {
    pub(super) act: Act,
    pub(super) holder: HolderRef,
    pub(super) claims: &'h [Claim],
    /// Known from the answer.
    pub(super) expires_at: Option<Micros>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Life<'h> {
    pub(super) placing: Option<Placing<'h>>,
    /// When the holder was given it once more.
    pub(super) agains: Vec<Act>,
    pub(super) extends: Vec<(Act, Option<Micros>)>,
    pub(super) releases: Vec<Act>,
    pub(super) confirms: Vec<(Act, Option<BookingRef>)>,
    pub(super) cancels: Vec<Act>,
}

/// A claim of a quantity over a stretch of time, the end excluded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) from: Micros,
    pub(super) to: Micros,
}

impl Life<'_> {
    /// The latest expiry that somebody was told of.
    pub(super) fn last_known_expiry(&self) -> Option<Micros> {
        let extended = self.extends.iter().filter_map(|(_, expires_at)| *expires_at);
        extended.chain(self.placing.as_ref()?.expires_at).max()
    }

    /// The expiry it certainly had by `at`: extensions acknowledged later may not have happened yet.
    pub(super) fn expiry_by(&self, at: Micros) -> Option<Micros> {
        let by_then = self.extends.iter().filter(|(act, _)| act.end <= at);
        let extended = by_then.filter_map(|(_, expires_at)| *expires_at);
        extended.chain(self.placing.as_ref()?.expires_at).max()
    }

    /// The latest expiry it can have had, should every unanswered extension have happened.
    pub(super) fn last_possible_expiry(&self) -> Micros {
        let (Some(placing), Some(known)) = (&self.placing, self.last_known_expiry()) else { return NEVER };
        let unanswered = self.extends.iter().filter(|(act, _)| !act.acknowledged()).count() as i64;
        let ttl_at_most =
            placing.expires_at.map_or(0, |expires_at| expires_at.saturating_sub(placing.act.start));
        known.saturating_add(ttl_at_most.saturating_mul(unanswered))
    }

    pub(super) fn confirmed(&self) -> Option<&Act> {
        self.confirms.iter().map(|(act, _)| act).find(|act| act.acknowledged())
    }

    /// When its units were surely claimed, whatever happened between question and answer.
    pub(super) fn certain(&self, tolerance: Micros) -> Option<Stretch> {
        let placing = self.placing.as_ref()?;
        let confirmed = self.confirmed();
        let from = match (placing.act.acknowledged(), confirmed) {
            (true, _) => placing.act.end,
            (false, Some(confirm)) => confirm.end,
            (false, None) => return None,
        };
        let ends_by = |acts: &[Act]| acts.iter().map(|act| act.start).min().unwrap_or(NEVER);
        let to = match confirmed {
            Some(_) => ends_by(&self.cancels),
            // A cancel tells that an unanswered confirm had happened.
            None => {
                let expiry = self.last_known_expiry()?.saturating_sub(tolerance);
                expiry.min(ends_by(&self.releases)).min(ends_by(&self.cancels))
            }
        };
        (from < to).then_some(Stretch { from, to })
    }

    /// When it was surely a booking.
    pub(super) fn certainly_booked(&self) -> Option<Stretch> {
        let from = self.confirmed()?.end;
        let to = self.cancels.iter().map(|act| act.start).min().unwrap_or(NEVER);
        (from < to).then_some(Stretch { from, to })
    }

    /// When its units may have been claimed.
    pub(super) fn possible(&self, tolerance: Micros) -> Option<Stretch> {
        let from = self.placing.as_ref()?.act.start;
        let ended_by = |acts: &[Act]| acts.iter().map(|act| act.end).min().unwrap_or(NEVER);
        let to = match self.confirms.is_empty() {
            false => ended_by(&self.cancels),
            true => self.last_possible_expiry().saturating_add(tolerance).min(ended_by(&self.releases)),
        };
        Some(Stretch { from, to: to.saturating_add(1) })
    }

    /// When it may have been a booking.
    pub(super) fn possibly_booked(&self) -> Option<Stretch> {
        let from = self.confirms.iter().map(|(act, _)| act.start).min()?;
        let to = self.cancels.iter().map(|act| act.end).min().unwrap_or(NEVER);
        Some(Stretch { from, to: to.saturating_add(1) })
    }
}

impl<'h> Life<'h> {
    fn settle(&mut self, kept: Option<&'h KeptHold>, cancelled: bool, at: Micros) {
        let Some(kept) = kept else {
            // Not acknowledged and not there: it never was.
            self.placing.take_if(|placing| !placing.act.acknowledged());
            return;
        };
        let never_extended = self.extends.is_empty();
        if let Some(placing) = &mut self.placing {
            settle([&mut placing.act], true, at);
            if placing.claims.is_empty() {
                placing.claims = &kept.claims;
            }
            if never_extended {
                placing.expires_at.get_or_insert(kept.expires_at);
            }
        }
        if self.placing.as_ref().is_some_and(|placing| placing.expires_at.is_some()) {
            self.settle_extends(kept, at);
        }
        settle(self.confirms.iter_mut().map(|(act, _)| act), kept.state == KeptState::Booked, at);
        settle(&mut self.releases, kept.state == KeptState::Released, at);
        settle(&mut self.cancels, cancelled, at);
        if kept.state != KeptState::Booked {
            self.confirms.retain(|(act, _)| act.acknowledged());
        }
        if kept.state != KeptState::Released {
            self.releases.retain(Act::acknowledged);
        }
        if !cancelled {
            self.cancels.retain(Act::acknowledged);
        }
    }
}

impl Life<'_> {
    /// An expiry that nobody was told of shows that an unanswered extension happened; where there is none, none did
    /// after the last one that was answered.
    fn settle_extends(&mut self, kept: &KeptHold, at: Micros) {
        let known = self.last_known_expiry().unwrap_or(NEVER);
        if kept.expires_at <= known {
            let answered = self.extends.iter().map(|(act, _)| act).filter(|act| act.acknowledged());
            let last = answered.map(|act| act.end).max().unwrap_or(Micros::MIN);
            self.extends.retain(|(act, _)| act.acknowledged() || act.start <= last);
            return;
        }
        let unheard: Vec<_> = self.extends.iter_mut().filter(|(act, _)| !act.acknowledged()).collect();
        if let Ok([(act, expires_at)]) = <[_; 1]>::try_from(unheard) {
            (act.end, *expires_at) = (at, Some(kept.expires_at));
        }
    }
}

/// If it happened and nobody heard of it, then by the first of those who asked, and by `at`.
fn settle<'a>(acts: impl IntoIterator<Item = &'a mut Act>, happened: bool, at: Micros) {
    let mut acts: Vec<_> = acts.into_iter().collect();
    if happened
        && acts.iter().all(|act| !act.acknowledged())
        && let [only] = &mut acts[..]
    {
        only.end = at.max(only.start);
    }
}

#[derive(Debug)]
pub(super) struct Lives<'h> {
    pub(super) all: Vec<Life<'h>>,
    /// Of every unit, the holds that claim it and how much.
    pub(super) by_unit: Vec<Vec<(HoldRef, u32)>>,
}

impl<'h> Lives<'h> {
    pub(super) fn of(history: &'h History) -> Self {
        let mut lives = Self { all: Vec::new(), by_unit: vec![Vec::new(); history.units.len()] };
        for (at, operation) in history.operations.iter().enumerate() {
            lives.add(at, operation);
        }
        lives.add_unanswered_holds(history);
        if let Some(ending) = &history.ending {
            lives.settle(ending);
        }
        for (hold, life) in (0..).zip(&lives.all) {
            for claim in life.placing.iter().flat_map(|placing| placing.claims) {
                lives.by_unit[claim.unit as usize].push((hold, claim.qty));
            }
        }
        lives
    }

    /// Whether somebody may hold nobody knows what: best available was asked for and never answered.
    pub(super) fn blind(&self) -> bool {
        let mut placings = self.all.iter().filter_map(|life| life.placing.as_ref());
        placings.any(|placing| placing.claims.is_empty() && !placing.act.acknowledged())
    }

    pub(super) fn get(&self, hold: HoldRef) -> Option<&Life<'h>> {
        self.all.get(hold as usize)
    }

    pub(super) fn claimants(&self, unit: UnitRef) -> impl Iterator<Item = (HoldRef, u32, &Life<'h>)> {
        self.by_unit[unit as usize].iter().map(|&(hold, qty)| (hold, qty, &self.all[hold as usize]))
    }

    fn life(&mut self, hold: HoldRef) -> &mut Life<'h> {
        let at = hold as usize;
        if at >= self.all.len() {
            self.all.resize_with(at + 1, Life::default);
        }
        &mut self.all[at]
    }

    fn add(&mut self, at: usize, operation: &'h Operation) {
        match (&operation.call, &operation.outcome) {
            (Call::Hold { key, .. }, Outcome::Ok(answer @ Answer::Held { hold, .. })) => {
                self.place(*hold, Act::of(at, operation, *key), answer);
            }
            (Call::Extend { hold }, Outcome::Ok(Answer::Extended { expires_at })) => {
                self.life(*hold).extends.push((Act::of(at, operation, None), Some(*expires_at)));
            }
            (Call::Extend { hold }, Outcome::Unknown) => {
                self.life(*hold).extends.push((Act::of(at, operation, None), None));
            }
            (Call::Release { hold }, Outcome::Ok(_) | Outcome::Unknown) => {
                self.life(*hold).releases.push(Act::of(at, operation, None));
            }
            (Call::Cancel { hold }, Outcome::Ok(_) | Outcome::Unknown) => {
                self.life(*hold).cancels.push(Act::of(at, operation, None));
            }
            (Call::Confirm { hold, key }, Outcome::Ok(Answer::Confirmed { booking, .. })) => {
                self.confirm(*hold, Act::of(at, operation, *key), Some(*booking));
            }
            (Call::Confirm { hold, key }, Outcome::Unknown) => {
                self.confirm(*hold, Act::of(at, operation, *key), None);
            }
            _ => {}
        }
    }

    /// The first yes places the hold; others with its key add nothing to it, and others without find it held.
    fn place(&mut self, hold: HoldRef, act: Act, answer: &'h Answer) {
        let Answer::Held { holder, claims, expires_at, again, .. } = answer else { return };
        let life = self.life(hold);
        match &mut life.placing {
            Some(placing) if act.same_key(&placing.act) => placing.act.merge(act),
            none @ None if !again => {
                let (holder, expires_at) = (*holder, Some(*expires_at));
                *none = Some(Placing { act, holder, claims, expires_at });
            }
            _ => match life.agains.iter_mut().find(|known| act.same_key(known)) {
                Some(known) => known.merge(act),
                None => life.agains.push(act),
            },
        }
    }

    fn confirm(&mut self, hold: HoldRef, act: Act, booking: Option<BookingRef>) {
        let confirms = &mut self.life(hold).confirms;
        match confirms.iter_mut().find(|(known, _)| act.same_key(known)) {
            Some((known, known_booking)) => {
                known.merge(act);
                *known_booking = known_booking.or(booking);
            }
            None => confirms.push((act, booking)),
        }
    }

    /// Holds asked for and never answered: they may be there all the same. One whose key was answered later is the
    /// hold of that answer.
    fn add_unanswered_holds(&mut self, history: &'h History) {
        let by_key = self.by_key();
        for (at, operation) in history.operations.iter().enumerate() {
            let (Call::Hold { holder, claims, key, hold }, Outcome::Unknown) =
                (&operation.call, &operation.outcome)
            else {
                continue;
            };
            let act = Act::of(at, operation, *key);
            let answered = key.and_then(|key| by_key.get(&key).copied());
            let hold = answered.or(*hold).unwrap_or(self.all.len() as HoldRef);
            let life = self.life(hold);
            if let Some(known) = life.agains.iter_mut().find(|known| act.same_key(known)) {
                known.merge(act);
                continue;
            }
            match &mut life.placing {
                Some(placing) => placing.act.merge(act),
                none => *none = Some(Placing { act, holder: *holder, claims, expires_at: None }),
            }
        }
    }

    /// What was never answered is settled by what the store remembers, where it does.
    fn settle(&mut self, ending: &'h Ending) {
        let kept: HashMap<HoldRef, &'h KeptHold> =
            ending.holds.iter().map(|kept| (kept.hold, kept)).collect();
        let cancelled = ending.bookings.iter().filter(|kept| kept.cancelled).map(|kept| kept.hold);
        let cancelled: HashSet<HoldRef> = cancelled.collect();
        for (hold, life) in (0..).zip(&mut self.all) {
            life.settle(kept.get(&hold).copied(), cancelled.contains(&hold), ending.at);
        }
    }

    /// The hold that each key was answered with.
    fn by_key(&self) -> HashMap<u32, HoldRef> {
        let lives = (0..).zip(&self.all);
        let acts = lives.flat_map(|(hold, life)| {
            let placed = life.placing.iter().map(|placing| placing.act);
            placed.chain(life.agains.iter().copied()).map(move |act| (act.key, hold))
        });
        acts.filter_map(|(key, hold)| Some((key?, hold))).collect()
    }
}
