//! How an outcome is worded. The ledger is given [`render`] when it is made, so the answer it keeps under an
//! idempotency key and the answer that is sent are the same bytes, and commit with the effect they describe.

use bytes::Bytes;
use holdfast_engine::ledger::{Answer, Outcome};
use serde_json::json;

use super::{booking::Booking, hold::Hold, json, offer::Offer};

/// Pure: the same outcome is always the same bytes.
pub fn render(outcome: &Outcome) -> Answer {
    let answer = |status, body| Answer { status, body };
    match outcome {
        Outcome::OfferCreated(view) => answer(201, json(&Offer::of(view))),
        Outcome::OfferAmended(view) | Outcome::Blocked(view) | Outcome::Unblocked(view) => {
            answer(200, json(&Offer::of(view)))
        }
        Outcome::Held { hold, again } => answer(if *again { 200 } else { 201 }, json(&Hold::of(hold))),
        Outcome::Extended(view) | Outcome::Left(view) | Outcome::Returned(view) => {
            answer(200, json(&Hold::of(view)))
        }
        Outcome::Released(_) => answer(204, Bytes::new()),
        Outcome::Confirmed(view) | Outcome::PaymentBegun(view) => answer(201, json(&Booking::of(view))),
        Outcome::Cancelled(view) | Outcome::Payment { booking: view, .. } => {
            answer(200, json(&Booking::of(view)))
        }
        Outcome::Tidied { expired } => answer(200, json(&json!({ "expired": expired }))),
    }
}
