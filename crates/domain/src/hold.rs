//! A hold: a temporary claim on one or more units, all or nothing, with an expiry. A booking: a hold made
//! permanent.
//!
//! ```text
//!              extend (≤ 3)
//!               ┌───┐
//!   place ──► active ──► booked ──► (the booking lives on)
//!               │  │
//!       release │  │ expires_at ≤ now
//!               ▼  ▼
//!        released  expired
//! ```
//! Expiry is a predicate on `now`, never an event somebody must deliver: an `active` hold whose time has come
//! counts as expired from that millisecond on, whether or not the tidying sweep has written so.

use std::sync::Arc;

use crate::{
    event::Placed,
    ids::{BookingId, HoldId, HolderId, OfferId},
    money::{Currency, Money},
    offer::UnitNo,
    seating::Relaxed,
    time::Moment,
};

/// How often a hold may be extended.
pub const MAX_EXTENSIONS: u8 = 3;

/// How long an ended hold is still known by its id; afterwards only the journal remembers it.
pub const MEMORY_MS: i64 = 24 * 3600 * 1000;

/// One thing claimed: a quantity of a unit, or a service whose cells run from `first`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub offer: OfferId,
    /// What the buyer asked for: the seat, the stock line, the cell in which the service begins.
    pub unit: UnitNo,
    pub qty: u32,
    /// For one of it.
    pub price: Money,
    /// Which of the calendar's services; `None` for seats and stock.
    pub service: Option<u16>,
    /// The first unit claimed, which is earlier than `unit` when a buffer precedes the service.
    pub first: UnitNo,
    /// How many units in a row are claimed.
    pub cells: u32,
}

impl Line {
    pub fn units(&self) -> impl Iterator<Item = UnitNo> + use<> {
        self.first..self.first + self.cells
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.offer == other.offer
            && self.first < other.first + other.cells
            && other.first < self.first + self.cells
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldState {
    Active,
    Booked { booking: BookingId },
    Released { at: Moment },
    Expired { at: Moment },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub id: HoldId,
    pub holder: HolderId,
    pub state: HoldState,
    pub lines: Arc<[Line]>,
    pub amount: Money,
    pub currency: Currency,
    pub expires_at: Moment,
    pub extensions: u8,
    /// What best-available gave up to find the seats.
    pub relaxed: Vec<Relaxed>,
    /// The journal entry that last changed it.
    pub version: Version,
}

impl Hold {
    /// The hold that a journalled placing begins.
    pub fn placed(placed: Placed, version: Version) -> Self {
        let Placed { hold: id, holder, lines, amount, currency, expires_at, relaxed } = placed;
        let (state, extensions) = (HoldState::Active, 0);
        Self { id, holder, state, lines, amount, currency, expires_at, extensions, relaxed, version }
    }

    pub fn extend(&mut self, expires_at: Moment) {
        self.expires_at = expires_at;
        self.extensions += 1;
    }

    /// Turns into a booking, of the hold's own version.
    pub fn book(&mut self, booking: BookingId, at: Moment) -> Booking {
        self.state = HoldState::Booked { booking };
        Booking {
            id: booking,
            hold: self.id,
            holder: self.holder.clone(),
            state: BookingState::Confirmed,
            lines: Arc::clone(&self.lines),
            amount: self.amount,
            currency: self.currency,
            created_at: at,
            version: self.version,
        }
    }

    /// Still claiming its units at `now`.
    pub fn is_live(&self, now: Moment) -> bool {
        self.state == HoldState::Active && now < self.expires_at
    }

    /// `active`, `booked`, `released` or `expired`, as of `now`.
    pub fn status(&self, now: Moment) -> &'static str {
        match self.state {
            HoldState::Active if now < self.expires_at => "active",
            HoldState::Active | HoldState::Expired { .. } => "expired",
            HoldState::Booked { .. } => "booked",
            HoldState::Released { .. } => "released",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookingState {
    Confirmed,
    Cancelled { at: Moment },
}

impl BookingState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    pub id: BookingId,
    pub hold: HoldId,
    pub holder: HolderId,
    pub state: BookingState,
    pub lines: Arc<[Line]>,
    pub amount: Money,
    pub currency: Currency,
    pub created_at: Moment,
    pub version: Version,
}

/// A point in the history: the number of journal entries that lead to it. Shown as `1.42`; the first number
/// is the history's own, so that a client can tell a restored past from the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Version(pub u64);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl std::str::FromStr for Version {
    type Err = crate::ids::NotAnId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("1.").ok_or(crate::ids::NotAnId)?;
        let version = digits.parse().map(Self).map_err(|_| crate::ids::NotAnId)?;
        // "1.042" and "1.+42" are other spellings of one version, and a version has one.
        if version.to_string() == text { Ok(version) } else { Err(crate::ids::NotAnId) }
    }
}
