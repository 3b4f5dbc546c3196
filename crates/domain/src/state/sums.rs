//! The sums over holds and bookings: kept up to date one hold at a time, or made all at once.

use std::{collections::BTreeSet, panic::resume_unwind, thread};

use foldhash::HashMap;

use super::{OfferState, RowSum, State, Units, recorded_end};
use crate::{
    hold::{Booking, BookingState, Hold, HoldState, Line},
    ids::{BookingId, HoldId, HolderId, OfferId},
    offer::{Inventory, UnitNo},
    state::stake::Stake,
    time::Moment,
};

/// What a hold claims of one unit, as [`OfferState::claims`] has it.
type Claim = ((UnitNo, Moment, HoldId), u32);

/// Kept up to date. While the sums wait there is nothing to keep.
impl State {
    pub(crate) fn add_held(&mut self, hold: &Hold) {
        if self.sums_wait {
            return;
        }
        self.due.insert((hold.ends_at(), hold.id));
        for line in hold.lines.iter() {
            let offer = self.offers.get_mut(&line.offer).expect("a line names an offer that exists");
            for unit in line.units() {
                offer.change(unit, |unit| unit.held += line.qty);
                offer.claims.insert((unit, hold.ends_at(), hold.id), line.qty);
            }
            offer.stake(&hold.holder).hold(line, hold.id);
        }
    }

    pub(crate) fn remove_held(&mut self, hold: &Hold) {
        if self.sums_wait {
            return;
        }
        self.due.remove(&(hold.ends_at(), hold.id));
        for line in hold.lines.iter() {
            let offer = self.offers.get_mut(&line.offer).expect("a line names an offer that exists");
            for unit in line.units() {
                offer.change(unit, |unit| unit.held -= line.qty);
                offer.claims.remove(&(unit, hold.ends_at(), hold.id));
            }
            offer.change_stake(&hold.holder, |stake| {
                stake.held -= u64::from(line.qty);
                stake.holds.remove(line.unit, hold.id);
            });
        }
    }

    pub(crate) fn add_ended(&mut self, hold: HoldId, at: Moment) {
        if !self.sums_wait {
            self.ended.push_back((at, hold));
        }
    }

    pub(crate) fn add_due(&mut self, booking: &Booking) {
        if !self.sums_wait {
            self.payments.extend(booking.payment_due().map(|at| (at, booking.id)));
            self.parked.extend(booking.needs_a_person().then_some(booking.id));
        }
    }

    pub(crate) fn remove_due(&mut self, booking: &Booking) {
        if let Some(at) = booking.payment_due() {
            self.payments.remove(&(at, booking.id));
        }
        if booking.needs_a_person() {
            self.parked.remove(&booking.id);
        }
    }

    pub(crate) fn add_booked(&mut self, booking: BookingId, holder: &HolderId, lines: &[Line]) {
        if self.sums_wait {
            return;
        }
        for line in lines {
            let offer = self.offers.get_mut(&line.offer).expect("a line names an offer that exists");
            line.units().for_each(|unit| offer.change(unit, |unit| unit.booked += line.qty));
            offer.stake(holder).booked += u64::from(line.qty);
            offer.booked.insert(booking);
        }
    }

    pub(crate) fn remove_booked(&mut self, booking: BookingId, holder: &HolderId, lines: &[Line]) {
        if self.sums_wait {
            return;
        }
        for line in lines {
            let offer = self.offers.get_mut(&line.offer).expect("a line names an offer that exists");
            line.units().for_each(|unit| offer.change(unit, |unit| unit.booked -= line.qty));
            offer.change_stake(holder, |stake| stake.booked -= u64::from(line.qty));
            offer.booked.remove(&booking);
        }
    }
}

/// So many holds and bookings are summed up on two threads.
const WORTH_A_THREAD: usize = 20_000;

/// Made all at once: trees from sorted lists, each count counted once.
impl State {
    pub(super) fn sum_up(&mut self) {
        let mut offers = std::mem::take(&mut self.offers);
        let (active, ended) = self.active_and_ended();
        let is_confirmed = |booking: &&Booking| booking.state == BookingState::Confirmed;
        let confirmed: Vec<&Booking> = self.bookings().filter(is_confirmed).collect();
        let mut due = BTreeSet::new();
        let mut claims = || {
            due = active.iter().map(|hold| (hold.ends_at(), hold.id)).collect();
            claim_all(&mut offers, &active, &confirmed);
        };
        let stakes = || stakes_of(&active, &confirmed);
        let stakes = match active.len() + confirmed.len() {
            ..WORTH_A_THREAD => {
                claims();
                stakes()
            }
            _ => thread::scope(|scope| {
                let stakes = scope.spawn(stakes);
                claims();
                stakes.join().unwrap_or_else(|fault| resume_unwind(fault))
            }),
        };
        for (offer, stakes) in stakes {
            offers.get_mut(&offer).expect("a line names an offer that exists").stakes = stakes;
        }
        offers.values_mut().for_each(OfferState::sum_units);
        self.ended = ended.into();
        self.offers = offers;
        self.payments = self.bookings().filter_map(|of| of.payment_due().map(|at| (at, of.id))).collect();
        self.parked = self.bookings().filter(|of| of.needs_a_person()).map(|of| of.id).collect();
        self.due = due;
        self.sums_wait = false;
    }

