//! The client for Stripe against the simulator: what it asks, and what it makes of every kind of answer.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{BookingId, Currency, HoldId, IntentId, Money};
use holdfast_engine::payments::{
    provider::{
        Intent, IntentStatus, NewIntent, Provider, ProviderError, RefundStatus, SecretText, Step, StepKey,
    },
    stripe::{self, Stripe},
};
use holdfast_stripe_simulator::{Fault, Operation, Settings, Simulator};

const BOOKING: BookingId = BookingId::from_bits(1);

struct Bench {
    simulator: Simulator,
    stripe: Stripe,
}

impl Bench {
    async fn new() -> Self {
        Self::trying(2).await
    }

    async fn trying(retries: u32) -> Self {
        let simulator = Simulator::start(([127, 0, 0, 1], 0).into(), Settings::default()).await.unwrap();
        let settings = stripe::Settings {
            url: simulator.url(),
            timeout: Duration::from_millis(300),
            retries,
            backoff: Duration::from_millis(1),
            ..stripe::Settings::new(SecretText::new(simulator.secret_key()))
        };
        Self { stripe: Stripe::new(settings).unwrap(), simulator }
    }

    async fn create(&self, payment_method: Option<&str>) -> Intent {
        self.stripe.create(&intent(payment_method), key(Step::Create, 0)).await.unwrap()
    }

    async fn confirm(&self, id: &IntentId) -> Result<Intent, ProviderError> {
        self.stripe.confirm(id, key(Step::Confirm, 0)).await
    }

    async fn refund(&self, id: &IntentId, attempt: u32) -> Result<RefundStatus, ProviderError> {
        self.stripe.refund(id, BOOKING, key(Step::Refund, attempt)).await.map(|refund| refund.status)
    }
}

fn intent(payment_method: Option<&str>) -> NewIntent {
    NewIntent {
        booking: BOOKING,
        hold: HoldId::from_bits(2),
        amount: Money::new(4500).unwrap(),
        currency: Currency::new("EUR").unwrap(),
        payment_method: payment_method.map(Arc::from),
    }
}

fn key(step: Step, attempt: u32) -> StepKey {
    StepKey { booking: BOOKING, step, attempt }
}

#[tokio::test]
async fn a_payment_is_made_looked_at_and_given_back() {
    let bench = Bench::new().await;
    let created = bench.create(Some("pm_card_visa")).await;
    assert_eq!((created.status, created.received), (IntentStatus::RequiresConfirmation, 0));
    let paid = bench.confirm(&created.id).await.unwrap();
    assert_eq!((paid.status, paid.received, paid.currency.as_str()), (IntentStatus::Succeeded, 4500, "EUR"));
    assert_eq!(bench.stripe.retrieve(&created.id).await.unwrap().status, IntentStatus::Succeeded);
    assert_eq!(bench.refund(&created.id, 0).await, Ok(RefundStatus::Succeeded));
    assert_eq!(bench.stripe.refunds(&created.id).await.unwrap().len(), 1);
    let money = bench.simulator.money_of_metadata("booking", &BOOKING.to_string());
    assert_eq!((money.captured, money.refunded, money.captures), (4500, 4500, 1));
}

#[tokio::test]
async fn a_browser_pays_what_it_has_the_secret_of() {
    let bench = Bench::new().await;
    let created = bench.create(None).await;
    assert_eq!(created.status, IntentStatus::RequiresMethod);
    assert!(created.client_secret.unwrap().reveal().contains("_secret_"));
    assert!(!bench.simulator.pay(created.id.as_str(), "pm_card_visa_chargeDeclined"));
    let declined = bench.stripe.retrieve(&created.id).await.unwrap();
    assert_eq!(declined.decline.unwrap().code, "generic_decline");
    assert!(bench.simulator.pay(created.id.as_str(), "pm_card_visa"));
    assert_eq!(bench.stripe.retrieve(&created.id).await.unwrap().status, IntentStatus::Succeeded);
}

