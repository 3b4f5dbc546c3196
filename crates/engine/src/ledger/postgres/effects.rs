//! What a decision does to the rows: pure bookkeeping, from events to sums.
//!
//! Several events may touch one row, within a decision or across the decisions of a batch. Here they are added up,
//! so that each row is written once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use holdfast_domain::{
    Actor, Amendment, Booking, BookingId, BookingState, Event, Hold, HoldId, Kind, Line, Moment, Offer,
    OfferId, PaymentEvent, State, UnitNo, Version,
};

use super::rows::offers_of;
use crate::ledger::codec;

pub(super) type UnitKey = (OfferId, UnitNo);
pub(super) type ClaimKey = (OfferId, UnitNo, HoldId);

/// The change of one unit's row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnitChange {
    pub(super) held: i64,
    pub(super) booked: i64,
    pub(super) blocked: Option<bool>,
    pub(super) capacity: Option<u32>,
    /// How many entries touched it: what its fence grows by.
    pub(super) times: i64,
}

/// What becomes of one claim's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimChange {
    Taken { qty: u32, exclusive: bool, booked: bool },
    Booked,
    Gone,
}

/// An offer that was touched.
#[derive(Debug, Clone)]
pub(super) struct OfferChange {
    /// Its version after the last entry.
    pub(super) version: Version,
    pub(super) at: Moment,
    pub(super) created: bool,
    /// Its definition, where that is new.
    pub(super) definition: Option<Arc<Offer>>,
}

/// A journal entry about to be written.
#[derive(Debug)]
pub(super) struct EntryRow {
    pub(super) at: Moment,
    pub(super) actor: Actor,
    pub(super) event: Event,
    pub(super) offers: Vec<OfferId>,
    /// The version that each of the offers had before.
    pub(super) before: Vec<Version>,
    pub(super) version: Version,
    pub(super) hold: Option<HoldId>,
    pub(super) booking: Option<BookingId>,
}

impl EntryRow {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96);
        codec::encode_entry(&mut bytes, self.version.0, self.at, &self.actor, &self.event);
        bytes
    }

    /// Its one offer and the version before, where it has one offer and no booking.
    pub(super) fn plain(&self) -> Option<(&OfferId, Version)> {
        match (self.offers.as_slice(), self.before.as_slice(), self.booking) {
            ([offer], [before], None) => Some((offer, *before)),
            _ => None,
        }
    }
}

/// The number of an entry: one more than any of its offers had.
fn number(before: &[Version]) -> Version {
    Version(1 + before.iter().map(|version| version.0).max().unwrap_or_default())
}

#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) offers: BTreeMap<OfferId, OfferChange>,
    pub(super) units: BTreeMap<UnitKey, UnitChange>,
    pub(super) claims: BTreeMap<ClaimKey, ClaimChange>,
    pub(super) holds: BTreeMap<HoldId, Hold>,
    /// Those among the holds that have no row yet.
    pub(super) placed: BTreeSet<HoldId>,
    pub(super) bookings: BTreeMap<BookingId, Booking>,
    pub(super) entries: Vec<EntryRow>,
    /// Cells of calendars among the units, with their capacity: they may not have a row yet.
    pub(super) cells: BTreeMap<UnitKey, u32>,
}

impl Effects {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Everything that a decision comes to.
    pub(super) fn of(state: &State, events: &[Event], actor: &Actor, at: Moment) -> Self {
        let mut effects = Self::default();
        for event in events {
            effects.add(state, event, actor, at);
        }
        effects
    }

    /// Adds one event; `state` is as it was before the event, or before the whole decision. Returns its version.
    pub(super) fn add(&mut self, state: &State, event: &Event, actor: &Actor, at: Moment) -> Version {
        let offers = self.offers_touched(state, event);
        let before: Vec<Version> = offers.iter().map(|offer| self.version_of(state, offer)).collect();
        let version = number(&before);
        for offer in &offers {
            self.touch(offer, version, at);
        }
        self.follow(state, event, at, version);
        self.enter(event, actor, at, offers, before);
        version
    }

    fn version_of(&self, state: &State, offer: &OfferId) -> Version {
        match self.offers.get(offer) {
            Some(change) => change.version,
            None => state.offer(offer).map_or(Version(0), |offer| offer.version()),
        }
    }

    fn touch(&mut self, offer: &OfferId, version: Version, at: Moment) {
        let fresh = OfferChange { version, at, created: false, definition: None };
        let change = self.offers.entry(offer.clone()).or_insert(fresh);
        (change.version, change.at) = (version, at);
    }

