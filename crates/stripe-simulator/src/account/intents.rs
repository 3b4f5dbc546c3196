//! PaymentIntents: one intention to be paid, which takes money at most once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Account, Charge, Due, fresh};
use crate::{
    answer::Refused,
    cards::{self, Card},
};

/// As in Stripe, amounts below half a euro or dollar are not worth a card's fee.
const LEAST_AMOUNT: u64 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    RequiresPaymentMethod,
    RequiresConfirmation,
    RequiresAction,
    Processing,
    RequiresCapture,
    Canceled,
    Succeeded,
}

impl Status {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresConfirmation => "requires_confirmation",
            Self::RequiresAction => "requires_action",
            Self::Processing => "processing",
            Self::RequiresCapture => "requires_capture",
            Self::Canceled => "canceled",
            Self::Succeeded => "succeeded",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Intent {
    pub id: String,
    pub client_secret: String,
    pub status: Status,
    pub metadata: BTreeMap<String, String>,
    pub payment_method: Option<String>,
    amount: u64,
    received: u64,
    currency: String,
    manual_capture: bool,
    redirects: bool,
    description: Option<String>,
    last_error: Option<Value>,
    /// In the order they were tried.
    pub charges: Vec<String>,
    pub refunds: Vec<String>,
    created_s: i64,
    canceled_at_s: Option<i64>,
    cancellation_reason: Option<String>,
}

/// What a new intent is made of.
#[derive(Debug, Clone)]
pub(crate) struct NewIntent {
    pub amount: u64,
    pub currency: String,
    pub payment_method: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub manual_capture: bool,
    /// Whether payment methods may send the buyer to another page and back.
    pub redirects: bool,
    pub description: Option<String>,
}

/// What confirming asks for beside the intent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Confirming {
    pub payment_method: Option<String>,
    /// Where the buyer comes back to, or a browser that looks after that itself.
    pub returns: bool,
}

impl Intent {
    pub(crate) fn json(&self) -> Value {
        let next_action = (self.status == Status::RequiresAction).then(
            || json!({"type": "use_stripe_sdk", "use_stripe_sdk": {"type": "three_d_secure_redirect"}}),
        );
        json!({
            "id": self.id, "object": "payment_intent", "amount": self.amount,
            "amount_capturable": if self.status == Status::RequiresCapture { self.amount } else { 0 },
            "amount_received": self.received,
            "automatic_payment_methods":
                {"enabled": true, "allow_redirects": if self.redirects { "always" } else { "never" }},
            "canceled_at": self.canceled_at_s, "cancellation_reason": self.cancellation_reason,
            "capture_method": if self.manual_capture { "manual" } else { "automatic" },
            "client_secret": self.client_secret, "confirmation_method": "automatic", "created": self.created_s,
            "currency": self.currency, "customer": null, "description": self.description,
            "last_payment_error": self.last_error, "latest_charge": self.charges.last(), "livemode": false,
            "metadata": self.metadata, "next_action": next_action, "payment_method": self.payment_method,
            "payment_method_types": ["card"], "status": self.status.as_str(),
        })
    }

    fn require(&self, allowed: &[Status], what: &str) -> Result<(), Refused> {
        if allowed.contains(&self.status) {
            return Ok(());
        }
        let message = format!("This PaymentIntent cannot be {what}: its status is {}.", self.status.as_str());
        Err(Refused::unexpected_state(message, self.json()))
    }
}

