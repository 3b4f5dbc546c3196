//! What a call is answered with: an object, or an error in Stripe's shape.

use hyper::StatusCode;
use serde_json::{Value, json};

/// An answer before it becomes HTTP.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub body: Value,
    /// Whether an idempotency key keeps it. Stripe keeps what came of work that had begun, failures included, and
    /// nothing of a request that was turned away before.
    pub kept: bool,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body, kept: true }
    }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        Self { status: refused.status, body: json!({"error": refused.error}), kept: refused.kept }
    }
}

/// Why a call did not do what it asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refused {
    pub status: StatusCode,
    pub error: Value,
    kept: bool,
}

impl Refused {
    fn new(status: StatusCode, kind: &str, message: impl Into<String>) -> Self {
        Self { status, error: json!({"type": kind, "message": message.into()}), kept: false }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.error[name] = value.into();
        self
    }

    pub(crate) fn coded(self, code: &str) -> Self {
        self.with("code", code)
    }

    fn after_work_began(mut self) -> Self {
        self.kept = true;
        self
    }

    pub(crate) fn unauthenticated() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", "Invalid API Key provided")
    }

    pub(crate) fn invalid(param: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message).with("param", param)
    }

    pub(crate) fn missing(param: &str) -> Self {
        Self::invalid(param, format!("Missing required param: {param}.")).with("code", "parameter_missing")
    }

    pub(crate) fn invalid_integer(param: &str, value: &str) -> Self {
        Self::invalid(param, format!("Invalid positive integer: {value}"))
            .with("code", "parameter_invalid_integer")
    }

    pub(crate) fn unknown_parameter(param: &str) -> Self {
        Self::invalid(param, format!("Received unknown parameter: {param}")).with("code", "parameter_unknown")
    }

    pub(crate) fn no_such(what: &str, param: &str, id: &str) -> Self {
        let mut refused =
            Self::invalid(param, format!("No such {what}: '{id}'")).with("code", "resource_missing");
        // Named in the address it is missing; named in a parameter, the parameter is wrong.
        if param == "intent" || param == "id" {
            refused.status = StatusCode::NOT_FOUND;
        }
        refused
    }

    pub(crate) fn no_such_route(method: &str, path: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "invalid_request_error",
            format!("Unrecognized request URL ({method}: {path})."),
        )
    }

    /// The object is in no state for this.
    pub(crate) fn unexpected_state(message: impl Into<String>, intent: Value) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
            .with("code", "payment_intent_unexpected_state")
            .with("payment_intent", intent)
            .after_work_began()
    }

    pub(crate) fn already_refunded(charge: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            format!("Charge {charge} has already been refunded."),
        )
        .with("code", "charge_already_refunded")
        .after_work_began()
    }

    pub(crate) fn card(decline: &Value, charge: &str, intent: Value) -> Self {
        let mut refused = Self::new(StatusCode::PAYMENT_REQUIRED, "card_error", "");
        for (name, value) in decline.as_object().into_iter().flatten() {
            refused.error[name] = value.clone();
        }
        refused.with("charge", charge).with("payment_intent", intent).after_work_began()
    }

    pub(crate) fn key_reused(key: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "idempotency_error",
            format!(
                "The idempotency key {key} was used before with other parameters; use another key for another request."
            ),
        )
    }

    pub(crate) fn key_in_use(key: &str) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "idempotency_error",
            format!("Another request with the idempotency key {key} is still under way."),
        )
        .with("code", "idempotency_key_in_use")
    }

    pub(crate) fn too_many() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "invalid_request_error", "Too many requests")
            .with("code", "rate_limit")
    }

    /// A fault of the provider's own; `kept` when it struck after work began.
    pub(crate) fn broken(kept: bool) -> Self {
        let refused = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "api_error",
            "An unknown error occurred (simulated)",
        );
        if kept { refused.after_work_began() } else { refused }
    }
}
