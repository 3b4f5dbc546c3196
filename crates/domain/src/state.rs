//! The state of everything on sale, as a value.
//!
//! Holds and bookings are the truth; units, claims, stakes and counts are sums over them, kept up to date by
//! [`apply`](crate::apply()) and made from nothing by [`Fold::finish`]. That the two always agree is what
//! [`invariants`](crate::invariants) checks.
//!
//! Memory: a seat costs its 12 bytes in `units`; only what is claimed costs more.

mod parts;
mod row;
mod stake;
mod sums;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Range,
    sync::Arc,
};

pub use parts::{Fold, OfferPart, Part, Parts};
pub(crate) use row::RowSum;
use stake::Stake;

use foldhash::{HashMap, HashSet};

use crate::{
    hold::{Booking, Hold, HoldState, MEMORY_MS, Version},
    ids::{BookingId, HoldId, HolderId, OfferId},
    offer::{Inventory, Offer, UnitNo},
    refusal::UnitState,
    time::Moment,
};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// How many journal entries lead here.
    pub(crate) version: Version,
    pub(crate) offers: HashMap<OfferId, OfferState>,
    /// Offers in the order they were made, for listing.
    pub(crate) listing: Vec<OfferId>,
    /// Boxed: a map of a million holds is asked for at random, and a small one stays in the processor's reach.
    pub(crate) holds: HashMap<HoldId, Box<Hold>>,
    pub(crate) bookings: HashMap<BookingId, Box<Booking>>,
    /// Active holds by expiry: what the sweep works through, and when it is next needed.
    pub(crate) due: BTreeSet<(Moment, HoldId)>,
    /// Payments that somebody must look at, by when.
    pub(crate) payments: BTreeSet<(Moment, BookingId)>,
    /// Bookings whose payment waits for a person.
    pub(crate) parked: BTreeSet<BookingId>,
    /// Holds that came to nothing by the moment the journal ended them, so that they can be forgotten in time.
    pub(crate) ended: VecDeque<(Moment, HoldId)>,
    /// The sums wait until all of a history is there: see [`Fold`].
    pub(crate) sums_wait: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OfferState {
    pub(crate) offer: Arc<Offer>,
    pub(crate) created_at: Moment,
    pub(crate) version: Version,
    pub(crate) units: Units,
    /// Every quantity held, by unit and then by expiry, so the ones that ran out come first.
    pub(crate) claims: BTreeMap<(UnitNo, Moment, HoldId), u32>,
    /// The confirmed bookings of it, so that nobody looks through those of all offers.
    pub(crate) booked: HashSet<BookingId>,
    pub(crate) stakes: HashMap<HolderId, Stake>,
    /// Over all dense units; a calendar's cells are counted by range when asked.
    pub(crate) counts: Counts,
    /// Of each row of seats, so that a search can skip full ones.
    pub(crate) rows: Vec<RowSum>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unit {
    pub held: u32,
    pub booked: u32,
    pub blocked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub capacity: u64,
    pub available: u64,
    pub held: u64,
    pub booked: u64,
    pub blocked: u64,
}

impl Unit {
    /// The quantity that can still be claimed. A blocked unit has none, whatever is released meanwhile.
    pub fn remaining(&self, capacity: u32) -> u32 {
        if self.blocked { 0 } else { capacity - self.held - self.booked }
    }

    pub fn state(&self, capacity: u32) -> UnitState {
        if self.remaining(capacity) > 0 {
            UnitState::Available
        } else if self.held + self.booked < capacity {
            UnitState::Blocked
        } else if self.held > 0 {
            UnitState::Held
        } else {
            UnitState::Booked
        }
    }

    pub fn counts(&self, capacity: u32) -> Counts {
        let remaining = self.remaining(capacity);
        Counts {
            capacity: capacity.into(),
            available: remaining.into(),
            held: self.held.into(),
            booked: self.booked.into(),
            blocked: u64::from(capacity - self.held - self.booked - remaining),
        }
    }
}

impl Counts {
    pub fn add(&mut self, other: Self) {
        self.capacity += other.capacity;
        self.available += other.available;
        self.held += other.held;
        self.booked += other.booked;
        self.blocked += other.blocked;
    }

    pub(crate) fn take(&mut self, other: Self) {
        self.capacity -= other.capacity;
        self.available -= other.available;
        self.held -= other.held;
        self.booked -= other.booked;
        self.blocked -= other.blocked;
    }
}

/// Seats and stock lie side by side; a calendar has a cell only where something happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Units {
    Dense(Vec<Unit>),
    Sparse(BTreeMap<UnitNo, Unit>),
}

