//! Stripe's objects, as far as they are read here. What is not read may change freely.

use holdfast_domain::IntentId;
use reqwest::StatusCode;
use serde::Deserialize;

use super::stripe_scale;
use crate::payments::provider::{
    Decline, Intent, IntentStatus, ProviderError, Refund, RefundStatus, SecretText,
};

#[derive(Debug, Deserialize)]
pub(super) struct IntentShape {
    id: String,
    status: String,
    amount: u64,
    /// Not everything that speaks like Stripe says it.
    amount_received: Option<u64>,
    currency: String,
    client_secret: Option<Secret>,
    last_payment_error: Option<ErrorShape>,
}

/// So that not even a shape shows it.
#[derive(Deserialize)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RefundShape {
    id: String,
    status: Option<String>,
    amount: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct ListShape<T> {
    pub data: Vec<T>,
}

/// An error, as an answer has it and as an intent remembers its last one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ErrorShape {
    #[serde(rename = "type", default)]
    pub kind: String,
    pub code: Option<String>,
    decline_code: Option<String>,
    message: Option<String>,
    param: Option<String>,
}

const LONGEST_MESSAGE: usize = 300;

impl ErrorShape {
    /// Whatever was sent instead of an object; something that is no error of Stripe's has no kind.
    pub(super) fn read(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Wrapped {
            error: ErrorShape,
        }
        serde_json::from_slice(body).map(|Wrapped { error }| error).unwrap_or_default()
    }

    /// For a log and an operator.
    pub(super) fn said(&self, status: StatusCode) -> String {
        let code = self.code.as_deref().unwrap_or("no code");
        let param = self.param.as_deref().map(|param| format!(" ({param})")).unwrap_or_default();
        format!("{} {code}{param}: {}", status.as_u16(), self.message())
    }

    pub(super) fn decline(&self) -> Option<Decline> {
        if self.kind != "card_error" {
            return None;
        }
        let code = self.decline_code.clone().or_else(|| self.code.clone())?;
        Some(Decline { code, message: self.message() })
    }

    fn message(&self) -> String {
        self.message.as_deref().unwrap_or_default().chars().take(LONGEST_MESSAGE).collect()
    }
}

impl TryFrom<IntentShape> for Intent {
    type Error = ProviderError;

    fn try_from(shape: IntentShape) -> Result<Self, ProviderError> {
        let id = intent_id(&shape.id).ok_or_else(|| strange(format!("an id {:?}", shape.id)))?;
        let currency = shape.currency.to_ascii_uppercase();
        let scale = stripe_scale(&currency);
        let status = status(&shape.status)?;
        // What succeeded has taken what it asked for, unless it says otherwise.
        let unsaid = if status == IntentStatus::Succeeded { shape.amount } else { 0 };
        let received = shape.amount_received.unwrap_or(unsaid);
        if !shape.amount.is_multiple_of(scale) || !received.is_multiple_of(scale) {
            return Err(strange(format!("{} of {currency}", shape.amount)));
        }
        Ok(Self {
            id,
            status,
            received: received / scale,
            amount: shape.amount / scale,
            currency,
            client_secret: shape.client_secret.map(|Secret(text)| SecretText::new(text)),
            decline: shape.last_payment_error.map(ErrorShape::into_decline),
        })
    }
}

impl ErrorShape {
    /// What an intent remembers is always the reason of a try that failed.
    fn into_decline(self) -> Decline {
        self.decline().unwrap_or_else(|| Decline {
            code: self.code.clone().unwrap_or_else(|| self.kind.clone()),
            message: self.message(),
        })
    }
}

/// Letters, digits and underscores only: it becomes part of an address.
fn intent_id(text: &str) -> Option<IntentId> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    IntentId::new(text).ok().filter(|id| id.as_str().bytes().all(plain))
}

fn status(text: &str) -> Result<IntentStatus, ProviderError> {
    Ok(match text {
        "requires_payment_method" => IntentStatus::RequiresMethod,
        "requires_confirmation" => IntentStatus::RequiresConfirmation,
        "requires_action" => IntentStatus::RequiresAction,
        "processing" => IntentStatus::Processing,
        "requires_capture" => IntentStatus::Authorized,
        "succeeded" => IntentStatus::Succeeded,
        "canceled" => IntentStatus::Canceled,
        other => return Err(strange(format!("a status {other:?}"))),
    })
}

impl TryFrom<RefundShape> for Refund {
    type Error = ProviderError;

    fn try_from(shape: RefundShape) -> Result<Self, ProviderError> {
        let status = match shape.status.as_deref() {
            Some("succeeded") => RefundStatus::Succeeded,
            Some("pending" | "requires_action") | None => RefundStatus::Pending,
            Some("failed" | "canceled") => RefundStatus::Failed,
            Some(other) => return Err(strange(format!("a refund's status {other:?}"))),
        };
        Ok(Self { id: shape.id, status, amount: shape.amount })
    }
}

/// An answer that makes no sense says nothing about what was done.
fn strange(what: String) -> ProviderError {
    ProviderError::unknown(format!("the provider answered with {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(json: &str) -> u64 {
        let shape: IntentShape = serde_json::from_str(json).unwrap();
        Intent::try_from(shape).unwrap().received
    }

    #[test]
    fn what_succeeded_has_taken_what_it_asked_for_unless_it_says_otherwise() {
        let intent =
            |rest: &str| received(&format!(r#"{{"id":"pi_1","amount":4500,"currency":"eur",{rest}}}"#));
        assert_eq!(intent(r#""status":"succeeded""#), 4500);
        assert_eq!(intent(r#""status":"succeeded","amount_received":null"#), 4500);
        assert_eq!(intent(r#""status":"succeeded","amount_received":4499"#), 4499);
        assert_eq!(intent(r#""status":"processing""#), 0);
    }
}
