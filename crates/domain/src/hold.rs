//! A hold: a temporary claim on one or more units, all or nothing, with an expiry. A booking: a hold made
//! permanent.
//!
//! ```text
//!              extend (≤ 3)      declined
//!               ┌───┐        ┌───────────────┐
//!               │   │        ▼    pay         │
//!   place ──► active ◄─────────────────► paying ──► booked ──► (the booking lives on)
//!               │  │ └──────────────────────│─────────▲
//!       release │  │ expires_at ≤ now       │ pinned_until ≤ now, cancelled
//!               ▼  ▼                        ▼
//!        released  expired               expired, released
//! ```
//! Expiry is a predicate on `now`, never an event somebody must deliver: an `active` hold whose time has come
//! counts as expired from that millisecond on, whether or not the tidying sweep has written so. A hold that is being
//! paid is pinned: it lives until `pinned_until`, which was settled when the payment began. An active hold whose holder has
//! left ends sooner, and has its own end again if they come back before that.

use std::sync::Arc;

use crate::{
    event::{PaymentBegun, PaymentEvent, Placed},
    ids::{BookingId, HoldId, HolderId, OfferId},
    money::{Currency, Money},
    offer::UnitNo,
    payment::{Payment, PaymentState},
    seating::Relaxed,
    time::Moment,
};

/// How often a hold may be extended.
pub const MAX_EXTENSIONS: u8 = 3;

/// How long a hold that was released or ran out is still known by its id; afterwards only the journal remembers it.
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
    /// A booking of it is being paid.
    Paying {
        booking: BookingId,
        pinned_until: Moment,
    },
    Booked {
        booking: BookingId,
    },
    Released {
        at: Moment,
    },
    Expired {
        at: Moment,
    },
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
    /// Its holder has left, and so it ends sooner: the end that it has again if they come back in time. Only of an active
    /// one, and later than `expires_at`.
    pub returns_to: Option<Moment>,
    pub extensions: u8,
    /// How many payments were begun on it.
    pub payments: u8,
    /// What best-available gave up to find the seats.
    pub relaxed: Vec<Relaxed>,
    /// The journal entry that last changed it.
    pub version: Version,
}

impl Hold {
    /// The hold that a journalled placing begins.
    pub fn placed(placed: Placed, version: Version) -> Self {
        let Placed { hold: id, holder, lines, amount, currency, expires_at, relaxed } = placed;
        let (state, extensions, payments) = (HoldState::Active, 0, 0);
        Self {
            id,
            holder,
            state,
            lines,
            amount,
            currency,
            expires_at,
            returns_to: None,
            extensions,
            payments,
            relaxed,
            version,
        }
    }

    pub fn extend(&mut self, expires_at: Moment) {
        self.come_back(expires_at);
        self.extensions += 1;
    }

    /// Its holder has left: it ends then, unless they come back.
    pub fn leave(&mut self, expires_at: Moment) {
        self.returns_to = Some(self.own_end());
        self.expires_at = expires_at;
    }

    /// Its holder is there, and it lasts until then.
    pub fn come_back(&mut self, expires_at: Moment) {
        self.returns_to = None;
        self.expires_at = expires_at;
    }

    /// When it ends if its holder stays, or comes back in time.
    pub fn own_end(&self) -> Moment {
        self.returns_to.unwrap_or(self.expires_at)
    }

    /// Given back.
    pub const fn release(&mut self, at: Moment) {
        self.returns_to = None;
        self.state = HoldState::Released { at };
    }

    /// Turns into a booking, of the hold's own version.
    pub fn book(&mut self, booking: BookingId, at: Moment) -> Booking {
        self.returns_to = None;
        self.state = HoldState::Booked { booking };
        self.booking(booking, BookingState::Confirmed, at)
    }

    /// Begins to be paid: a booking is there, and waits for the money.
    pub fn pay(&mut self, begun: &PaymentBegun, at: Moment) -> Booking {
        let PaymentBegun { booking, method, expires_at, pinned_until, due_at, .. } = begun;
        self.state = HoldState::Paying { booking: *booking, pinned_until: *pinned_until };
        self.come_back(*expires_at);
        self.payments = self.payments.saturating_add(1);
        let payment = Payment::begun(method.clone(), *due_at);
        Booking { payment: Some(payment.into()), ..self.booking(*booking, BookingState::Pending, at) }
    }

    fn booking(&self, id: BookingId, state: BookingState, at: Moment) -> Booking {
        Booking {
            id,
            hold: self.id,
            holder: self.holder.clone(),
            state,
            lines: Arc::clone(&self.lines),
            amount: self.amount,
            currency: self.currency,
            payment: None,
            created_at: at,
            version: self.version,
        }
    }

    /// Its time is up, and that is written down.
    pub fn expire(&mut self, at: Moment) {
        self.come_back(self.ends_at());
        self.state = HoldState::Expired { at };
    }