impl Units {
    pub(crate) fn get(&self, unit: UnitNo) -> Unit {
        match self {
            Self::Dense(units) => units[unit as usize],
            Self::Sparse(cells) => cells.get(&unit).copied().unwrap_or_default(),
        }
    }

    /// Changes one; returns it as it was before and as it is now.
    fn change(&mut self, at: UnitNo, change: impl FnOnce(&mut Unit)) -> (Unit, Unit) {
        let before = self.get(at);
        let mut after = before;
        change(&mut after);
        self.set(at, after);
        (before, after)
    }

    fn set(&mut self, at: UnitNo, unit: Unit) {
        match self {
            Self::Dense(units) => units[at as usize] = unit,
            Self::Sparse(cells) if unit == Unit::default() => {
                cells.remove(&at);
            }
            Self::Sparse(cells) => {
                cells.insert(at, unit);
            }
        }
    }
}

impl OfferState {
    pub(crate) fn new(offer: Arc<Offer>, created_at: Moment, version: Version) -> Self {
        let units = match offer.inventory() {
            Inventory::Slots(_) => Units::Sparse(BTreeMap::new()),
            _ => Units::Dense(vec![Unit::default(); offer.dense_units() as usize]),
        };
        let rows = match offer.inventory() {
            Inventory::Seats(plan) => plan.rows().iter().map(|row| RowSum::all_free(row.seats)).collect(),
            _ => Vec::new(),
        };
        let (claims, booked, stakes, counts) = Default::default();
        let mut fresh = Self { offer, created_at, version, units, claims, booked, stakes, counts, rows };
        fresh.recount();
        fresh
    }

    pub fn offer(&self) -> &Arc<Offer> {
        &self.offer
    }

    pub fn created_at(&self) -> Moment {
        self.created_at
    }

    pub fn version(&self) -> Version {
        self.version
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn unit(&self, unit: UnitNo) -> Unit {
        self.units.get(unit)
    }

    pub fn unit_state(&self, unit: UnitNo) -> UnitState {
        self.unit(unit).state(self.offer.capacity(unit))
    }

    /// Every unit of seats or stock in order; none of a calendar, which has no first one.
    pub fn dense(&self) -> &[Unit] {
        match &self.units {
            Units::Dense(units) => units,
            Units::Sparse(_) => &[],
        }
    }

    /// The cells of a calendar in `range` that something happened to.
    pub fn cells(&self, range: std::ops::Range<UnitNo>) -> impl Iterator<Item = (UnitNo, Unit)> {
        let cells = match &self.units {
            Units::Sparse(cells) if !range.is_empty() => Some(cells.range(range)),
            _ => None,
        };
        cells.into_iter().flatten().map(|(&at, &unit)| (at, unit))
    }

    /// The unit without the holds that have run out, swept or not.
    pub fn unit_as_of(&self, unit: UnitNo, now: Moment) -> Unit {
        let mut at = self.unit(unit);
        if at.held > 0 {
            let overdue = self.claims_on(unit).take_while(|&(expires_at, ..)| expires_at <= now);
            at.held -= overdue.map(|(.., qty)| qty).sum::<u32>();
        }
        at
    }

    /// Of a calendar: the first run of full cells that the range meets, as far as the run goes.
    pub(crate) fn full_run(&self, cells: Range<UnitNo>, now: Moment) -> Option<Range<UnitNo>> {
        let Units::Sparse(touched) = &self.units else { return None };
        let is_full = |unit: UnitNo| self.unit_as_of(unit, now).remaining(self.offer.capacity(unit)) == 0;
        let first = touched.range(cells).map(|(&unit, _)| unit).find(|&unit| is_full(unit))?;
        let before = touched.range(..first).rev().map(|(&unit, _)| unit);
        let after = touched.range(first + 1..).map(|(&unit, _)| unit);
        let start = before.zip(1..).take_while(|&(unit, away)| unit + away == first && is_full(unit)).count();
        let end = after.zip(1..).take_while(|&(unit, away)| unit == first + away && is_full(unit)).count();
        Some(first - start as UnitNo..first + 1 + end as UnitNo)
    }

    /// The holds that claim a unit now, soonest to expire first.
    pub fn claims_on(&self, unit: UnitNo) -> impl Iterator<Item = (Moment, HoldId, u32)> {
        let all =
            (unit, Moment::MIN, HoldId::from_bits(0))..=(unit, Moment::MAX, HoldId::from_bits(u128::MAX));
        self.claims.range(all).map(|(&(_, expires_at, hold), &qty)| (expires_at, hold, qty))
    }

    /// Changes one unit and with it every sum that counts it.
    pub(crate) fn change(&mut self, at: UnitNo, change: impl FnOnce(&mut Unit)) {
        let capacity = self.offer.capacity(at);
        let (before, after) = self.units.change(at, change);
        if let Units::Dense(_) = self.units {
            self.counts.take(before.counts(capacity));
            self.counts.add(after.counts(capacity));
        }
        if let (Inventory::Seats(plan), Units::Dense(units)) = (self.offer.inventory(), &self.units) {
            let row = plan.row_index(at);
            self.rows[row].follow(units, plan.rows()[row].units(), at, before);
        }
    }

    /// Sums the dense units anew, after capacities changed.
    pub(crate) fn recount(&mut self) {
        let mut counts = Counts::default();
        if let Units::Dense(units) = &self.units {
            for (at, unit) in units.iter().enumerate() {
                counts.add(unit.counts(self.offer.capacity(at as UnitNo)));
            }
        }
        self.counts = counts;
    }
}

impl State {
    pub fn version(&self) -> Version {
        self.version
    }