#[tokio::test]
async fn a_decline_says_why() {
    let bench = Bench::new().await;
    let created = bench.create(Some("pm_card_chargeDeclinedInsufficientFunds")).await;
    let Err(ProviderError::Declined(decline)) = bench.confirm(&created.id).await else { panic!("declined") };
    assert_eq!(decline.code, "insufficient_funds");
    assert_eq!(bench.simulator.money().captured, 0);
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_key() {
    let bench = Bench::new().await;
    for fault in [Fault::DropAfter, Fault::HangAfter, Fault::DropBefore] {
        bench.simulator.next(Some(Operation::CreateIntent), fault);
    }
    // Three faults, three tries: the third fails too, and the next caller with the key finds the first one's intent.
    assert!(matches!(
        bench.stripe.create(&intent(Some("pm_card_visa")), key(Step::Create, 0)).await,
        Err(ProviderError::Unknown { .. })
    ));
    let created = bench.create(Some("pm_card_visa")).await;
    bench.simulator.next(Some(Operation::ConfirmIntent), Fault::DropAfter);
    assert_eq!(bench.confirm(&created.id).await.unwrap().status, IntentStatus::Succeeded);
    let money = bench.simulator.money();
    assert_eq!((money.intents, money.captures), (1, 1));
}

#[tokio::test]
async fn a_filed_500_is_unknown_and_the_object_says_what_was_done() {
    let bench = Bench::new().await;
    let created = bench.create(Some("pm_card_visa")).await;
    bench.simulator.next(Some(Operation::ConfirmIntent), Fault::ErrorAfter);
    assert!(matches!(bench.confirm(&created.id).await, Err(ProviderError::Unknown { .. })));
    assert!(matches!(bench.confirm(&created.id).await, Err(ProviderError::Unknown { filed: true, .. })));
    assert_eq!(bench.stripe.retrieve(&created.id).await.unwrap().status, IntentStatus::Succeeded);
    bench.simulator.next(Some(Operation::CreateRefund), Fault::ErrorBefore);
    assert!(matches!(bench.refund(&created.id, 0).await, Err(ProviderError::Unknown { .. })));
    assert_eq!(bench.stripe.refunds(&created.id).await.unwrap(), []);
    assert_eq!(bench.refund(&created.id, 1).await, Ok(RefundStatus::Succeeded));
    assert_eq!(bench.simulator.money().kept(), 0);
}

#[tokio::test]
async fn what_was_certainly_not_done_is_told_from_what_may_have_been() {
    let bench = Bench::trying(0).await;
    let created = bench.create(Some("pm_card_visa")).await;
    let faults = [
        (Fault::RateLimited, true),
        (Fault::ErrorUnkept, false),
        (Fault::DropBefore, false),
        (Fault::DropAfter, false),
    ];
    for (fault, is_not_done) in faults {
        bench.simulator.next(None, fault);
        let failed = bench.confirm(&created.id).await.unwrap_err();
        assert_eq!(matches!(failed, ProviderError::NotDone { .. }), is_not_done, "{fault:?}: {failed}");
        assert_eq!(matches!(failed, ProviderError::Unknown { .. }), !is_not_done, "{fault:?}: {failed}");
    }
    let unknown_card = bench.stripe.create(&intent(Some("pm_none")), key(Step::Create, 1)).await;
    assert!(matches!(unknown_card, Err(ProviderError::Refused { .. })), "{unknown_card:?}");
}

#[tokio::test]
async fn nobody_listening_means_nothing_done() {
    let bench = Bench::trying(0).await;
    let Bench { simulator, stripe } = bench;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    drop((simulator, stripe));
    let settings = stripe::Settings {
        url: format!("http://{free}"),
        retries: 1,
        backoff: Duration::from_millis(1),
        ..stripe::Settings::new(SecretText::new("sk_test_secret"))
    };
    let alone = Stripe::new(settings).unwrap();
    let failed = alone.create(&intent(None), key(Step::Create, 0)).await.unwrap_err();
    assert!(matches!(failed, ProviderError::NotDone { .. }), "{failed}");
    assert!(!format!("{failed} {failed:?}").contains("sk_test_secret"));
}

#[tokio::test]
async fn an_intent_that_is_further_on_is_unknown_until_looked_at() {
    let bench = Bench::new().await;
    let created = bench.create(Some("pm_card_visa")).await;
    bench.confirm(&created.id).await.unwrap();
    let cancelled = bench.stripe.cancel(&created.id, key(Step::Cancel, 0)).await;
    assert!(matches!(cancelled, Err(ProviderError::Unknown { .. })), "{cancelled:?}");
    assert_eq!(bench.refund(&created.id, 0).await, Ok(RefundStatus::Succeeded));
    let twice = bench.refund(&created.id, 1).await;
    assert!(matches!(twice, Err(ProviderError::Unknown { .. })), "{twice:?}");
    assert_eq!(bench.simulator.money().refunded, 4500);
}

#[tokio::test]
async fn what_is_abandoned_can_no_longer_be_paid() {
    let bench = Bench::new().await;
    let created = bench.create(None).await;
    let cancelled = bench.stripe.cancel(&created.id, key(Step::Cancel, 0)).await.unwrap();
    assert_eq!(cancelled.status, IntentStatus::Canceled);
    assert!(!bench.simulator.pay(created.id.as_str(), "pm_card_visa"));
}

#[tokio::test]
async fn late_outcomes_come_when_their_time_has() {
    let bench = Bench::new().await;
    let created = bench.create(Some("pm_simulator_late_success")).await;
    assert_eq!(bench.confirm(&created.id).await.unwrap().status, IntentStatus::Processing);
    bench.simulator.advance(Duration::from_secs(10));
    assert_eq!(bench.stripe.retrieve(&created.id).await.unwrap().status, IntentStatus::Succeeded);
}

#[tokio::test]
async fn a_card_that_hangs_after_its_commit_has_been_charged_once() {
    let bench = Bench::trying(1).await;
    let created = bench.create(Some("pm_simulator_hang_after_commit")).await;
    assert_eq!(bench.confirm(&created.id).await.unwrap().status, IntentStatus::Succeeded);
    assert_eq!(bench.simulator.money().captures, 1);
}

#[tokio::test]
async fn the_bank_may_want_to_see_the_buyer() {
    let bench = Bench::new().await;
    let created = bench.create(Some("pm_card_authenticationRequired")).await;
    assert_eq!(bench.confirm(&created.id).await.unwrap().status, IntentStatus::RequiresAction);
    assert!(bench.simulator.authenticate(created.id.as_str(), true));
    assert_eq!(bench.stripe.retrieve(&created.id).await.unwrap().status, IntentStatus::Succeeded);
}

#[tokio::test]
async fn refunds_may_wait_fail_or_fail_after_all() {
    let bench = Bench::new().await;
    for (card, at_once, later) in [
        ("pm_card_pendingRefund", RefundStatus::Pending, RefundStatus::Succeeded),
        ("pm_card_refundFail", RefundStatus::Succeeded, RefundStatus::Failed),
        ("pm_simulator_refund_failure", RefundStatus::Failed, RefundStatus::Failed),
    ] {
        let booking = BookingId::from_bits(card.len() as u128);
        let of = |step| StepKey { booking, step, attempt: 0 };
        let created = bench.stripe.create(&intent(Some(card)), of(Step::Create)).await.unwrap();
        bench.stripe.confirm(&created.id, of(Step::Confirm)).await.unwrap();
        let refund = bench.stripe.refund(&created.id, booking, of(Step::Refund)).await.unwrap();
        assert_eq!(refund.status, at_once, "{card}");
        bench.simulator.advance(Duration::from_secs(10));
        assert_eq!(bench.stripe.refunds(&created.id).await.unwrap()[0].status, later, "{card}");
    }
}
