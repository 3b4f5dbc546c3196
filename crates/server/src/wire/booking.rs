//! Bookings on the wire.

use std::borrow::Cow;

use holdfast_domain::{BookingState as DomainState, HoldId, Moment, PaymentMethod, Resolution};
use holdfast_engine::ledger::BookingView;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Shown, hold::Line, schema};
use crate::problem::Problem;

/// A hold to make permanent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmHold<'a> {
    #[serde(borrow)]
    #[schema(value_type = schema::HoldId)]
    hold: Cow<'a, str>,
    /// How it is paid; left out, it is not paid here.
    #[serde(default, borrow)]
    payment: Option<PaymentChoice<'a>>,
}

/// How a booking is paid.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaymentChoice<'a> {
    /// `none`: paid elsewhere, which only an API key may say where cards are taken, or free. `stripe`: by card, where this
    /// server has a Stripe account.
    #[serde(borrow)]
    #[schema(value_type = Provider)]
    provider: Cow<'a, str>,
    /// Stripe's name for what to charge, such as `pm_…`: the server charges it and answers with the outcome. Left out,
    /// the buyer's browser pays with the answer's `client_secret`.
    #[serde(default, borrow)]
    #[schema(pattern = "^[!-~]{1,255}$")]
    payment_method: Option<Cow<'a, str>>,
}

/// How a hold is to be paid.
#[derive(Debug)]
pub(crate) enum Paying {
    Elsewhere,
    WithStripe { method: Option<PaymentMethod> },
}

/// An operator's word on a payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolvePayment {
    how: How,
}

/// What an operator says of a payment: look again now, the money was given back (or never taken), or the price was paid.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum How {
    Retry,
    Refunded,
    Paid,
}

impl ResolvePayment {
    pub(crate) const fn resolution(&self) -> Resolution {
        match self.how {
            How::Retry => Resolution::Retry,
            How::Refunded => Resolution::Refunded,
            How::Paid => Resolution::Paid,
        }
    }
}

/// A payment provider that this server has.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum Provider {
    None,
    Stripe,
}

impl ConfirmHold<'_> {
    pub(crate) fn hold(&self) -> Result<HoldId, Problem> {
        self.hold.parse().map_err(|_| Problem::unknown_hold())
    }

    pub(crate) fn paying(&self) -> Result<Paying, Problem> {
        let Some(PaymentChoice { provider, payment_method }) = &self.payment else {
            return Ok(Paying::Elsewhere);
        };
        match (provider.as_ref(), payment_method) {
            ("none", None) => Ok(Paying::Elsewhere),
            ("none", Some(_)) => Err(Problem::invalid(
                "payment.payment_method: belongs to a payment provider, not to \"none\"",
            )),
            ("stripe", method) => {
                let method = method.as_deref().map(PaymentMethod::new).transpose()?;
                Ok(Paying::WithStripe { method })
            }
            _ => Err(Problem::invalid("payment.provider: must be \"none\" or \"stripe\"")),
        }
    }
}

/// A hold made permanent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Booking<'a> {
    #[schema(value_type = schema::BookingId)]
    id: Shown<holdfast_domain::BookingId>,
    #[schema(value_type = schema::HoldId)]
    hold: Shown<HoldId>,
    #[schema(value_type = schema::Holder)]
    holder: &'a str,
    #[schema(value_type = BookingState)]
    state: &'static str,
    lines: Vec<Line<'a>>,
    #[schema(value_type = schema::Money)]
    amount: u64,
    #[schema(value_type = schema::Currency)]
    currency: &'a str,
    payment: Payment<'a>,
    #[schema(value_type = schema::Time)]
    created_at: Shown<Moment>,
    #[schema(value_type = Option<schema::Time>)]
    cancelled_at: Option<Shown<Moment>>,
    #[schema(value_type = Option<schema::Time>)]
    failed_at: Option<Shown<Moment>>,
    #[schema(value_type = schema::Version)]
    version: Shown<holdfast_domain::Version>,
}

/// Where a booking stands.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum BookingState {
    Pending,
    Confirmed,
    Cancelled,
    Failed,
}

/// What is known of the payment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Payment<'a> {
    #[schema(value_type = Provider)]
    provider: &'static str,
    #[schema(value_type = PaymentState)]
    state: &'static str,
    /// The provider's name for the payment.
    intent: Option<&'a str>,
    /// For the buyer's browser: only in the answer that began the payment.
    client_secret: Option<&'a str>,
    /// Why it failed, was given back, or needs a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<&'a str>,
}

impl<'a> Payment<'a> {
    fn of(payment: Option<&'a holdfast_domain::Payment>) -> Self {
        Self {
            provider: payment.map_or("none", |payment| payment.provider.as_str()),
            state: payment.map_or("none", |payment| payment.state.as_str()),
            intent: payment.and_then(|payment| payment.intent.as_ref()).map(|intent| intent.as_str()),
            client_secret: None,
            reason: payment.and_then(|payment| payment.why.as_ref()).map(|why| why.as_str()),
        }
    }
}

/// Where a payment stands.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum PaymentState {
    None,
    RequiresPayment,
    Processing,
    Authorized,
    Succeeded,
    Refunding,
    Refunded,
    Failed,
    Manual,
}

impl<'a> Booking<'a> {
    /// With what lets the buyer's browser pay: in the answer to whoever began the payment, and nowhere else.
    #[must_use]
    pub(crate) fn with_secret(mut self, secret: Option<&'a str>) -> Self {
        self.payment.client_secret = secret;
        self
    }

    pub(crate) fn of(view: &'a BookingView) -> Self {
        let booking = &view.booking;
        let (cancelled_at, failed_at) = match booking.state {
            DomainState::Pending | DomainState::Confirmed => (None, None),
            DomainState::Cancelled { at } => (Some(Shown(at)), None),
            DomainState::Failed { at } => (None, Some(Shown(at))),
        };
        Self {
            id: Shown(booking.id),
            hold: Shown(booking.hold),
            holder: booking.holder.as_str(),
            state: booking.state.as_str(),
            lines: booking.lines.iter().map(|line| Line::of(line, view.offer_of(line))).collect(),
            amount: booking.amount.minor(),
            currency: booking.currency.code(),
            payment: Payment::of(booking.payment.as_deref()),
            created_at: Shown(booking.created_at),
            cancelled_at,
            failed_at,
            version: Shown(booking.version),
        }
    }
}