    /// The offers that an event changes, in order.
    pub(super) fn offers_touched(&self, state: &State, event: &Event) -> Vec<OfferId> {
        match event {
            Event::OfferCreated { offer } => vec![offer.id().clone()],
            Event::OfferAmended { offer, .. }
            | Event::UnitsBlocked { offer, .. }
            | Event::UnitsUnblocked { offer, .. } => vec![offer.clone()],
            Event::HoldPlaced(placed) => offers_of(&placed.lines),
            Event::HoldExtended { hold, .. }
            | Event::HoldLeft { hold, .. }
            | Event::HoldReturned { hold, .. }
            | Event::HoldReleased { hold }
            | Event::HoldExpired { hold }
            | Event::BookingConfirmed { hold, .. } => offers_of(&self.hold(state, *hold).lines),
            Event::PaymentBegun(begun) => offers_of(&self.hold(state, begun.hold).lines),
            Event::BookingCancelled { booking } | Event::Payment { booking, .. } => {
                offers_of(&self.booking(state, *booking).lines)
            }
        }
    }

    /// The hold as it is after the events so far.
    fn hold<'a>(&'a self, state: &'a State, id: HoldId) -> &'a Hold {
        let known = self.holds.get(&id).or_else(|| state.hold(id, Moment::MIN));
        known.expect("a decision is about holds that exist")
    }

    fn booking<'a>(&'a self, state: &'a State, id: BookingId) -> &'a Booking {
        let known = self.bookings.get(&id).or_else(|| state.booking(id));
        known.expect("a decision is about bookings that exist")
    }

    fn follow(&mut self, state: &State, event: &Event, at: Moment, version: Version) {
        match event {
            Event::OfferCreated { offer } => {
                let change = self.offers.get_mut(offer.id()).expect("touched above");
                (change.created, change.definition) = (true, Some(Arc::clone(offer)));
            }
            Event::OfferAmended { offer, amendment } => self.amend(state, offer, amendment),
            Event::UnitsBlocked { offer, units } => self.block(state, offer, units, true),
            Event::UnitsUnblocked { offer, units } => self.block(state, offer, units, false),
            Event::HoldPlaced(placed) => {
                let hold = Hold::placed(placed.clone(), version);
                self.take(state, &hold);
                self.placed.insert(hold.id);
                self.holds.insert(hold.id, hold);
            }
            Event::HoldExtended { hold, expires_at } => {
                self.alter(state, *hold, version, |hold| hold.extend(*expires_at));
            }
            Event::HoldLeft { hold, expires_at } => {
                self.alter(state, *hold, version, |hold| hold.leave(*expires_at));
            }
            Event::HoldReturned { hold, expires_at } => {
                self.alter(state, *hold, version, |hold| hold.come_back(*expires_at));
            }
            Event::HoldReleased { hold } => self.end(state, *hold, version, |hold| hold.release(at)),
            Event::HoldExpired { hold } => self.end(state, *hold, version, |hold| hold.expire(at)),
            Event::BookingConfirmed { booking, hold } => self.confirm(state, *booking, *hold, at, version),
            Event::BookingCancelled { booking } => self.cancel(state, *booking, at, version),
            Event::PaymentBegun(begun) => {
                let mut hold = self.hold(state, begun.hold).clone();
                hold.version = version;
                let booking = hold.pay(begun, at);
                self.holds.insert(hold.id, hold);
                self.bookings.insert(booking.id, booking);
            }
            Event::Payment { booking, event } => self.follow_payment(state, *booking, event, at, version),
        }
    }

    /// Changes when a hold ends, which it does not do yet.
    fn alter(&mut self, state: &State, id: HoldId, version: Version, change: impl FnOnce(&mut Hold)) {
        let mut hold = self.hold(state, id).clone();
        change(&mut hold);
        self.keep(hold, version);
    }

    fn amend(&mut self, state: &State, id: &OfferId, amendment: &Amendment) {
        let change = self.offers.get_mut(id).expect("touched before it is followed");
        let current = change.definition.clone().or_else(|| state.offer(id).map(|at| Arc::clone(at.offer())));
        let current = current.expect("an amended offer exists");
        let amended = Arc::new(current.amended(amendment).expect("a decided amendment was checked"));
        for (key, _) in &amendment.capacities {
            let Some(unit) = amended.find(key) else { continue };
            let change = self.units.entry((id.clone(), unit)).or_default();
            change.capacity = Some(amended.capacity(unit));
            change.times += 1;
        }
        self.offers.get_mut(id).expect("still there").definition = Some(amended);
    }

