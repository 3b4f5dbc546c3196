//! The payment desk: what the HTTP side needs to take money. It words answers and recognises webhooks; the engine
//! drives payments and the domain decides about them.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use holdfast_domain::PaymentState;
use holdfast_engine::{
    ledger::{Answer, BookingView, LedgerError, Outcome},
    payments::{Answered, Beginning, Payments, Words, provider::SecretText},
    pipeline::SubmitError,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::{
    problem::{Code, Problem},
    wire::{self, booking::Booking},
};

/// Payments and the secrets that webhooks are signed with, several while one is being replaced.
#[derive(Debug, Clone)]
pub struct PaymentDesk {
    pub payments: Arc<Payments>,
    pub webhook_secrets: Vec<SecretText>,
    pub checkout: Checkout,
}

/// How the shop's own pages take a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkout {
    /// Nobody's money moves: buyers choose among test cards.
    TestCards,
    /// Stripe's own form, for the account with this publishable key.
    StripeElement { publishable_key: String },
    /// Only through the API.
    Elsewhere,
}

/// The desk of a running server.
#[derive(Debug)]
pub(crate) struct Desk {
    pub payments: Arc<Payments>,
    pub webhook_secrets: Vec<SecretText>,
    pub checkout: Checkout,
    seen: Seen,
    /// Webhooks being followed up; one more is left to the worker.
    pub following: Arc<Semaphore>,
}

const FOLLOWED_AT_ONCE: usize = 64;

impl From<PaymentDesk> for Desk {
    fn from(PaymentDesk { payments, webhook_secrets, checkout }: PaymentDesk) -> Self {
        let following = Arc::new(Semaphore::new(FOLLOWED_AT_ONCE));
        Self { payments, webhook_secrets, checkout, seen: Seen::default(), following }
    }
}

impl Desk {
    /// Begins a payment and brings it to its answer, also when whoever asked hangs up meanwhile.
    pub(crate) async fn begin(&self, beginning: Beginning) -> Result<Answered, SubmitError> {
        let payments = self.payments.clone();
        let begun = tokio::spawn(async move { payments.begin(beginning).await });
        let stopped = || LedgerError::OutcomeUnknown("the server stopped while this was under way".into());
        begun.await.unwrap_or_else(|_| Err(stopped().into()))
    }

    /// Whether the event is new here. Another node may follow it up too, which changes nothing.
    pub(crate) fn is_news(&self, event: &str) -> bool {
        self.seen.add(event)
    }

    /// Not heard of after all: when it is sent again it is news again.
    pub(crate) fn forget(&self, event: &str) {
        self.seen.remove(event);
    }
}

/// The events of late, by id. Bounded: an older one that comes again is looked at again, for nothing.
#[derive(Debug, Default)]
struct Seen(Mutex<SeenIds>);

#[derive(Debug, Default)]
struct SeenIds {
    known: HashSet<Arc<str>>,
    /// The oldest first.
    order: VecDeque<Arc<str>>,
}

const MOST_SEEN: usize = 10_000;

impl Seen {
    fn add(&self, event: &str) -> bool {
        let event: Arc<str> = event.into();
        let SeenIds { known, order } = &mut *self.0.lock();
        if !known.insert(event.clone()) {
            return false;
        }
        order.push_back(event);
        if order.len() > MOST_SEEN
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }

    fn remove(&self, event: &str) {
        let SeenIds { known, order } = &mut *self.0.lock();
        known.remove(event);
        order.retain(|seen| **seen != *event);
    }
}

/// How the answer to a paid booking is worded: the booking, or the decline as a problem. The request's id is part of
/// a problem's words, so the first request's is kept with them.
pub(crate) fn words(request_id: String) -> Words {
    Words(Arc::new(move |outcome, secret| match outcome {
        Outcome::PaymentBegun(view) | Outcome::Payment { booking: view, .. } => {
            worded(view, secret, &request_id)
        }
        other => wire::render(other),
    }))
}

fn worded(view: &BookingView, secret: Option<&SecretText>, request_id: &str) -> Answer {
    let payment = view.booking.payment.as_deref();
    if let Some(declined) = payment.filter(|payment| payment.state == PaymentState::Failed) {
        let why = declined.why.as_ref().map_or("", |why| why.as_str()).to_owned();
        let problem = Problem::new(Code::PaymentDeclined, why);
        return Answer { status: 402, body: wire::problem_json(&problem, request_id) };
    }
    let booking = Booking::of(view).with_secret(secret.map(SecretText::reveal));
    Answer { status: 201, body: wire::json(&booking) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_news_once_until_it_is_forgotten() {
        let seen = Seen::default();
        assert!(seen.add("evt_1") && !seen.add("evt_1"));
        seen.remove("evt_1");
        assert!(seen.add("evt_1"));
        (0..MOST_SEEN).for_each(|number| assert!(seen.add(&format!("evt_x{number}"))));
        assert!(seen.add("evt_1"), "the oldest is forgotten");
    }
}
