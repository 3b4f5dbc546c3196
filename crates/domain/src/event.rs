//! What happened. The journal is a list of these, and folding it gives the state.

use std::sync::Arc;

use crate::{
    command::Actor,
    hold::Line,
    ids::{BookingId, HoldId, HolderId, OfferId},
    money::{Currency, Money},
    offer::{Amendment, Offer, UnitNo},
    payment::{IntentId, PaymentMethod, PaymentState, Reason},
    seating::Relaxed,
    time::Moment,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    OfferCreated {
        offer: Arc<Offer>,
    },
    OfferAmended {
        offer: OfferId,
        amendment: Amendment,
    },
    UnitsBlocked {
        offer: OfferId,
        units: Vec<UnitNo>,
    },
    UnitsUnblocked {
        offer: OfferId,
        units: Vec<UnitNo>,
    },
    HoldPlaced(Placed),
    HoldExtended {
        hold: HoldId,
        expires_at: Moment,
    },
    /// Its holder has left: it ends sooner.
    HoldLeft {
        hold: HoldId,
        expires_at: Moment,
    },
    /// Its holder came back in time: it ends when it would have.
    HoldReturned {
        hold: HoldId,
        expires_at: Moment,
    },
    HoldReleased {
        hold: HoldId,
    },
    HoldExpired {
        hold: HoldId,
    },
    BookingConfirmed {
        booking: BookingId,
        hold: HoldId,
    },
    BookingCancelled {
        booking: BookingId,
    },
    PaymentBegun(Box<PaymentBegun>),
    /// Something became known of a payment, and what that means for its booking.
    Payment {
        booking: BookingId,
        event: PaymentEvent,
    },
}

/// A hold begins to be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentBegun {
    pub booking: BookingId,
    pub hold: HoldId,
    pub method: Option<PaymentMethod>,
    /// The hold's own end: the first payment of a hold may have moved it.
    pub expires_at: Moment,
    /// How long the hold is kept for the payment.
    pub pinned_until: Moment,
    pub due_at: Moment,
}

/// What happened to a payment. Where it changes the booking as well, that is an event of its own, in the same decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentEvent {
    /// The provider's name for the payment is known.
    IntentNoted {
        intent: IntentId,
        due_at: Moment,
    },
    /// It got on, and is not there yet.
    Moved {
        to: PaymentState,
        due_at: Moment,
    },
    /// Nothing new; to be looked at again.
    Deferred {
        due_at: Moment,
    },
    Captured {
        amount: Money,
    },
    /// Nothing was captured and nothing will be.
    Failed {
        why: Reason,
    },
    /// The booking comes to nothing; its hold, if it is still there, is free to be paid again.
    BookingFailed {
        why: Reason,
    },
    /// The hold was lost and the units were still free: they are booked again.
    Retaken,
    RefundBegun {
        due_at: Moment,
    },
    /// All that was captured has been given back.
    Refunded,
    /// A person must look.
    Parked {
        captured: Money,
        why: Reason,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub hold: HoldId,
    pub holder: HolderId,
    pub lines: Arc<[Line]>,
    pub amount: Money,
    pub currency: Currency,
    pub expires_at: Moment,
    pub relaxed: Vec<Relaxed>,
}

impl Event {
    /// The name of this kind of event in the journal.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::OfferCreated { .. } => "offer_created",
            Self::OfferAmended { .. } => "offer_amended",
            Self::UnitsBlocked { .. } => "units_blocked",
            Self::UnitsUnblocked { .. } => "units_unblocked",
            Self::HoldPlaced(_) => "hold_placed",
            Self::HoldExtended { .. } => "hold_extended",
            Self::HoldLeft { .. } => "hold_left",
            Self::HoldReturned { .. } => "hold_returned",
            Self::HoldReleased { .. } => "hold_released",
            Self::HoldExpired { .. } => "hold_expired",
            Self::BookingConfirmed { .. } => "booking_confirmed",
            Self::BookingCancelled { .. } => "booking_cancelled",
            Self::PaymentBegun(_) => "payment_begun",
            Self::Payment { event, .. } => event.kind(),
        }
    }
}

impl PaymentEvent {
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::IntentNoted { .. } => "payment_intent_noted",
            Self::Moved { .. } => "payment_moved",
            Self::Deferred { .. } => "payment_deferred",
            Self::Captured { .. } => "payment_captured",
            Self::Failed { .. } => "payment_failed",
            Self::BookingFailed { .. } => "booking_failed",
            Self::Retaken => "booking_retaken",
            Self::RefundBegun { .. } => "refund_begun",
            Self::Refunded => "payment_refunded",
            Self::Parked { .. } => "payment_parked",
        }
    }
}

/// One line of the journal. Entries are numbered from 1 without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub seq: u64,
    pub at: Moment,
    pub actor: Actor,
    pub event: Event,
}