    fn block(&mut self, state: &State, offer: &OfferId, units: &[UnitNo], blocked: bool) {
        for &unit in units {
            self.note_cell(state, offer, unit);
            let change = self.units.entry((offer.clone(), unit)).or_default();
            change.blocked = Some(blocked);
            change.times += 1;
        }
    }

    fn take(&mut self, state: &State, hold: &Hold) {
        for line in hold.lines.iter() {
            let exclusive =
                self.offer(state, &line.offer).is_some_and(|offer| offer.capacity(line.unit) == 1);
            let taken = ClaimChange::Taken { qty: line.qty, exclusive, booked: false };
            for unit in line.units() {
                self.note_cell(state, &line.offer, unit);
                self.claims.insert((line.offer.clone(), unit, hold.id), taken);
                self.change(line, unit, i64::from(line.qty), 0);
            }
        }
    }

    /// The offer as it is after the events so far.
    fn offer<'a>(&'a self, state: &'a State, id: &OfferId) -> Option<&'a Offer> {
        let changed = self.offers.get(id).and_then(|change| change.definition.as_deref());
        changed.or_else(|| state.offer(id).map(|at| &**at.offer()))
    }

    fn note_cell(&mut self, state: &State, id: &OfferId, unit: UnitNo) {
        let calendar = self.offer(state, id).filter(|offer| offer.kind() == Kind::Slots);
        if let Some(capacity) = calendar.map(|calendar| calendar.capacity(unit)) {
            self.cells.insert((id.clone(), unit), capacity);
        }
    }

    fn change(&mut self, line: &Line, unit: UnitNo, held: i64, booked: i64) {
        let change = self.units.entry((line.offer.clone(), unit)).or_default();
        change.held += held;
        change.booked += booked;
        change.times += 1;
    }

    fn keep(&mut self, mut hold: Hold, version: Version) {
        hold.version = version;
        self.holds.insert(hold.id, hold);
    }

    fn end(&mut self, state: &State, id: HoldId, version: Version, end: impl FnOnce(&mut Hold)) {
        let mut hold = self.hold(state, id).clone();
        end(&mut hold);
        for line in hold.lines.iter() {
            for unit in line.units() {
                self.let_go((line.offer.clone(), unit, id));
                self.change(line, unit, -i64::from(line.qty), 0);
            }
        }
        self.keep(hold, version);
    }

    /// A claim that was taken in the same breath leaves no row at all.
    fn let_go(&mut self, claim: ClaimKey) {
        match self.claims.get(&claim) {
            Some(ClaimChange::Taken { .. }) => drop(self.claims.remove(&claim)),
            _ => drop(self.claims.insert(claim, ClaimChange::Gone)),
        }
    }

    fn confirm(&mut self, state: &State, booking: BookingId, id: HoldId, at: Moment, version: Version) {
        let mut hold = self.hold(state, id).clone();
        hold.version = version;
        let mut booking = hold.book(booking, at);
        // A booking that was paid for has been there since its payment began.
        if let Some(pending) = self.bookings.get(&booking.id).or_else(|| state.booking(booking.id)) {
            (booking.payment, booking.created_at) = (pending.payment.clone(), pending.created_at);
        }
        for line in hold.lines.iter() {
            for unit in line.units() {
                let claim = self.claims.entry((line.offer.clone(), unit, id)).or_insert(ClaimChange::Booked);
                if let ClaimChange::Taken { booked, .. } = claim {
                    *booked = true;
                }
                self.change(line, unit, -i64::from(line.qty), i64::from(line.qty));
            }
        }
        self.bookings.insert(booking.id, booking);
        self.holds.insert(id, hold);
    }

    fn cancel(&mut self, state: &State, id: BookingId, at: Moment, version: Version) {
        let mut booking = self.booking(state, id).clone();
        if booking.state == BookingState::Pending {
            self.unpin(state, &booking, true, at, version);
        } else {
            for line in booking.lines.iter() {
                for unit in line.units() {
                    self.let_go((line.offer.clone(), unit, booking.hold));
                    self.change(line, unit, 0, -i64::from(line.qty));
                }
            }
        }
        booking.cancel(at);
        booking.version = version;
        self.bookings.insert(id, booking);
    }