    /// No longer kept for a payment: what is left of its own time is left, unless it is given back for good. Where
    /// the pin had run out by then it ended there, whether or not anybody has written so.
    pub fn unpin(&mut self, given_back: bool, at: Moment) {
        match (self.ends_at() <= at, given_back) {
            (true, _) => self.expire(at),
            (false, true) => self.release(at),
            (false, false) => self.state = HoldState::Active,
        }
    }

    /// Not ended, as far as the journal knows; the clock may know better.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, HoldState::Active | HoldState::Paying { .. })
    }

    /// Whether it is this booking that is being paid.
    pub fn is_paid_by(&self, id: BookingId) -> bool {
        matches!(self.state, HoldState::Paying { booking, .. } if booking == id)
    }

    /// From when on it claims nothing more, if nothing happens to it before.
    pub const fn ends_at(&self) -> Moment {
        match self.state {
            HoldState::Paying { pinned_until, .. } => pinned_until,
            _ => self.expires_at,
        }
    }

    /// Still claiming its units at `now`.
    pub fn is_live(&self, now: Moment) -> bool {
        self.is_open() && now < self.ends_at()
    }

    /// `active`, `paying`, `booked`, `released` or `expired`, as of `now`.
    pub fn status(&self, now: Moment) -> &'static str {
        match self.state {
            HoldState::Active | HoldState::Paying { .. } if !self.is_live(now) => "expired",
            HoldState::Active => "active",
            HoldState::Paying { .. } => "paying",
            HoldState::Expired { .. } => "expired",
            HoldState::Booked { .. } => "booked",
            HoldState::Released { .. } => "released",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookingState {
    /// Its payment is under way, or waits for a person.
    Pending,
    Confirmed,
    Cancelled {
        at: Moment,
    },
    /// Not paid, or paid too late and given back; its payment says why.
    Failed {
        at: Moment,
    },
}

impl BookingState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::Cancelled { .. } => "cancelled",
            Self::Failed { .. } => "failed",
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
    /// `None` where nothing is paid here. Boxed: most bookings of a free event have none.
    pub payment: Option<Box<Payment>>,
    pub created_at: Moment,
    pub version: Version,
}

impl Booking {
    /// The payment, if there is something to do about it, and when.
    pub fn payment_due(&self) -> Option<Moment> {
        self.payment.as_ref().and_then(|payment| payment.due_at)
    }

    /// Whether the machine must not decide about its payment.
    pub fn needs_a_person(&self) -> bool {
        self.payment.as_ref().is_some_and(|payment| payment.state == PaymentState::Manual)
    }

    /// The name of its payment's state.
    pub fn payment_state(&self) -> &'static str {
        self.payment.as_ref().map_or("none", |payment| payment.state.as_str())
    }

    /// Follows what happened to it and its payment; the caller sees to holds and units.
    ///
    /// # Panics
    /// Where an event of a payment meets a booking without one: that journal was never decided.
    pub fn follow(&mut self, event: &PaymentEvent, at: Moment) {
        let payment = self.payment.as_mut().expect("a journalled payment exists");
        match event {
            PaymentEvent::IntentNoted { intent, due_at } => {
                payment.intent = Some(intent.clone());
                payment.due_at = Some(*due_at);
            }
            PaymentEvent::Moved { to, due_at } => payment.enter(*to, Some(*due_at)),
            PaymentEvent::Deferred { due_at } => {
                payment.attempts = payment.attempts.saturating_add(1);
                payment.due_at = Some(*due_at);
            }
            PaymentEvent::Captured { amount } => {
                payment.captured = *amount;
                payment.enter(PaymentState::Succeeded, None);
            }
            PaymentEvent::Failed { why } => {
                payment.why = Some(why.clone());
                payment.enter(PaymentState::Failed, None);
            }
            PaymentEvent::BookingFailed { why } => {
                payment.why = Some(why.clone());
                self.state = BookingState::Failed { at };
            }
            PaymentEvent::Retaken => self.state = BookingState::Confirmed,
            PaymentEvent::RefundBegun { due_at } => payment.enter(PaymentState::Refunding, Some(*due_at)),
            PaymentEvent::Refunded => {
                payment.refunded = payment.captured;
                payment.enter(PaymentState::Refunded, None);
            }
            PaymentEvent::Parked { captured, why } => {
                // Whatever was given back has come back, or a person would not be needed.
                (payment.captured, payment.refunded) = (*captured, Money::ZERO);
                payment.why = Some(why.clone());
                payment.enter(PaymentState::Manual, None);
            }
        }
    }

    /// Ends at the wish of whoever has it. What is in flight is to be called off, now.
    pub fn cancel(&mut self, at: Moment) {
        self.state = BookingState::Cancelled { at };
        if let Some(payment) = self.payment.as_mut().filter(|payment| payment.state.is_in_flight()) {
            payment.due_at = Some(at);
        }
    }
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
