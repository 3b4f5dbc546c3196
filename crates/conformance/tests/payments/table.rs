//! Every cell of the compensation table, on both ledgers, with the money counted by the bank.

use holdfast_domain::{BookingId, BookingState, HoldId, PaymentState};
use holdfast_stripe_simulator::{Fault, Operation};

use crate::shop::{PIN_S, PRICE, Paid, Shop, TTL_S};

/// Runs a cell on the embedded ledger and on PostgreSQL.
macro_rules! on_both_ledgers {
    ($($name:ident)*) => {
        mod embedded {
            use super::*;
            $(#[tokio::test] async fn $name() { super::$name(Shop::embedded().await).await; })*
        }
        mod on_postgresql {
            use super::*;
            $(#[tokio::test] async fn $name() { super::$name(Shop::postgres(stringify!($name)).await).await; })*
        }
    };
}

on_both_ledgers! {
    paid_while_the_hold_lives_is_confirmed
    paid_late_with_the_units_free_takes_them_again
    paid_late_with_the_units_gone_is_given_back
    declined_leaves_the_hold_for_another_try
    unknown_stays_pending_and_is_found_out
    a_refund_that_fails_needs_a_person
    a_refund_that_waits_is_waited_for
    a_refund_that_comes_back_needs_a_person
    cancelled_after_payment_is_given_back
    cancelled_before_payment_cannot_be_paid
    abandoned_is_called_off_before_the_units_go
    a_provider_that_is_down_is_waited_for
    the_wrong_amount_needs_a_person
    two_hundred_at_once_are_one
}

async fn held(shop: &Shop) -> HoldId {
    shop.offer("hall").await;
    shop.hold("hall", "alice").await.expect("it is free")
}

async fn paid(shop: &Shop, hold: HoldId, method: Option<&str>) -> BookingId {
    let paid = shop.pay(hold, method, "k1").await.expect("the server lives");
    paid.booking().unwrap_or_else(|| panic!("no booking: {paid:?}"))
}

fn intent(shop: &Shop, booking: BookingId) -> String {
    shop.bank.intents_of_metadata("booking", &booking.to_string())[0].0.clone()
}

/// The money must agree, and the outcome be that.
async fn comes_to(shop: &Shop, booking: BookingId, state: &str, payment: PaymentState, kept: u64) {
    assert!(shop.rest(booking).await, "it rests");
    let account = shop.account(booking).await;
    account.check();
    assert_eq!((account.state.as_str(), account.payment), (state, payment), "{account:?}");
    assert_eq!(account.money.kept(), kept as i64, "{account:?}");
}

async fn paid_while_the_hold_lives_is_confirmed(shop: Shop) {
    let hold = held(&shop).await;
    let booking = paid(&shop, hold, Some("pm_card_visa")).await;
    let account = shop.account(booking).await;
    assert_eq!(account.state, BookingState::Confirmed, "in the answer already");
    comes_to(&shop, booking, "confirmed", PaymentState::Succeeded, PRICE).await;
    assert!(shop.hold("hall", "bob").await.is_none());
}

async fn paid_late_with_the_units_free_takes_them_again(shop: Shop) {
    let hold = held(&shop).await;
    let booking = paid(&shop, hold, Some("pm_simulator_late_success")).await;
    // Nobody looks and nobody tells until the hold is long gone.
    shop.pass(TTL_S + PIN_S + 60);
    assert_eq!(shop.ledger.hold(hold).await.unwrap().unwrap().hold.status(now(&shop)), "expired");
    comes_to(&shop, booking, "confirmed", PaymentState::Succeeded, PRICE).await;
    assert!(shop.hold("hall", "bob").await.is_none(), "it is Alice's again");
}

fn now(shop: &Shop) -> holdfast_domain::Moment {
    use holdfast_engine::clock::Clock;
    shop.clock.now()
}

async fn paid_late_with_the_units_gone_is_given_back(shop: Shop) {
    let hold = held(&shop).await;
    let booking = paid(&shop, hold, Some("pm_simulator_late_success")).await;
    shop.pass(TTL_S + PIN_S + 60);
    let other = shop.hold("hall", "bob").await.expect("it came free");
    assert!(shop.confirm_unpaid(other).await);
    comes_to(&shop, booking, "failed", PaymentState::Refunded, 0).await;
    let view = shop.booking(booking).await.unwrap();
    let why = view.booking.payment.unwrap().why.expect("the books say why").to_string();
    assert!(why.contains("hall/GA"), "{why}");
}

async fn declined_leaves_the_hold_for_another_try(shop: Shop) {
    let hold = held(&shop).await;
    let declined = paid(&shop, hold, Some("pm_card_chargeDeclinedInsufficientFunds")).await;
    comes_to(&shop, declined, "failed", PaymentState::Failed, 0).await;
    let view = shop.ledger.hold(hold).await.unwrap().unwrap();
    assert_eq!(view.hold.status(now(&shop)), "active");
    let again = shop.pay(hold, Some("pm_card_visa"), "k2").await.unwrap().booking().expect("a booking");
    comes_to(&shop, again, "confirmed", PaymentState::Succeeded, PRICE).await;
}

async fn unknown_stays_pending_and_is_found_out(shop: Shop) {
    let hold = held(&shop).await;
    // All tries lose their answer, and so does the look at the intent.
    for _ in 0..2 {
        shop.bank.next(Some(Operation::ConfirmIntent), Fault::DropAfter);
        shop.bank.next(Some(Operation::Read), Fault::DropBefore);
    }
    let booking = paid(&shop, hold, Some("pm_card_visa")).await;
    assert_eq!(shop.account(booking).await.state, BookingState::Pending);
    assert!(shop.hold("hall", "bob").await.is_none(), "pinned");
    comes_to(&shop, booking, "confirmed", PaymentState::Succeeded, PRICE).await;
}

async fn refunding(shop: &Shop, card: &str) -> BookingId {
    let hold = held(shop).await;
    let booking = paid(shop, hold, Some(card)).await;
    assert!(shop.cancel(booking).await);
    assert!(shop.hold("hall", "bob").await.is_some(), "the units are free at once");
    booking
}

async fn a_refund_that_fails_needs_a_person(shop: Shop) {
    let booking = refunding(&shop, "pm_simulator_refund_failure").await;
    comes_to(&shop, booking, "cancelled", PaymentState::Manual, PRICE).await;
}

async fn a_refund_that_waits_is_waited_for(shop: Shop) {
    let booking = refunding(&shop, "pm_card_pendingRefund").await;
    assert!(shop.round().await);
    assert_eq!(shop.account(booking).await.payment, PaymentState::Refunding);
    comes_to(&shop, booking, "cancelled", PaymentState::Refunded, 0).await;
}

async fn a_refund_that_comes_back_needs_a_person(shop: Shop) {
    let booking = refunding(&shop, "pm_card_refundFail").await;
    assert!(shop.round().await);
    assert_eq!(shop.account(booking).await.payment, PaymentState::Refunded);
    shop.pass(10);
    for delivery in shop.bank.take_webhooks() {
        assert!(shop.deliver(&delivery).await);
    }
    comes_to(&shop, booking, "cancelled", PaymentState::Manual, PRICE).await;
}

async fn cancelled_after_payment_is_given_back(shop: Shop) {
    let booking = refunding(&shop, "pm_card_visa").await;
    // The provider fails in every way there is before it does what it is asked.
    for fault in [Fault::ErrorBefore, Fault::DropAfter, Fault::RateLimited, Fault::HangBefore] {
        shop.bank.next(Some(Operation::CreateRefund), fault);
    }
    comes_to(&shop, booking, "cancelled", PaymentState::Refunded, 0).await;
}

async fn cancelled_before_payment_cannot_be_paid(shop: Shop) {
    let hold = held(&shop).await;
    let booking = paid(&shop, hold, None).await;
    if shop.cancel(booking).await {
        assert!(shop.rest(booking).await);
        assert!(!shop.bank.pay(&intent(&shop, booking), "pm_card_visa"), "it is called off");
        shop.account(booking).await.check();
    }
}

async fn abandoned_is_called_off_before_the_units_go(shop: Shop) {
    let hold = held(&shop).await;
    let booking = paid(&shop, hold, None).await;
    for _ in 0..(TTL_S + PIN_S - 20) / 20 {
        shop.pass(20);
        assert!(shop.round().await);
    }
    assert!(shop.hold("hall", "bob").await.is_none(), "pinned to the end");
    // The last call comes a few seconds before the units go.
    shop.pass(16);
    assert!(shop.round().await);
    assert!(!shop.bank.pay(&intent(&shop, booking), "pm_card_visa"), "nobody can pay any more");
    shop.pass(10);
    assert!(shop.hold("hall", "bob").await.is_some());
    comes_to(&shop, booking, "failed", PaymentState::Failed, 0).await;
}

async fn a_provider_that_is_down_is_waited_for(shop: Shop) {
    let hold = held(&shop).await;
    shop.bank.always(Some(Fault::DropBefore));
    let booking = paid(&shop, hold, Some("pm_card_visa")).await;
    assert_eq!(shop.account(booking).await.state, BookingState::Pending);
    // A browser cannot pay without the provider's secret: it is told to ask again.
    shop.offer("fest").await;
    let browser = shop.hold("fest", "carol").await.expect("holds go on");
    assert_eq!(shop.pay(browser, None, "k2").await, Some(Paid::Nothing));
    for _ in 0..5 {
        shop.pass(20);
        assert!(shop.round().await);
    }
    shop.bank.heal();
    let answered = shop.pay(browser, None, "k2").await.unwrap();
    let pending = answered.booking().expect("now there is an answer");
    assert!(shop.bank.pay(&intent(&shop, pending), "pm_card_visa"));
    comes_to(&shop, pending, "confirmed", PaymentState::Succeeded, PRICE).await;
    comes_to(&shop, booking, "confirmed", PaymentState::Succeeded, PRICE).await;
}

async fn the_wrong_amount_needs_a_person(shop: Shop) {
    use holdfast_domain::{Command, Currency, IntentId, Money, PaymentOutcome};
    for (offer, amount, currency) in [("hall", PRICE - 1, "EUR"), ("fest", PRICE, "USD")] {
        shop.offer(offer).await;
        let hold = shop.hold(offer, "alice").await.expect("it is free");
        let paid = shop.pay(hold, None, offer).await.expect("the server lives");
        let booking = paid.booking().expect("a booking");
        let outcome = PaymentOutcome::Succeeded {
            amount: Money::new(amount).unwrap(),
            currency: Currency::new(currency).unwrap(),
        };
        let intent = IntentId::new(&intent(&shop, booking)).ok();
        let command = Command::SettlePayment { booking, intent, outcome, due_at: now(&shop) };
        let request = holdfast_engine::ledger::Request {
            command,
            actor: holdfast_domain::Actor::System,
            key: None,
            wording: None,
            deadline: holdfast_conformance::live::patiently(),
        };
        shop.ledger.execute(request).await.expect("the ledger answers");
        let account = shop.account(booking).await;
        assert_eq!((account.state, account.payment), (BookingState::Pending, PaymentState::Manual));
    }
}

async fn two_hundred_at_once_are_one(shop: Shop) {
    let hold = held(&shop).await;
    let crowd: Vec<_> = (0..200).map(|_| shop.pay(hold, Some("pm_card_visa"), "one")).collect();
    let answers = futures::future::join_all(crowd).await;
    let mut said: Vec<_> = answers.into_iter().flatten().filter(|paid| *paid != Paid::Nothing).collect();
    assert!(said.iter().all(|paid| matches!(paid, Paid::Answer(_))), "{said:?}");
    said.dedup();
    assert_eq!(said.len(), 1, "one answer");
    let booking = said[0].booking().expect("a booking");
    comes_to(&shop, booking, "confirmed", PaymentState::Succeeded, PRICE).await;
    let money = shop.bank.money();
    assert_eq!((money.intents, money.captures), (1, 1));
}
