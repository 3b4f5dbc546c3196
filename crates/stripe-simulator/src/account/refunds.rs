//! Refunds: giving back what was captured, never more than that.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Account, Due, fresh};
use crate::{
    answer::Refused,
    cards::{Card, RefundWay},
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refund {
    pub id: String,
    pub intent: String,
    pub charge: String,
    pub amount: u64,
    pub status: &'static str,
    currency: String,
    reason: Option<String>,
    metadata: BTreeMap<String, String>,
    created_s: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct NewRefund {
    pub intent: String,
    /// Everything that is left, unless said.
    pub amount: Option<u64>,
    pub reason: Option<String>,
    pub metadata: BTreeMap<String, String>,
}

impl Refund {
    pub(crate) fn json(&self) -> Value {
        let failure = (self.status == "failed").then_some("expired_or_canceled_card");
        json!({
            "id": self.id, "object": "refund", "amount": self.amount, "charge": self.charge,
            "created": self.created_s, "currency": self.currency, "failure_reason": failure,
            "metadata": self.metadata, "payment_intent": self.intent, "reason": self.reason,
            "status": self.status,
        })
    }
}

impl Account {
    pub(crate) fn refund(&self, id: &str) -> Result<&Refund, Refused> {
        self.refunds.get(id).ok_or_else(|| Refused::no_such("refund", "id", id))
    }

    /// Of one intent, or of all; newest first.
    pub(crate) fn refunds(&self, of: Option<&str>) -> impl Iterator<Item = &Refund> {
        let intents = self.intents().rev().filter(move |intent| of.is_none_or(|id| intent.id == id));
        intents.flat_map(|intent| intent.refunds.iter().rev()).map(|id| &self.refunds[id])
    }

    pub(crate) fn create_refund(&mut self, new: NewRefund, now_ms: i64) -> Result<String, Refused> {
        let intent = self.intents.get(&new.intent);
        let intent =
            intent.ok_or_else(|| Refused::no_such("payment_intent", "payment_intent", &new.intent))?;
        let mut charges = intent.charges.iter().map(|id| &self.charges[id]);
        let charge = charges.find(|charge| charge.captured > 0);
        let Some(charge) = charge else {
            let message = format!("The PaymentIntent {} has no successful charge to refund.", intent.id);
            return Err(Refused::unexpected_state(message, intent.json()));
        };
        let left = charge.captured - charge.refunded;
        if left == 0 {
            return Err(Refused::already_refunded(&charge.id));
        }
        let amount = new.amount.unwrap_or(left);
        if amount > left {
            return Err(Refused::invalid("amount", format!("Only {left} of this charge is left to refund.")));
        }
        let way = Card::named(&charge.payment_method).map_or(RefundWay::Succeeds, |card| card.refund);
        let status = match way {
            RefundWay::Succeeds | RefundWay::FailsLater(_) => "succeeded",
            RefundWay::Pending(_) => "pending",
            RefundWay::Fails => "failed",
        };
        let refund = Refund {
            id: fresh("re", 24),
            intent: new.intent,
            charge: charge.id.clone(),
            amount,
            status,
            currency: charge.currency.clone(),
            reason: new.reason,
            metadata: new.metadata,
            created_s: now_ms / 1000,
        };
        Ok(self.add_refund(refund, way, now_ms))
    }

    fn add_refund(&mut self, refund: Refund, way: RefundWay, now_ms: i64) -> String {
        let (id, intent) = (refund.id.clone(), refund.intent.clone());
        let (charge, amount) = (refund.charge.clone(), refund.amount);
        let failed = refund.status == "failed";
        self.emit("refund.created", refund.json(), now_ms);
        if failed {
            self.emit("refund.failed", refund.json(), now_ms);
        } else {
            self.charges.get_mut(&charge).expect("charges are kept").refunded += amount;
            let object = self.charges[&charge].json();
            self.emit("charge.refunded", object, now_ms);
        }
        self.refunds.insert(id.clone(), refund);
        self.intents.get_mut(&intent).expect("it was found just now").refunds.push(id.clone());
        let (after, succeeds) = match way {
            RefundWay::Succeeds | RefundWay::Fails => return id,
            RefundWay::Pending(after) => (after, true),
            RefundWay::FailsLater(after) => (after, false),
        };
        self.later(now_ms + after.as_millis() as i64, Due::RefundSettles { refund: id.clone(), succeeds });
        id
    }

    pub(super) fn settle_refund(&mut self, id: &str, succeeds: bool, now_ms: i64) {
        let Some(refund) = self.refunds.get_mut(id) else { return };
        refund.status = if succeeds { "succeeded" } else { "failed" };
        let (charge, amount, object) = (refund.charge.clone(), refund.amount, refund.json());
        if !succeeds {
            // The money came back from the bank to the merchant.
            self.charges.get_mut(&charge).expect("charges are kept").refunded -= amount;
            self.emit("refund.failed", object.clone(), now_ms);
        }
        self.emit("refund.updated", object, now_ms);
    }
}
