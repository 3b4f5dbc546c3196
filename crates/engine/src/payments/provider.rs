//! The port to whoever moves the money. Small on purpose: what a booking needs of a card provider, no more.
//!
//! The provider is asked over a network, so there are three kinds of "no": the card was [declined](ProviderError),
//! nothing was done, or nobody knows. Only the last one is dangerous, and the cure for it is always the same:
//! ask with the same [`StepKey`], then look at the object.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use holdfast_domain::{BookingId, Currency, HoldId, IntentId, Money};

#[async_trait]
pub trait Provider: Send + Sync + fmt::Debug {
    /// Makes an intent. Takes no money, whatever comes after it: an intent that nobody heard of costs nothing.
    async fn create(&self, new: &NewIntent, key: StepKey) -> Result<Intent, ProviderError>;
    /// Tries to take the money, with the payment method the intent was made with.
    async fn confirm(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError>;
    async fn retrieve(&self, intent: &IntentId) -> Result<Intent, ProviderError>;
    /// After this no money can be taken; refused (as [`ProviderError::Unknown`]) once it was.
    async fn cancel(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError>;
    /// Takes what was authorized.
    async fn capture(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError>;
    /// Gives everything back that was taken. Never gives back more, however often it is asked.
    async fn refund(
        &self,
        intent: &IntentId,
        booking: BookingId,
        key: StepKey,
    ) -> Result<Refund, ProviderError>;
    /// Every refund of an intent, newest first.
    async fn refunds(&self, intent: &IntentId) -> Result<Vec<Refund>, ProviderError>;
}

/// The idempotency key of one step of one booking: the same step is the same key, whoever takes it and however
/// often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StepKey {
    pub booking: BookingId,
    pub step: Step,
    /// Which try it is. A try whose failure the provider has filed under its key needs another key.
    pub attempt: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    Create,
    Confirm,
    Capture,
    Cancel,
    Refund,
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            Step::Create => "create",
            Step::Confirm => "confirm",
            Step::Capture => "capture",
            Step::Cancel => "cancel",
            Step::Refund => "refund",
        };
        write!(f, "{}-{step}-{}", self.booking, self.attempt)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIntent {
    pub booking: BookingId,
    pub hold: HoldId,
    pub amount: Money,
    pub currency: Currency,
    /// What to confirm with; without one the buyer's browser chooses.
    pub payment_method: Option<Arc<str>>,
}

/// An intent as the provider shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub id: IntentId,
    pub status: IntentStatus,
    /// What was taken so far, in the currency's minor units.
    pub received: u64,
    /// What it asks for.
    pub amount: u64,
    /// In capitals, as the provider has it.
    pub currency: String,
    /// What lets a buyer's browser pay it.
    pub client_secret: Option<SecretText>,
    /// Why the last try to pay it failed.
    pub decline: Option<Decline>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentStatus {
    /// Nothing to pay with: nobody tried yet, or the last try was declined.
    RequiresMethod,
    RequiresConfirmation,
    /// The buyer's bank wants to see the buyer.
    RequiresAction,
    Processing,
    /// The money is set aside, not taken.
    Authorized,
    Succeeded,
    Canceled,
}

/// What the card's bank, or the provider for it, said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decline {
    /// `insufficient_funds`, `expired_card` and the like.
    pub code: String,
    /// For the buyer.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    pub id: String,
    pub status: RefundStatus,
    pub amount: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundStatus {
    Pending,
    Succeeded,
    Failed,
}

/// Why the provider did not do what it was asked, as far as can be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The card's bank said no. Nothing was taken.
    #[error("the payment was declined: {}", .0.code)]
    Declined(Decline),
    /// Certainly nothing was done. Asking again may help.
    #[error("the payment provider did nothing: {why}")]
    NotDone { why: String, retry_after: Option<Duration> },
    /// Certainly nothing was done, and the same question will have the same answer.
    #[error("the payment provider refuses: {why}")]
    Refused { why: String },
    /// All of it was done or none.
    #[error("what the payment provider did is unknown: {why}")]
    Unknown {
        why: String,
        /// The provider has filed the failure under the key: whoever asks again needs the next one.
        filed: bool,
    },
}

impl ProviderError {
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into(), filed: false }
    }

    /// When the provider wants to be asked again, where it said so.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::NotDone { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// A text that shows itself only to whoever asks for it by name.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Arc<str>);

impl SecretText {
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}
