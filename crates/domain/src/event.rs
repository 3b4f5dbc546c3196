//! What happened. The journal is a list of these, and folding it gives the state.

use std::sync::Arc;

use crate::{
    command::Actor,
    hold::Line,
    ids::{BookingId, HoldId, HolderId, OfferId},
    money::{Currency, Money},
    offer::{Amendment, Offer, UnitNo},
    seating::Relaxed,
    time::Moment,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    OfferCreated { offer: Arc<Offer> },
    OfferAmended { offer: OfferId, amendment: Amendment },
    UnitsBlocked { offer: OfferId, units: Vec<UnitNo> },
    UnitsUnblocked { offer: OfferId, units: Vec<UnitNo> },
    HoldPlaced(Placed),
    HoldExtended { hold: HoldId, expires_at: Moment },
    HoldReleased { hold: HoldId },
    HoldExpired { hold: HoldId },
    BookingConfirmed { booking: BookingId, hold: HoldId },
    BookingCancelled { booking: BookingId },
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
            Self::HoldReleased { .. } => "hold_released",
            Self::HoldExpired { .. } => "hold_expired",
            Self::BookingConfirmed { .. } => "booking_confirmed",
            Self::BookingCancelled { .. } => "booking_cancelled",
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
