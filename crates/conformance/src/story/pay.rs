//! What stories say about payments.
//!
//! ```text
//! pay h1 pin=120s grace=60s       begins one; the booking goes by the name of its hold
//! said h1 succeeded               what the provider says: action, processing, authorized, succeeded, declined,
//!                                 canceled, doubtful; amount=, currency= and intent= where they are not as expected
//! refund h1 succeeded             the same of a refund: succeeded, pending, abandoned
//! defer h1 30s                    looked, learned nothing
//! resolve h1 retry                an operator: retry, refunded, paid
//! ```

use holdfast_domain::{
    BookingId, Command, Currency, HoldId, IntentId, Moment, Money, PayTerms, PaymentMethod, PaymentOutcome,
    Reason, RefundOutcome, Resolution,
};

use super::{Fault, offers::span_ms, parse::Step};

/// When somebody looks again, unless a story says otherwise.
const LOOK_S: u32 = 30;

pub(super) fn begin(step: &Step, booking: BookingId, hold: HoldId) -> Result<Command, Fault> {
    let terms =
        PayTerms { pin_s: seconds(step, "pin", 120)?, grace_s: seconds(step, "grace", 0)?, look_s: LOOK_S };
    let method = step.option("method").map(PaymentMethod::new).transpose();
    let method = method.map_err(|fault| Fault::at(step, fault.to_string()))?;
    Ok(Command::BeginPayment { booking, hold, method, terms })
}

pub(super) fn seconds(step: &Step, name: &str, otherwise: u32) -> Result<u32, Fault> {
    let Some(span) = step.option(name) else { return Ok(otherwise) };
    let ms = span_ms(span).ok_or_else(|| Fault::at(step, "not a span of time"))?;
    u32::try_from(ms / 1000).map_err(|_| Fault::at(step, "too long"))
}

pub(super) fn report(step: &Step, booking: BookingId, now: Moment) -> Result<Command, Fault> {
    let said = step.word(1, "what is said")?;
    let no_such = || Fault::at(step, format!("nobody says {said} there"));
    let due_at = now.plus_s(LOOK_S);
    Ok(match step.verb.as_str() {
        "said" => {
            let outcome = outcome(step, said)?.ok_or_else(no_such)?;
            Command::SettlePayment { booking, intent: Some(intent(step, booking)?), outcome, due_at }
        }
        "refund" => Command::NoteRefund { booking, outcome: refund(said).ok_or_else(no_such)?, due_at },
        "defer" => {
            let ms = span_ms(said).ok_or_else(|| Fault::at(step, "not a span of time"))?;
            Command::DeferPayment { booking, due_at: now.plus_ms(ms) }
        }
        _ => Command::ResolvePayment { booking, how: resolution(said).ok_or_else(no_such)? },
    })
}

fn intent(step: &Step, booking: BookingId) -> Result<IntentId, Fault> {
    let usual = format!("pi_{booking}");
    IntentId::new(step.option("intent").unwrap_or(&usual)).map_err(|fault| Fault::at(step, fault.to_string()))
}

fn outcome(step: &Step, said: &str) -> Result<Option<PaymentOutcome>, Fault> {
    Ok(Some(match said {
        "action" => PaymentOutcome::RequiresAction,
        "processing" => PaymentOutcome::Processing,
        "authorized" => PaymentOutcome::Authorized,
        "succeeded" => {
            let wrong = |fault: holdfast_domain::Invalid| Fault::at(step, fault.to_string());
            let minor = step.option("amount").map_or(Ok(1000), str::parse);
            let minor = minor.map_err(|_| Fault::at(step, "not an amount"))?;
            let currency = Currency::new(step.option("currency").unwrap_or("EUR")).map_err(wrong)?;
            PaymentOutcome::Succeeded { amount: Money::new(minor).map_err(wrong)?, currency }
        }
        "declined" => PaymentOutcome::Declined { reason: Reason::new("insufficient_funds") },
        "canceled" => PaymentOutcome::Canceled,
        "doubtful" => PaymentOutcome::Doubtful { why: Reason::new("not what was asked for") },
        _ => return Ok(None),
    }))
}

fn refund(said: &str) -> Option<RefundOutcome> {
    match said {
        "succeeded" => Some(RefundOutcome::Succeeded),
        "pending" => Some(RefundOutcome::Pending),
        "abandoned" => Some(RefundOutcome::Abandoned { why: Reason::new("the card is closed") }),
        _ => None,
    }
}

fn resolution(said: &str) -> Option<Resolution> {
    match said {
        "retry" => Some(Resolution::Retry),
        "refunded" => Some(Resolution::Refunded),
        "paid" => Some(Resolution::Paid),
        _ => None,
    }
}
