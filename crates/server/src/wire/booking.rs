//! Bookings on the wire.

use std::borrow::Cow;

use holdfast_domain::{BookingState as DomainState, HoldId, Moment};
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
    /// `none`: paid elsewhere, or free.
    #[serde(borrow)]
    #[schema(value_type = Provider)]
    provider: Cow<'a, str>,
    /// Known, so that who asks for a provider that is not there hears just that.
    #[serde(default)]
    #[schema(ignore)]
    payment_method: Option<String>,
}

/// A payment provider that this server has.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum Provider {
    None,
}

impl ConfirmHold<'_> {
    pub(crate) fn hold(&self) -> Result<HoldId, Problem> {
        match &self.payment {
            Some(payment) if payment.provider != "none" => Err(Problem::invalid(
                "payment.provider: is not configured on this server; \"none\" is the one there is",
            )),
            Some(PaymentChoice { payment_method: Some(_), .. }) => Err(Problem::invalid(
                "payment.payment_method: belongs to a payment provider, not to \"none\"",
            )),
            _ => self.hold.parse().map_err(|_| Problem::unknown_hold()),
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
    #[schema(value_type = Option<String>)]
    client_secret: (),
    /// Why it failed, was given back, or needs a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> Payment<'a> {
    fn of(payment: Option<&'a holdfast_domain::Payment>) -> Self {
        Self {
            provider: payment.map_or("none", |payment| payment.provider.as_str()),
            state: payment.map_or("none", |payment| payment.state.as_str()),
            intent: payment.and_then(|payment| payment.intent.as_ref()).map(|intent| intent.as_str()),
            client_secret: (),
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