impl Account {
    pub(crate) fn create_intent(&mut self, new: NewIntent, now_ms: i64) -> Result<String, Refused> {
        if new.amount < LEAST_AMOUNT {
            let message = format!("Amount must be at least {LEAST_AMOUNT} of the smallest unit.");
            return Err(Refused::invalid("amount", message).coded("amount_too_small"));
        }
        new.payment_method.as_deref().map(known_card).transpose()?;
        let id = fresh("pi", 24);
        let status = match new.payment_method {
            Some(_) => Status::RequiresConfirmation,
            None => Status::RequiresPaymentMethod,
        };
        let intent = Intent {
            client_secret: fresh(&format!("{id}_secret"), 25),
            id: id.clone(),
            status,
            metadata: new.metadata,
            payment_method: new.payment_method,
            amount: new.amount,
            received: 0,
            currency: new.currency,
            manual_capture: new.manual_capture,
            redirects: new.redirects,
            description: new.description,
            last_error: None,
            charges: Vec::new(),
            refunds: Vec::new(),
            created_s: now_ms / 1000,
            canceled_at_s: None,
            cancellation_reason: None,
        };
        self.add_intent(intent);
        self.emit_intent("payment_intent.created", &id, now_ms);
        Ok(id)
    }

    /// Tries to take the money. Which card it is decides what becomes of that.
    pub(crate) fn confirm_intent(
        &mut self,
        id: &str,
        confirming: Confirming,
        now_ms: i64,
    ) -> Result<&'static Card, Refused> {
        let intent = self.intent(id)?;
        let card = match confirming.payment_method.as_ref().or(intent.payment_method.as_ref()) {
            Some(name) => known_card(name)?,
            None => return Err(Refused::missing("payment_method")),
        };
        if intent.redirects && !confirming.returns {
            let message = "Payment methods that redirect are allowed: give a return_url, or create the intent \
                           with automatic_payment_methods[allow_redirects]=never.";
            return Err(Refused::invalid("return_url", message));
        }
        intent.require(
            &[Status::RequiresPaymentMethod, Status::RequiresConfirmation, Status::RequiresAction],
            "confirmed",
        )?;
        let intent = self.intents.get_mut(id).expect("it was found just now");
        intent.payment_method = Some(card.name.to_owned());
        intent.last_error = None;
        self.attempt(id, card, now_ms).map(|()| card)
    }

    fn attempt(&mut self, id: &str, card: &Card, now_ms: i64) -> Result<(), Refused> {
        match card.charge {
            cards::Charge::Succeeds | cards::Charge::Slow(_) | cards::Charge::HangsAfterCommit => {
                self.take(id, now_ms);
                Ok(())
            }
            cards::Charge::Declined { code, decline_code } => {
                Err(self.decline(id, code, decline_code, now_ms))
            }
            cards::Charge::NeedsAction => {
                self.turn(id, Status::RequiresAction, "payment_intent.requires_action", now_ms);
                Ok(())
            }
            cards::Charge::Later { after, succeeds } => {
                self.turn(id, Status::Processing, "payment_intent.processing", now_ms);
                let due = Due::ChargeSettles { intent: id.to_owned(), succeeds };
                self.later(now_ms + after.as_millis() as i64, due);
                Ok(())
            }
        }
    }

    /// The cardholder did what the bank asked, or failed to.
    pub(crate) fn authenticate(&mut self, id: &str, succeeds: bool, now_ms: i64) -> Result<(), Refused> {
        self.intent(id)?.require(&[Status::RequiresAction], "authenticated")?;
        if succeeds {
            self.take(id, now_ms);
        } else {
            self.decline(id, "payment_intent_authentication_failure", "authentication_failed", now_ms);
        }
        Ok(())
    }

    pub(crate) fn capture_intent(
        &mut self,
        id: &str,
        amount: Option<u64>,
        now_ms: i64,
    ) -> Result<(), Refused> {
        let intent = self.intent(id)?;
        intent.require(&[Status::RequiresCapture], "captured")?;
        let amount = amount.unwrap_or(intent.amount);
        if amount > intent.amount {
            return Err(Refused::invalid(
                "amount_to_capture",
                "More than was authorized cannot be captured.",
            ));
        }
        let charge = intent.charges.last().cloned().expect("what can be captured was charged");
        self.charges.get_mut(&charge).expect("charges are kept").captured = amount;
        self.intents.get_mut(id).expect("it was found just now").received = amount;
        self.turn(id, Status::Succeeded, "payment_intent.succeeded", now_ms);
        Ok(())
    }

    pub(crate) fn cancel_intent(
        &mut self,
        id: &str,
        reason: Option<String>,
        now_ms: i64,
    ) -> Result<(), Refused> {
        let may = [
            Status::RequiresPaymentMethod,
            Status::RequiresConfirmation,
            Status::RequiresAction,
            Status::RequiresCapture,
        ];
        self.intent(id)?.require(&may, "canceled")?;
        let intent = self.intents.get_mut(id).expect("it was found just now");
        intent.canceled_at_s = Some(now_ms / 1000);
        intent.cancellation_reason = reason;
        self.turn(id, Status::Canceled, "payment_intent.canceled", now_ms);
        Ok(())
    }

    pub(super) fn settle_late(&mut self, id: &str, succeeds: bool, now_ms: i64) {
        // Forgotten, or settled in another way.
        if self.intents.get(id).is_none_or(|intent| intent.status != Status::Processing) {
            return;
        }
        if succeeds {
            self.take(id, now_ms);
        } else {
            self.decline(id, "card_declined", "generic_decline", now_ms);
        }
    }

    /// The bank said yes: the money is taken, or set aside where capture is manual.
    fn take(&mut self, id: &str, now_ms: i64) {
        let captured = !self.intents[id].manual_capture;
        let charge = self.charge_card(id, None, now_ms);
        let intent = self.intents.get_mut(id).expect("callers found it");
        if captured {
            intent.received = intent.amount;
            self.charges.get_mut(&charge).expect("just made").captured = self.intents[id].amount;
        }
        let object = self.charges[&charge].json();
        self.emit("charge.succeeded", object, now_ms);
        match captured {
            true => self.turn(id, Status::Succeeded, "payment_intent.succeeded", now_ms),
            false => {
                self.turn(id, Status::RequiresCapture, "payment_intent.amount_capturable_updated", now_ms)
            }
        }
    }

    fn decline(&mut self, id: &str, code: &str, decline_code: &str, now_ms: i64) -> Refused {
        let method = self.intents[id].payment_method.clone().unwrap_or_default();
        let why = cards::decline(code, decline_code, &method);
        let charge = self.charge_card(id, Some(why.clone()), now_ms);
        let intent = self.intents.get_mut(id).expect("callers found it");
        intent.last_error = Some(why.clone());
        // A card that was declined is taken off the intent.
        intent.payment_method = None;
        let object = self.charges[&charge].json();
        self.emit("charge.failed", object, now_ms);
        self.turn(id, Status::RequiresPaymentMethod, "payment_intent.payment_failed", now_ms);
        Refused::card(&why, &charge, self.intents[id].json())
    }

    fn charge_card(&mut self, id: &str, failure: Option<Value>, now_ms: i64) -> String {
        let intent = self.intents.get_mut(id).expect("callers found it");
        let charge = Charge {
            id: fresh("ch", 24),
            intent: id.to_owned(),
            amount: intent.amount,
            captured: 0,
            refunded: 0,
            paid: failure.is_none(),
            failure,
            payment_method: intent.payment_method.clone().unwrap_or_default(),
            currency: intent.currency.clone(),
            metadata: intent.metadata.clone(),
            created_s: now_ms / 1000,
        };
        intent.charges.push(charge.id.clone());
        let made = charge.id.clone();
        self.charges.insert(made.clone(), charge);
        made
    }

    fn turn(&mut self, id: &str, status: Status, event: &str, now_ms: i64) {
        self.intents.get_mut(id).expect("callers found it").status = status;
        self.emit_intent(event, id, now_ms);
    }
}

fn known_card(name: &str) -> Result<&'static Card, Refused> {
    Card::named(name).ok_or_else(|| Refused::no_such("PaymentMethod", "payment_method", name))
}
