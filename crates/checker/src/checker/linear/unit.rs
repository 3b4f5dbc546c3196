//! One unit, as a value that operations change and that can be changed back.

use std::collections::BTreeSet;

use super::super::lives::NEVER;
use crate::history::Micros;

/// What an operation says about a unit. Holds are numbered within the unit. An expiry is a window: from `lo` on
/// the hold may count as expired, before `hi` it may count as alive; without doubt about clocks the two are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Place {
        hold: u32,
        lo: Micros,
        hi: Micros,
    },
    Extend {
        hold: u32,
        lo: Micros,
        hi: Micros,
    },
    Release {
        hold: u32,
    },
    Confirm {
        hold: u32,
    },
    Cancel {
        hold: u32,
    },
    /// A hold of which nobody was told when it ends has ended.
    Lapse {
        hold: u32,
    },
    /// The holder was given the hold it had.
    Again {
        hold: u32,
    },
    /// There was not that much left.
    Refused {
        qty: u32,
    },
    FoundExpired {
        hold: u32,
    },
    FoundReleased {
        hold: u32,
    },
    FoundBooked {
        hold: u32,
    },
    Read {
        held: u32,
        booked: u32,
    },
}

impl Step {
    /// The hold it is about, if it is about one.
    pub(crate) fn hold(&self) -> Option<u32> {
        match *self {
            Self::Place { hold, .. }
            | Self::Extend { hold, .. }
            | Self::Release { hold }
            | Self::Confirm { hold }
            | Self::Cancel { hold }
            | Self::Lapse { hold }
            | Self::Again { hold }
            | Self::FoundExpired { hold }
            | Self::FoundReleased { hold }
            | Self::FoundBooked { hold } => Some(hold),
            Self::Refused { .. } | Self::Read { .. } => None,
        }
    }