    pub fn offer(&self, id: &OfferId) -> Option<&OfferState> {
        self.offers.get(id)
    }

    /// Offers in the order they were made.
    pub fn offers(&self) -> impl DoubleEndedIterator<Item = &OfferState> {
        self.listing.iter().map(|id| &self.offers[id])
    }

    /// A hold that is live, booked, or given up not too long ago.
    pub fn hold(&self, id: HoldId, now: Moment) -> Option<&Hold> {
        let remembered = |hold: &&Hold| ended_at(hold).is_none_or(|at| now.ms_since(at) < MEMORY_MS);
        self.holds.get(&id).map(Box::as_ref).filter(remembered)
    }

    pub fn booking(&self, id: BookingId) -> Option<&Booking> {
        self.bookings.get(&id).map(Box::as_ref)
    }

    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.values().map(Box::as_ref)
    }

    pub fn bookings(&self) -> impl Iterator<Item = &Booking> {
        self.bookings.values().map(Box::as_ref)
    }

    /// The holds of an offer that nothing has ended, each once.
    pub fn holds_of(&self, offer: &OfferState) -> impl Iterator<Item = &Hold> {
        let ids: HashSet<HoldId> = offer.claims.keys().map(|&(.., hold)| hold).collect();
        ids.into_iter().filter_map(|id| self.holds.get(&id).map(Box::as_ref))
    }

    /// The confirmed bookings of an offer.
    pub fn bookings_of(&self, offer: &OfferState) -> impl Iterator<Item = &Booking> {
        offer.booked.iter().filter_map(|id| self.booking(*id))
    }

    /// Holds that nothing has ended, those that run out first.
    pub fn holds_by_end(&self) -> impl Iterator<Item = &Hold> {
        self.due.iter().filter_map(|(_, id)| self.holds.get(id).map(Box::as_ref))
    }

    /// When the next active hold runs out.
    pub fn next_due(&self) -> Option<Moment> {
        self.due.first().map(|&(at, _)| at)
    }

    /// Bookings whose payment somebody must look at by `now`, the longest due first.
    pub fn payments_due(&self, now: Moment) -> impl Iterator<Item = &Booking> {
        let due = self.payments.iter().take_while(move |&&(at, _)| at <= now);
        due.filter_map(|(_, booking)| self.booking(*booking))
    }

    /// How many payments wait for a person.
    pub fn payments_parked(&self) -> usize {
        self.parked.len()
    }

    /// When a payment must next be looked at.
    pub fn next_payment_due(&self) -> Option<Moment> {
        self.payments.first().map(|&(at, _)| at)
    }

    /// Drops at most `limit` ended holds that nobody may ask for any more, and says how many: fewer than that are all
    /// there were. Tidying: no answer depends on it.
    pub fn forget(&mut self, now: Moment, limit: usize) -> usize {
        let mut forgotten = 0;
        while forgotten < limit
            && let Some(&(at, hold)) = self.ended.front()
            && now.ms_since(at) >= MEMORY_MS
        {
            self.ended.pop_front();
            self.holds.remove(&hold);
            forgotten += 1;
        }
        forgotten
    }
}

/// When a hold came to nothing; one past its expiry did so then, swept or not. A booked one is known for as long as its
/// booking, which is for good.
fn ended_at(hold: &Hold) -> Option<Moment> {
    match hold.state {
        HoldState::Active | HoldState::Paying { .. } | HoldState::Expired { .. } => Some(hold.ends_at()),
        HoldState::Released { at } => Some(at),
        HoldState::Booked { .. } => None,
    }
}

/// When the journal ended it: for an expired hold that is some time after its end.
fn recorded_end(hold: &Hold) -> Option<Moment> {
    match hold.state {
        HoldState::Active | HoldState::Paying { .. } | HoldState::Booked { .. } => None,
        HoldState::Released { at } | HoldState::Expired { at } => Some(at),
    }
}
