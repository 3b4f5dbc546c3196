//! A payment: the money side of a booking, as far as the books know it.
//!
//! ```text
//!                    ┌──────────────┐  ┌────────────┐
//!  begin ─► requires_payment ─► processing ─► authorized        in flight: nothing captured, somebody must look
//!                    └──────┬───────┴──────┬──────┘
//!          declined, canceled│              │ captured
//!                            ▼              ▼
//!                         failed        succeeded ──► refunding ──► refunded
//!                                           └── what cannot be right ──┴──► manual
//! ```
//! What the provider says is reported by commands and decided upon like everything else; nothing here talks to a
//! provider. A payment in flight or refunding always says when somebody must next look at it (`due_at`), so that no
//! crash leaves one behind; one at rest says nothing.

use std::{fmt, sync::Arc};

use crate::{
    money::{Currency, Money},
    text::{self, Invalid},
    time::Moment,
};

/// Who takes the money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    Stripe,
}

impl Provider {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
        }
    }
}

/// Where a payment stands; a booking without one stands at `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaymentState {
    RequiresPayment,
    Processing,
    Authorized,
    Succeeded,
    Refunding,
    Refunded,
    Failed,
    Manual,
}

impl PaymentState {
    pub const ALL: [Self; 8] = [
        Self::RequiresPayment,
        Self::Processing,
        Self::Authorized,
        Self::Succeeded,
        Self::Refunding,
        Self::Refunded,
        Self::Failed,
        Self::Manual,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequiresPayment => "requires_payment",
            Self::Processing => "processing",
            Self::Authorized => "authorized",
            Self::Succeeded => "succeeded",
            Self::Refunding => "refunding",
            Self::Refunded => "refunded",
            Self::Failed => "failed",
            Self::Manual => "manual",
        }
    }

    /// The state of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Nothing is captured yet, and something may be.
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::RequiresPayment | Self::Processing | Self::Authorized)
    }

    /// Somebody must look at it again.
    pub const fn has_work(self) -> bool {
        self.is_in_flight() || matches!(self, Self::Refunding)
    }
}

/// The provider's name for something: 1 to 255 visible characters. Cloning shares the text.
macro_rules! provider_name {
    ($name:ident, $field:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(name: &str) -> Result<Self, Invalid> {
                Ok(Self(text::visible($field, name, 255)?.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}
provider_name!(IntentId, "intent", "The provider's name for one payment, such as `pi_…`.");
provider_name!(PaymentMethod, "payment_method", "The provider's name for what to charge, such as `pm_…`.");

/// Why something went as it did, for people: bounded, and without characters that hide what is read.
#[derive(Clone, PartialEq, Eq)]
pub struct Reason(Arc<str>);

impl Reason {
    const MAX_CHARS: usize = 500;

    /// Takes any text; what does not fit or must not be shown is left out.
    pub fn new(said: &str) -> Self {
        let shown =
            said.chars().map(|c| if text::hides_or_reorders(c) { ' ' } else { c }).take(Self::MAX_CHARS);
        Self(shown.collect::<String>().into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub provider: Provider,
    pub state: PaymentState,
    /// Charged by the server; without one the buyer's browser confirms.
    pub method: Option<PaymentMethod>,
    /// The provider's name for it, once known. There is never a second one.
    pub intent: Option<IntentId>,
    /// How often somebody looked since it last changed, and learned nothing new.
    pub attempts: u32,
    /// When somebody must next look at it; `None` exactly when it is at rest.
    pub due_at: Option<Moment>,
    pub captured: Money,
    pub refunded: Money,
    /// Why it failed, was refunded without being asked for, or needs a person.
    pub why: Option<Reason>,
}

impl Payment {
    pub fn begun(method: Option<PaymentMethod>, due_at: Moment) -> Self {
        Self {
            provider: Provider::Stripe,
            state: PaymentState::RequiresPayment,
            method,
            intent: None,
            attempts: 0,
            due_at: Some(due_at),
            captured: Money::ZERO,
            refunded: Money::ZERO,
            why: None,
        }
    }

    /// Enters another state; whoever looks begins to count anew.
    pub(crate) fn enter(&mut self, state: PaymentState, due_at: Option<Moment>) {
        (self.state, self.due_at, self.attempts) = (state, due_at, 0);
    }
}

/// How long a payment may keep its hold, all in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayTerms {
    /// How long the hold may outlive its expiry while it is being paid.
    pub pin_s: u32,
    /// The first payment of a hold gives it at least this long, and never more than its offer's time to live.
    pub grace_s: u32,
    /// When somebody else looks after it, should whoever began it be gone.
    pub look_s: u32,
}

/// The longest that a hold can be pinned.
pub const MAX_PIN_S: u32 = 24 * 3600;

/// A payment whose hold is about to be let go is looked at once more, at most this long before.
const LAST_CALL_MS: i64 = 5_000;

/// When that is, for a payment that began then. It takes no more than a fifth of the pin, so that a short one is still a
/// pin; where there is none, a fifth of all the time there is.
pub fn last_call(begun: Moment, expires_at: Moment, pinned_until: Moment) -> Moment {
    let pin_ms = pinned_until.ms() - expires_at.ms();
    let whole_ms = pinned_until.ms() - begun.ms();
    let spare_ms = if pin_ms > 0 { pin_ms } else { whole_ms };
    pinned_until.plus_ms(-LAST_CALL_MS.min(spare_ms / 5))
}

/// What the provider says of a payment now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentOutcome {
    /// The buyer must do something first.
    RequiresAction,
    Processing,
    /// To be captured by us.
    Authorized,
    Succeeded {
        amount: Money,
        currency: Currency,
    },
    /// Definitely not charged, and never will be through this payment.
    Declined {
        reason: Reason,
    },
    /// Ended before anything was charged.
    Canceled,
    /// It cannot be what we asked for; a person must look.
    Doubtful {
        why: Reason,
    },
}

/// What the provider says of a refund now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundOutcome {
    Succeeded,
    /// Not yet, or not this time: try again.
    Pending,
    /// Tried often enough; a person must look.
    Abandoned {
        why: Reason,
    },
}

/// What an operator says of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Look again now; what waits for a person and has money to give back is refunded.
    Retry,
    /// The money has been given back, or never was taken: the booking ends.
    Refunded,
    /// The price was paid in full.
    Paid,
}