    /// Active holds in the order of the journal: so they lie side by side in memory, and almost in the order of
    /// the trees. Ended ones by when they ended.
    fn active_and_ended(&self) -> (Vec<&Hold>, Vec<(Moment, HoldId)>) {
        let (mut active, mut ended) = (Vec::with_capacity(self.holds.len()), Vec::new());
        for hold in self.holds() {
            match hold.state {
                HoldState::Active | HoldState::Paying { .. } => active.push((hold.version, hold)),
                _ => ended.extend(recorded_end(hold).map(|at| (at, hold.id))),
            }
        }
        active.sort_unstable_by_key(|&(version, _)| version);
        ended.sort_unstable();
        (active.into_iter().map(|(_, hold)| hold).collect(), ended)
    }
}

/// Counts every unit that is held or booked, and plants the trees of claims.
fn claim_all(offers: &mut HashMap<OfferId, OfferState>, active: &[&Hold], confirmed: &[&Booking]) {
    let mut claims: HashMap<&OfferId, Vec<Claim>> = HashMap::default();
    for hold in active {
        for line in hold.lines.iter() {
            let offer = offers.get_mut(&line.offer).expect("a line names an offer that exists");
            let claims = claims.entry(&line.offer).or_default();
            for unit in line.units() {
                offer.units.change(unit, |unit| unit.held += line.qty);
                claims.push(((unit, hold.ends_at(), hold.id), line.qty));
            }
        }
    }
    for (offer, claims) in claims {
        offers.get_mut(offer).expect("it was just there").claims = claims.into_iter().collect();
    }
    let mut booked: HashMap<&OfferId, Vec<BookingId>> = HashMap::default();
    for booking in confirmed {
        for line in booking.lines.iter() {
            let offer = offers.get_mut(&line.offer).expect("a line names an offer that exists");
            for unit in line.units() {
                offer.units.change(unit, |unit| unit.booked += line.qty);
            }
            booked.entry(&line.offer).or_default().push(booking.id);
        }
    }
    for (offer, mut booked) in booked {
        // A booking of several lines stands there side by side.
        booked.dedup();
        offers.get_mut(offer).expect("it was just there").booked = booked.into_iter().collect();
    }
}

/// What every holder has in every offer.
fn stakes_of(active: &[&Hold], confirmed: &[&Booking]) -> HashMap<OfferId, HashMap<HolderId, Stake>> {
    let mut lines: HashMap<&OfferId, usize> = HashMap::default();
    let all = active.iter().map(|hold| &hold.lines).chain(confirmed.iter().map(|booking| &booking.lines));
    all.flat_map(|lines| lines.iter()).for_each(|line| *lines.entry(&line.offer).or_default() += 1);
    let room = |(offer, lines): (&OfferId, usize)| {
        (offer.clone(), HashMap::with_capacity_and_hasher(lines, foldhash::fast::RandomState::default()))
    };
    let mut stakes: HashMap<OfferId, HashMap<HolderId, Stake>> = lines.into_iter().map(room).collect();
    let mut stake = |holder: &HolderId, line: &Line, add: &dyn Fn(&mut Stake)| {
        let stakes = stakes.get_mut(&line.offer).expect("its lines were counted");
        add(stakes.entry(holder.clone()).or_default());
    };
    for hold in active {
        hold.lines.iter().for_each(|line| stake(&hold.holder, line, &|stake| stake.hold(line, hold.id)));
    }
    for booking in confirmed {
        let booked = |line: &Line| u64::from(line.qty);
        booking
            .lines
            .iter()
            .for_each(|line| stake(&booking.holder, line, &|stake| stake.booked += booked(line)));
    }
    // Room was made for as many holders as there are lines; a box office needs less.
    let roomy = stakes.values_mut().filter(|holders| holders.len() < holders.capacity() / 4);
    roomy.for_each(HashMap::shrink_to_fit);
    stakes
}

impl OfferState {
    fn stake(&mut self, holder: &HolderId) -> &mut Stake {
        self.stakes.entry(holder.clone()).or_default()
    }

    /// Changes a holder's stake and forgets it when nothing is left.
    fn change_stake(&mut self, holder: &HolderId, change: impl FnOnce(&mut Stake)) {
        let stake = self.stakes.get_mut(holder).expect("who holds has a stake");
        change(stake);
        if stake.is_nothing() {
            self.stakes.remove(holder);
        }
    }

    /// Sums the units anew.
    fn sum_units(&mut self) {
        self.recount();
        if let (Inventory::Seats(plan), Units::Dense(units)) = (self.offer.inventory(), &self.units) {
            let seats = |row: std::ops::Range<UnitNo>| &units[row.start as usize..row.end as usize];
            self.rows = plan.rows().iter().map(|row| RowSum::of(seats(row.units()))).collect();
        }
    }
}
