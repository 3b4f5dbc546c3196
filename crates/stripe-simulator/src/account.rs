//! The merchant's account: intents, charges, refunds and the events they caused. Holds the money; knows neither
//! HTTP nor faults. Time is an argument.
//!
//! ```text
//! requires_payment_method ─► requires_confirmation ─► requires_action ─► processing ─► succeeded
//!        ▲      a decline leads back to the start           │                │      └► requires_capture ─► succeeded
//!        └──────────────────────────────────────────────────┴────────────────┘
//! everything before `processing`, and `requires_capture` ─► canceled
//! ```

mod intents;
mod refunds;

use std::collections::{BTreeMap, HashMap, VecDeque};

pub(crate) use intents::{Confirming, Intent, NewIntent};
pub(crate) use refunds::{NewRefund, Refund};
use serde_json::{Value, json};

use crate::{answer::Refused, events};

/// What a card was charged and given back, in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Money {
    pub captured: u64,
    pub refunded: u64,
    /// How many times money was taken.
    pub captures: usize,
    pub intents: usize,
}

impl Money {
    /// What the merchant has kept.
    pub fn kept(&self) -> i64 {
        self.captured as i64 - self.refunded as i64
    }
}

/// A demo may run for weeks: the oldest are forgotten beyond this many.
const MOST_INTENTS: usize = 100_000;
const MOST_EVENTS: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Account {
    intents: HashMap<String, Intent>,
    /// In the order they were made.
    intent_order: VecDeque<String>,
    charges: HashMap<String, Charge>,
    refunds: HashMap<String, Refund>,
    events: VecDeque<Value>,
    /// Events that no webhook was made of yet.
    unsent: Vec<Value>,
    /// What will happen by itself, by when.
    due: BTreeMap<(i64, u64), Due>,
    numbered: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Charge {
    pub id: String,
    pub intent: String,
    pub amount: u64,
    pub captured: u64,
    /// Refunds that were not refused, those still pending included.
    pub refunded: u64,
    pub paid: bool,
    pub failure: Option<Value>,
    pub payment_method: String,
    pub currency: String,
    /// The intent's, as they were then.
    pub metadata: BTreeMap<String, String>,
    pub created_s: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Due {
    ChargeSettles { intent: String, succeeds: bool },
    RefundSettles { refund: String, succeeds: bool },
}

impl Account {
    pub(crate) fn money(&self, of: impl Fn(&Intent) -> bool) -> Money {
        let mut money = Money::default();
        for intent in self.intents.values().filter(|intent| of(intent)) {
            money.intents += 1;
            for charge in intent.charges.iter().map(|id| &self.charges[id]) {
                money.captured += charge.captured;
                money.captures += usize::from(charge.captured > 0);
            }
            let refunds = intent.refunds.iter().map(|id| &self.refunds[id]);
            let done = refunds.filter(|refund| refund.status == "succeeded");
            money.refunded += done.map(|refund| refund.amount).sum::<u64>();
        }
        money
    }

    pub(crate) fn intents(&self) -> impl DoubleEndedIterator<Item = &Intent> {
        self.intent_order.iter().map(|id| &self.intents[id])
    }

    pub(crate) fn intent(&self, id: &str) -> Result<&Intent, Refused> {
        self.intents.get(id).ok_or_else(|| Refused::no_such("payment_intent", "intent", id))
    }

    pub(crate) fn charge(&self, id: &str) -> Result<&Charge, Refused> {
        self.charges.get(id).ok_or_else(|| Refused::no_such("charge", "id", id))
    }

    pub(crate) fn event(&self, id: &str) -> Result<&Value, Refused> {
        let found = self.events.iter().find(|event| event["id"] == id);
        found.ok_or_else(|| Refused::no_such("event", "id", id))
    }

    /// Newest first.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Value> {
        self.events.iter().rev()
    }

    pub(crate) fn take_unsent(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.unsent)
    }

    /// When something next happens by itself.
    pub(crate) fn next_due_ms(&self) -> Option<i64> {
        self.due.keys().next().map(|&(at_ms, _)| at_ms)
    }

    /// Lets happen what is due by now.
    pub(crate) fn catch_up(&mut self, now_ms: i64) {
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now_ms) {
            let (at_ms, _) = *entry.key();
            match entry.remove() {
                Due::ChargeSettles { intent, succeeds } => self.settle_late(&intent, succeeds, at_ms),
                Due::RefundSettles { refund, succeeds } => self.settle_refund(&refund, succeeds, at_ms),
            }
        }
    }

    fn later(&mut self, at_ms: i64, due: Due) {
        self.numbered += 1;
        self.due.insert((at_ms, self.numbered), due);
    }

    fn emit(&mut self, kind: &str, object: Value, now_ms: i64) {
        let event = events::event(kind, object, now_ms / 1000);
        self.events.push_back(event.clone());
        self.unsent.push(event);
        if self.events.len() > MOST_EVENTS {
            self.events.pop_front();
        }
    }

    fn add_intent(&mut self, intent: Intent) {
        self.intent_order.push_back(intent.id.clone());
        self.intents.insert(intent.id.clone(), intent);
        if self.intents.len() > MOST_INTENTS {
            let oldest = self.intent_order.pop_front().and_then(|id| self.intents.remove(&id));
            if let Some(forgotten) = oldest {
                forgotten.charges.iter().for_each(|id| drop(self.charges.remove(id)));
                forgotten.refunds.iter().for_each(|id| drop(self.refunds.remove(id)));
            }
        }
    }

    fn emit_intent(&mut self, kind: &str, id: &str, now_ms: i64) {
        let object = self.intents[id].json();
        self.emit(kind, object, now_ms);
    }
}

impl Charge {
    pub(crate) fn json(&self) -> Value {
        let code = |name: &str| self.failure.as_ref().map_or(Value::Null, |failure| failure[name].clone());
        json!({
            "id": self.id, "object": "charge", "amount": self.amount, "amount_captured": self.captured,
            "amount_refunded": self.refunded, "captured": self.captured > 0, "created": self.created_s,
            "currency": self.currency, "failure_code": code("code"), "failure_message": code("message"),
            "livemode": false, "metadata": self.metadata, "paid": self.paid, "payment_intent": self.intent,
            "payment_method": self.payment_method,
            "payment_method_details": {"type": "card", "card": {"brand": "visa", "last4": "4242"}},
            "refunded": self.paid && self.refunded == self.amount,
            "status": if self.paid { "succeeded" } else { "failed" },
        })
    }
}

/// A fresh id of a kind: `pi_…`.
pub(crate) fn fresh(kind: &str, length: usize) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    let letters = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
    format!("{kind}_{}", letters.collect::<String>())
}