    pub(crate) fn is_look(&self) -> bool {
        match self {
            Self::Place { .. }
            | Self::Extend { .. }
            | Self::Release { .. }
            | Self::Confirm { .. }
            | Self::Cancel { .. }
            | Self::Lapse { .. } => false,
            Self::Again { .. }
            | Self::Refused { .. }
            | Self::FoundExpired { .. }
            | Self::FoundReleased { .. }
            | Self::FoundBooked { .. }
            | Self::Read { .. } => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Status {
    Absent,
    Live,
    Expired,
    Released,
    Booked,
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
struct HoldNow {
    qty: u32,
    status: Status,
    lo: Micros,
    hi: Micros,
}

/// A point to which the unit can be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    undo: usize,
    now: Micros,
}

#[derive(Debug)]
pub(super) struct Unit {
    capacity: u64,
    holds: Vec<HoldNow>,
    /// Live holds by the moment from which they may count as expired.
    live: BTreeSet<(Micros, u32)>,
    live_sum: u64,
    expired_sum: u64,
    booked_sum: u64,
    now: Micros,
    undo: Vec<(u32, HoldNow)>,
    /// Of all statuses: tells states apart.
    hash: u64,
}

impl Unit {
    pub(super) fn new(capacity: u32, quantities: &[u32]) -> Self {
        let fresh = |&qty: &u32| HoldNow { qty, status: Status::Absent, lo: NEVER, hi: NEVER };
        Self {
            capacity: capacity.into(),
            holds: quantities.iter().map(fresh).collect(),
            live: BTreeSet::new(),
            live_sum: 0,
            expired_sum: 0,
            booked_sum: 0,
            now: Micros::MIN,
            undo: Vec::new(),
            hash: 0,
        }
    }

    pub(super) fn now(&self) -> Micros {
        self.now
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { undo: self.undo.len(), now: self.now }
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        while self.undo.len() > mark.undo {
            let (hold, before) = self.undo.pop().expect("longer than the mark");
            self.put(hold, before);
        }
        self.now = mark.now;
    }

    /// Takes the step at the earliest moment from `start` to `end` at which it is right. Whether there is one;
    /// if not, take the unit back to where it was.
    pub(super) fn take(&mut self, step: Step, start: Micros, end: Micros) -> bool {
        self.advance(start);
        let taken = match step {
            Step::Place { hold, lo, hi } => self.place(hold, lo, hi, end),
            Step::FoundExpired { hold } => self.find_expired(hold),
            Step::Read { .. } => self.read(step, end),
            Step::Extend { hold, lo, hi } => self.extend(hold, lo, hi),
            Step::Release { hold } => self.release(hold),
            Step::Confirm { hold } => self.change(hold, &[Status::Live], Status::Booked),
            Step::Lapse { hold } => self.lapse(hold),
            Step::Cancel { hold } => {
                self.change(hold, &[Status::Booked, Status::Cancelled], Status::Cancelled)
            }
            look => self.is_right(look),
        };
        taken && self.now <= end
    }

    /// Whether the step is right here and now, and leaves the unit as it is now and at any later time: a look, or
    /// giving back what is over.
    pub(super) fn is_unchanged_by(&self, step: Step) -> bool {
        match step {
            Step::Release { hold } => matches!(self.status(hold), Status::Expired | Status::Released),
            Step::Cancel { hold } => self.status(hold) == Status::Cancelled,
            look => self.is_right(look),
        }
    }

    /// Whether the hold's expiry still matters to anybody.
    pub(super) fn may_still_end(&self, hold: u32) -> bool {
        matches!(self.status(hold), Status::Absent | Status::Live)
    }

    fn status(&self, hold: u32) -> Status {
        self.holds[hold as usize].status
    }

    /// Whether a look is right, here and now.
    pub(super) fn is_right(&self, look: Step) -> bool {
        match look {
            Step::Again { hold } => self.status(hold) == Status::Live,
            Step::Refused { qty } => self.booked_sum + self.live_sum + u64::from(qty) > self.capacity,
            Step::FoundExpired { hold } => {
                let ended = matches!(self.status(hold), Status::Expired | Status::Released);
                ended && self.holds[hold as usize].lo <= self.now
            }
            Step::FoundReleased { hold } => self.status(hold) == Status::Released,
            Step::FoundBooked { hold } => matches!(self.status(hold), Status::Booked | Status::Cancelled),
            Step::Read { held, booked } => self.may_be_read(held.into(), booked.into()),
            _ => false,
        }
    }

    /// What is read as held may include expired holds that nobody has tidied away.
    fn may_be_read(&self, held: u64, booked: u64) -> bool {
        let doubtful = self.live.iter().take_while(|(lo, _)| *lo <= self.now);
        let doubtful: u64 = doubtful.map(|(_, hold)| u64::from(self.holds[*hold as usize].qty)).sum();
        booked == self.booked_sum
            && held >= self.live_sum - doubtful
            && held <= self.live_sum + self.expired_sum
            && held + booked <= self.capacity
    }

    /// Lets time pass: what can no longer count as alive is expired.
    fn advance(&mut self, to: Micros) {
        self.now = self.now.max(to);
        let now = self.now;
        let over = self.live.iter().take_while(|(lo, _)| *lo <= now).map(|(_, hold)| *hold);
        let over: Vec<u32> = over.filter(|hold| self.holds[*hold as usize].hi <= now).collect();
        over.into_iter().for_each(|hold| self.set_status(hold, Status::Expired));
    }

    /// Room is made by holds whose time may be up, soonest first, as late as that takes. (Of a hold whose end nobody was
    /// told of, a [`Step::Lapse`] must say so.)
    fn place(&mut self, hold: u32, lo: Micros, hi: Micros, end: Micros) -> bool {
        let before = self.holds[hold as usize];
        let qty = u64::from(before.qty);
        while self.booked_sum + self.live_sum + qty > self.capacity {
            let ends_in_time = |&&(_, other): &&(Micros, u32)| self.holds[other as usize].hi != NEVER;
            match self.live.iter().find(ends_in_time).copied() {
                Some((may_end, other)) if may_end <= end => {
                    self.advance(may_end);
                    if self.status(other) == Status::Live {
                        self.set_status(other, Status::Expired);
                    }
                }
                _ => return false,
            }
        }
        before.status == Status::Absent && {
            self.set(hold, HoldNow { status: Status::Live, lo, hi, ..before });
            true
        }
    }

    /// A read that does not show a hold waits for that hold's expiry.
    fn read(&mut self, read: Step, end: Micros) -> bool {
        while !self.is_right(read) {
            match self.live.iter().find(|(lo, _)| *lo > self.now) {
                Some(&(may_end, _)) if may_end <= end => self.advance(may_end),
                _ => return false,
            }
        }
        true
    }

    fn lapse(&mut self, hold: u32) -> bool {
        let at = self.holds[hold as usize];
        at.hi == NEVER && at.status == Status::Live && {
            self.advance(at.lo);
            self.change(hold, &[Status::Live], Status::Expired)
        }
    }

    fn find_expired(&mut self, hold: u32) -> bool {
        let at = self.holds[hold as usize];
        if at.status == Status::Live {
            self.advance(at.lo);
            if self.status(hold) == Status::Live {
                self.set_status(hold, Status::Expired);
            }
        }
        self.is_right(Step::FoundExpired { hold })
    }

    fn extend(&mut self, hold: u32, lo: Micros, hi: Micros) -> bool {
        let before = self.holds[hold as usize];
        // Of an extension that nobody heard of, only this is known: it took nothing away.
        let lo = if hi == NEVER { before.lo } else { lo };
        before.status == Status::Live && {
            self.set(hold, HoldNow { lo, hi, ..before });
            true
        }
    }

    fn release(&mut self, hold: u32) -> bool {
        match self.status(hold) {
            Status::Live => self.change(hold, &[Status::Live], Status::Released),
            Status::Expired | Status::Released => true,
            Status::Absent | Status::Booked | Status::Cancelled => false,
        }
    }

    fn change(&mut self, hold: u32, from: &[Status], to: Status) -> bool {
        let fits = from.contains(&self.status(hold));
        if fits {
            self.set_status(hold, to);
        }
        fits
    }

    fn set_status(&mut self, hold: u32, status: Status) {
        let before = self.holds[hold as usize];
        if before.status != status {
            self.set(hold, HoldNow { status, ..before });
        }
    }

    fn set(&mut self, hold: u32, after: HoldNow) {
        self.undo.push((hold, self.holds[hold as usize]));
        self.put(hold, after);
    }

    fn put(&mut self, hold: u32, after: HoldNow) {
        let before = std::mem::replace(&mut self.holds[hold as usize], after);
        self.hash ^= fingerprint(hold, &before) ^ fingerprint(hold, &after);
        if before.status == Status::Live {
            self.live.remove(&(before.lo, hold));
        }
        if after.status == Status::Live {
            self.live.insert((after.lo, hold));
        }
        for (at, sign) in [(before, -1i64), (after, 1)] {
            let sum = match at.status {
                Status::Live => &mut self.live_sum,
                Status::Expired => &mut self.expired_sum,
                Status::Booked => &mut self.booked_sum,
                Status::Absent | Status::Released | Status::Cancelled => continue,
            };
            *sum = sum.wrapping_add_signed(sign * i64::from(at.qty));
        }
    }
}

fn fingerprint(hold: u32, at: &HoldNow) -> u64 {
    mix(u64::from(hold) << 3 | at.status as u64)
        ^ mix(at.hi as u64 ^ 0x9e37_79b9_7f4a_7c15).rotate_left(hold % 64)
}

/// A well-mixed function of a number (splitmix64).
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
