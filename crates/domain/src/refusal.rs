//! A typed "no", with its reason and, where there is one, a way forward. A refusal is a value, not an error:
//! it is a correct answer to a question that lost.
//!
//! The variants stand in order of precedence: when several reasons apply, the first one listed is given, so
//! every ledger refuses the same request with the same words.

use std::sync::Arc;

use crate::{
    ids::{BookingId, OfferId},
    text::Invalid,
    time::Moment,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    UnknownOffer { offer: OfferId },
    UnknownUnit { offer: OfferId, unit: String },
    UnknownHold,
    UnknownBooking,
    InvalidTime { offer: OfferId, detail: String },
    Invalid(Invalid),
    OfferExists { offer: OfferId },
    HoldReleased,
    HoldExpired,
    AlreadyBooked { booking: BookingId },
    NotCancellable { booking: BookingId },
    NotOnSale { offer: OfferId, opens_at: Option<Moment>, closes_at: Option<Moment> },
    LimitReached(Limit),
    UnitBlocked(Arc<Conflict>),
    UnitTaken(Arc<Conflict>),
    SoldOut { offer: OfferId, conflicts: Vec<InTheWay> },
}

/// Which bound was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    PerHolder {
        offer: OfferId,
        limit: u32,
        used: u64,
        asked: u64,
    },
    Extensions {
        limit: u8,
    },
    /// What one person, or all at one address, may have of the offer without having bought it.
    Unconfirmed {
        offer: OfferId,
        limit: u32,
        asked: u32,
    },
}

/// Shared, because a thousand losers of one seat are told the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub conflicts: Vec<InTheWay>,
    /// Groups of units of the first conflict's offer that could be had instead, by key; nearest first.
    pub alternatives: Vec<Vec<String>>,
}

/// A unit that stood in the way, by its public key, and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTheWay {
    pub offer: OfferId,
    pub unit: String,
    pub state: UnitState,
}

/// The state of a unit as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnitState {
    Available,
    Held,
    Booked,
    Blocked,
}

impl UnitState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Held => "held",
            Self::Booked => "booked",
            Self::Blocked => "blocked",
        }
    }
}

impl Refusal {
    /// Its place in the order of precedence, which is the order of the variants.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            Self::UnknownOffer { .. } => 0,
            Self::UnknownUnit { .. } => 1,
            Self::UnknownHold => 2,
            Self::UnknownBooking => 3,
            Self::InvalidTime { .. } => 4,
            Self::Invalid(_) => 5,
            Self::OfferExists { .. } => 6,
            Self::HoldReleased => 7,
            Self::HoldExpired => 8,
            Self::AlreadyBooked { .. } => 9,
            Self::NotCancellable { .. } => 10,
            Self::NotOnSale { .. } => 11,
            Self::LimitReached(_) => 12,
            Self::UnitBlocked(_) => 13,
            Self::UnitTaken(_) => 14,
            Self::SoldOut { .. } => 15,
        }
    }

    /// The public code of this refusal; each has a page that explains it.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownOffer { .. } => "unknown_offer",
            Self::UnknownUnit { .. } => "unknown_unit",
            Self::UnknownHold => "unknown_hold",
            Self::UnknownBooking => "unknown_booking",
            Self::InvalidTime { .. } => "invalid_time",
            Self::Invalid(_) => "invalid_request",
            Self::OfferExists { .. } => "offer_exists",
            Self::HoldReleased => "hold_released",
            Self::HoldExpired => "hold_expired",
            Self::AlreadyBooked { .. } => "already_booked",
            Self::NotCancellable { .. } => "not_cancellable",
            Self::NotOnSale { .. } => "not_on_sale",
            Self::LimitReached(_) => "limit_reached",
            Self::UnitBlocked(_) => "unit_blocked",
            Self::UnitTaken(_) => "unit_taken",
            Self::SoldOut { .. } => "sold_out",
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(fault: Invalid) -> Self {
        Self::Invalid(fault)
    }
}