    fn follow_payment(
        &mut self,
        state: &State,
        id: BookingId,
        event: &PaymentEvent,
        at: Moment,
        version: Version,
    ) {
        let mut booking = self.booking(state, id).clone();
        match event {
            PaymentEvent::BookingFailed { .. } => self.unpin(state, &booking, false, at, version),
            PaymentEvent::Retaken => self.retake(state, &booking),
            _ => {}
        }
        booking.follow(event, at);
        booking.version = version;
        self.bookings.insert(id, booking);
    }

    /// The hold is no longer kept for this booking, if it was.
    fn unpin(&mut self, state: &State, booking: &Booking, given_back: bool, at: Moment, version: Version) {
        let known = self.holds.get(&booking.hold).or_else(|| state.hold(booking.hold, Moment::MIN));
        let Some(mut hold) = known.filter(|hold| hold.is_paid_by(booking.id)).cloned() else { return };
        hold.unpin(given_back, at);
        match hold.is_open() {
            true => self.keep(hold, version),
            false => self.end(state, booking.hold, version, |ended| *ended = hold),
        }
    }

    /// Claims as a hold would, under the name that the booking's hold had, and books at once.
    fn retake(&mut self, state: &State, booking: &Booking) {
        for line in booking.lines.iter() {
            let exclusive =
                self.offer(state, &line.offer).is_some_and(|offer| offer.capacity(line.unit) == 1);
            for unit in line.units() {
                self.note_cell(state, &line.offer, unit);
                let claim = (line.offer.clone(), unit, booking.hold);
                // Where the hold's own claim ends in the same breath, its row is there.
                let change = match self.claims.get(&claim) {
                    Some(ClaimChange::Gone) => ClaimChange::Booked,
                    _ => ClaimChange::Taken { qty: line.qty, exclusive, booked: true },
                };
                self.claims.insert(claim, change);
                self.change(line, unit, 0, i64::from(line.qty));
            }
        }
    }

    fn enter(
        &mut self,
        event: &Event,
        actor: &Actor,
        at: Moment,
        offers: Vec<OfferId>,
        before: Vec<Version>,
    ) {
        let (hold, booking) = match event {
            Event::HoldPlaced(placed) => (Some(placed.hold), None),
            Event::HoldExtended { hold, .. }
            | Event::HoldLeft { hold, .. }
            | Event::HoldReturned { hold, .. }
            | Event::HoldReleased { hold }
            | Event::HoldExpired { hold } => (Some(*hold), None),
            Event::BookingConfirmed { booking, hold } => (Some(*hold), Some(*booking)),
            Event::PaymentBegun(begun) => (Some(begun.hold), Some(begun.booking)),
            Event::BookingCancelled { booking } | Event::Payment { booking, .. } => {
                (self.bookings.get(booking).map(|booking| booking.hold), Some(*booking))
            }
            _ => (None, None),
        };
        let version = number(&before);
        let (event, actor) = (event.clone(), actor.clone());
        self.entries.push(EntryRow { at, actor, event, offers, before, version, hold, booking });
    }

    /// Numbers the entries anew, the offers being at these versions: for those who learn them last.
    pub(super) fn renumber(&mut self, mut versions: BTreeMap<OfferId, Version>) {
        for entry in &mut self.entries {
            let known = |offer| versions.get(offer).copied().unwrap_or_default();
            entry.before = entry.offers.iter().map(known).collect();
            entry.version = number(&entry.before);
            for offer in &entry.offers {
                versions.insert(offer.clone(), entry.version);
                if let Some(change) = self.offers.get_mut(offer) {
                    change.version = entry.version;
                }
            }
            // Of the entries about a payment only those that let go of a hold change it.
            let is_about_it = match &entry.event {
                Event::Payment { event, .. } => matches!(event, PaymentEvent::BookingFailed { .. }),
                _ => true,
            };
            let changed = entry.hold.filter(|_| is_about_it);
            if let Some(hold) = changed.and_then(|hold| self.holds.get_mut(&hold)) {
                hold.version = entry.version;
            }
            if let Some(booking) = entry.booking.and_then(|booking| self.bookings.get_mut(&booking)) {
                booking.version = entry.version;
            }
        }
    }

    /// The holds whose rows existed before: those that must be locked before anybody decides about them.
    pub(super) fn older_holds(&self) -> BTreeSet<(OfferId, HoldId)> {
        let older = self.holds.values().filter(|hold| !self.placed.contains(&hold.id));
        older.map(|hold| (super::rows::home(&hold.lines).clone(), hold.id)).collect()
    }
}
