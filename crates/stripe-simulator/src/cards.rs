//! The test cards: a payment method's name decides what becomes of a payment with it.

use std::time::Duration;

use serde_json::{Value, json};

/// A payment method that the simulator knows.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    pub name: &'static str,
    /// What it does, in words for a person.
    pub does: &'static str,
    pub(crate) charge: Charge,
    pub(crate) refund: RefundWay,
}

/// What becomes of confirming a payment with the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charge {
    Succeeds,
    Declined {
        code: &'static str,
        decline_code: &'static str,
    },
    /// The bank wants to see the cardholder first.
    NeedsAction,
    /// `processing`, and a while later the outcome.
    Later {
        after: Duration,
        succeeds: bool,
    },
    /// Succeeds, but the answer takes a while.
    Slow(Duration),
    /// Succeeds, and the answer never comes.
    HangsAfterCommit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefundWay {
    Succeeds,
    /// `pending`, and a while later `succeeded`.
    Pending(Duration),
    /// `succeeded`, and a while later `failed` after all.
    FailsLater(Duration),
    /// `failed` at once.
    Fails,
}

/// How long a slow card's answer takes.
pub(crate) const SLOW: Duration = Duration::from_secs(3);
/// How long what happens later takes to happen.
pub(crate) const LATER: Duration = Duration::from_secs(10);

const fn card(name: &'static str, does: &'static str, charge: Charge) -> Card {
    Card { name, does, charge, refund: RefundWay::Succeeds }
}

const fn refund(name: &'static str, does: &'static str, refund: RefundWay) -> Card {
    Card { name, does, charge: Charge::Succeeds, refund }
}

const fn declined(name: &'static str, code: &'static str, decline_code: &'static str) -> Card {
    card(name, "declined", Charge::Declined { code, decline_code })
}

/// Every card. The names of Stripe's own test cards mean here what they mean there; `pm_simulator_…` are ours.
pub const CARDS: &[Card] = &[
    card("pm_card_visa", "succeeds", Charge::Succeeds),
    card("pm_card_mastercard", "succeeds", Charge::Succeeds),
    declined("pm_card_visa_chargeDeclined", "card_declined", "generic_decline"),
    declined("pm_card_chargeDeclined", "card_declined", "generic_decline"),
    declined("pm_card_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
    declined("pm_card_visa_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
    declined("pm_card_visa_chargeDeclinedLostCard", "card_declined", "lost_card"),
    declined("pm_card_chargeDeclinedExpiredCard", "expired_card", "expired_card"),
    declined("pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc"),
    declined("pm_card_chargeDeclinedProcessingError", "processing_error", "processing_error"),
    card("pm_card_authenticationRequired", "needs 3-D Secure", Charge::NeedsAction),
    card("pm_card_threeDSecure2Required", "needs 3-D Secure", Charge::NeedsAction),
    refund(
        "pm_card_pendingRefund",
        "succeeds; a refund is pending for 10 s, then succeeds",
        RefundWay::Pending(LATER),
    ),
    refund(
        "pm_card_refundFail",
        "succeeds; a refund succeeds, and 10 s later has failed",
        RefundWay::FailsLater(LATER),
    ),
    refund("pm_simulator_refund_failure", "succeeds; every refund fails at once", RefundWay::Fails),
    card("pm_simulator_slow", "succeeds, with the answer after 3 s", Charge::Slow(SLOW)),
    card(
        "pm_simulator_hang_after_commit",
        "succeeds, and the first answer never comes",
        Charge::HangsAfterCommit,
    ),
    card(
        "pm_simulator_late_success",
        "is processing for 10 s, then succeeds",
        Charge::Later { after: LATER, succeeds: true },
    ),
    card(
        "pm_simulator_late_decline",
        "is processing for 10 s, then is declined",
        Charge::Later { after: LATER, succeeds: false },
    ),
];

impl Card {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        CARDS.iter().find(|card| card.name == name)
    }
}

/// `last_payment_error` of a declined payment.
pub(crate) fn decline(code: &str, decline_code: &str, payment_method: &str) -> Value {
    let message = match decline_code {
        "insufficient_funds" => "The card has insufficient funds.",
        "expired_card" => "The card has expired.",
        "incorrect_cvc" => "The card's security code is incorrect.",
        "processing_error" => "The card could not be processed; try again in a little while.",
        "authentication_failed" => "The cardholder could not be authenticated.",
        _ => "The card was declined.",
    };
    let mut error = json!({
        "type": "card_error", "code": code, "message": message,
        "payment_method": {"id": payment_method, "object": "payment_method", "type": "card"},
    });
    // Only what the card's bank said has a reason of the bank's.
    if code == "card_declined" || code == decline_code {
        error["decline_code"] = decline_code.into();
    }
    error
}
