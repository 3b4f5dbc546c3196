//! What can be asked of the ledger, and by whom.

use std::{fmt, sync::Arc};

use crate::{
    ids::{BookingId, HoldId, HolderId, OfferId},
    offer::{Amendment, Offer},
    payment::{IntentId, PayTerms, PaymentMethod, PaymentOutcome, RefundOutcome, Resolution},
    refusal::Limit,
    time::Moment,
};

/// A request that may change the state. Ids of things to be made are minted by the caller: the domain has no
/// dice, and a retry must be able to name the same thing.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    CreateOffer {
        offer: Arc<Offer>,
    },
    AmendOffer {
        offer: OfferId,
        amendment: Amendment,
    },
    Block {
        offer: OfferId,
        units: Vec<String>,
    },
    Unblock {
        offer: OfferId,
        units: Vec<String>,
    },
    PlaceHold {
        hold: HoldId,
        holder: HolderId,
        asks: Vec<Ask>,
    },
    /// The holder's own live hold on exactly this, for one who may have nothing new. `over` is the limit that more would
    /// break, said of what could otherwise be had; without it nobody looks what could be.
    RecallHold {
        holder: HolderId,
        asks: Vec<Ask>,
        over: Option<Limit>,
    },
    ExtendHold {
        hold: HoldId,
    },
    ReleaseHold {
        hold: HoldId,
    },
    /// Its holder has left, and may come back: it is kept that long, and no longer than it would have been.
    LeaveHold {
        hold: HoldId,
        keep_s: u32,
    },
    /// Its holder is back, and has what is left of its own time.
    ReturnToHold {
        hold: HoldId,
    },
    Confirm {
        booking: BookingId,
        hold: HoldId,
    },
    Cancel {
        booking: BookingId,
    },
    /// Makes a booking that waits for its money, and pins the hold meanwhile.
    BeginPayment {
        booking: BookingId,
        hold: HoldId,
        /// Charged by the server; without one the buyer's browser confirms.
        method: Option<PaymentMethod>,
        terms: PayTerms,
    },
    /// The provider knows the payment, by this name.
    NoteIntent {
        booking: BookingId,
        intent: IntentId,
        /// When to look next.
        due_at: Moment,
    },
    /// What the provider says of the payment now. Old news and repeated news change nothing.
    SettlePayment {
        booking: BookingId,
        /// Of which payment, where the provider said so.
        intent: Option<IntentId>,
        outcome: PaymentOutcome,
        /// When to look next, if this does not end it.
        due_at: Moment,
    },
    /// What the provider says of the refund now.
    NoteRefund {
        booking: BookingId,
        outcome: RefundOutcome,
        /// When to look next, if this does not end it.
        due_at: Moment,
    },
    /// Looked, and learned nothing: look again then.
    DeferPayment {
        booking: BookingId,
        due_at: Moment,
    },
    /// An operator's word.
    ResolvePayment {
        booking: BookingId,
        how: Resolution,
    },
    /// Writes down the expiry of at most `limit` holds whose time has come. Nothing waits for it.
    Tidy {
        limit: usize,
    },
}

impl Command {
    /// The wish of a hold's command, for one who may have nothing new; `None` of any other command.
    pub fn recalling(&self, over: Option<Limit>) -> Option<Self> {
        let Self::PlaceHold { holder, asks, .. } = self else { return None };
        Some(Self::RecallHold { holder: holder.clone(), asks: asks.clone(), over })
    }

    /// Of the driving of a payment: the booking that it is about.
    pub const fn of_payment(&self) -> Option<BookingId> {
        match self {
            Self::BeginPayment { booking, .. }
            | Self::NoteIntent { booking, .. }
            | Self::SettlePayment { booking, .. }
            | Self::NoteRefund { booking, .. }
            | Self::DeferPayment { booking, .. }
            | Self::ResolvePayment { booking, .. } => Some(*booking),
            _ => None,
        }
    }
}

/// One line of a requested hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub offer: OfferId,
    pub pick: Pick,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// That seat, or that many of a stock line.
    Unit { key: String, qty: u32 },
    /// The best seats there are.
    Best { qty: u32, category: Option<String> },
    /// A service at an instant; or the rule that the start breaks where it is none, which is a reason to refuse like any
    /// other and has its turn among them.
    Slot { service: String, start: Result<Moment, &'static str> },
}

/// Who asks. What an API key may do is settled before the domain is reached; what a browser's session may
/// touch is settled here: its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// An API key, by its public prefix.
    Key(Arc<str>),
    /// A browser session; it is its own holder.
    Session(HolderId),
    /// Holdfast itself, tidying.
    System,
}

impl Actor {
    /// Whether this actor may see and touch what belongs to `holder`.
    pub fn may_touch(&self, holder: &HolderId) -> bool {
        match self {
            Self::Key(_) | Self::System => true,
            Self::Session(own) => own == holder,
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(prefix) => write!(f, "key:{prefix}"),
            Self::Session(holder) => write!(f, "session:{holder}"),
            Self::System => f.write_str("system"),
        }
    }
}
