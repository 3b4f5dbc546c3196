use std::time::Duration;

use holdfast_server::Checkout;
use holdfast_stripe_simulator::{Delivery, Fault, sign};
use hyper::Method;
use serde_json::{Value, json};

use crate::app::{Answer, JSON, Setup, TestApp, hall, seat};

async fn pay(app: &TestApp, hold: &str, key: &str, method: Option<&str>) -> Answer {
    let mut payment = json!({"provider": "stripe"});
    if let Some(method) = method {
        payment["payment_method"] = method.into();
    }
    app.admin().post_keyed("/v1/bookings", key, json!({"hold": hold, "payment": payment})).await
}

async fn hear(app: &TestApp, body: impl Into<bytes::Bytes>, signature: &str) -> Answer {
    let headers = [JSON, ("stripe-signature", signature)];
    app.client().send(Method::POST, "/v1/webhooks/stripe", &headers, body).await
}

pub(crate) async fn deliver(app: &TestApp, Delivery { body, signature, .. }: Delivery) {
    hear(app, body, &signature).await.expect(200);
}

async fn read(app: &TestApp, booking: &Value) -> Value {
    let path = format!("/v1/bookings/{}", booking["id"].as_str().unwrap());
    app.admin().get(&path).await.expect(200).json()
}

/// What is heard is followed up after the answer.
pub(crate) async fn until_state(app: &TestApp, booking: &Value, state: &str) -> Value {
    let found = async {
        loop {
            let now = read(app, booking).await;
            if now["state"] == state {
                return now;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.expect("it gets there")
}

#[tokio::test]
async fn a_browser_pays_and_the_webhook_confirms() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let answer = pay(&app, &hold, "k1", None).await.expect(201);
    let booking = answer.json();
    assert_eq!((&booking["state"], &booking["payment"]["provider"]), (&json!("pending"), &json!("stripe")));
    assert_eq!(booking["payment"]["state"], "requires_payment");
    let secret = booking["payment"]["client_secret"].as_str().expect("for the browser").to_owned();
    assert_eq!(app.admin().get(&format!("/v1/holds/{hold}")).await.json()["state"], "paying");

    let intent = booking["payment"]["intent"].as_str().unwrap();
    assert!(secret.starts_with(intent));
    assert!(app.bank().pay(intent, "pm_card_visa"));
    for delivery in app.bank().take_webhooks() {
        deliver(&app, delivery).await;
    }
    let confirmed = until_state(&app, &booking, "confirmed").await;
    assert_eq!(confirmed["payment"]["state"], "succeeded");
    assert_eq!(confirmed["payment"]["client_secret"], Value::Null, "only the first answer has it");

    let again = pay(&app, &hold, "k1", None).await.expect(201);
    assert!(again.is_replayed());
    assert_eq!(again.body, answer.body, "the first answer, even though more is known now");
    let journal = app.admin().get("/v1/journal").await.expect(200);
    assert!(!String::from_utf8_lossy(&journal.body).contains(&secret));
}

/// A hold of two seconds that may be paid for two more.
async fn in_a_hurry() -> TestApp {
    let setup = Setup { paid: Some(Checkout::TestCards), pin_s: Some(2), ..Setup::default() };
    let app = TestApp::with(setup).await;
    let mut hall = hall();
    hall["hold_ttl_s"] = json!(2);
    app.admin().post("/v1/offers", hall).await.expect(201);
    app
}

#[tokio::test]
async fn a_short_pin_is_a_pin() {
    let app = in_a_hurry().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = pay(&app, &hold, "k1", None).await.expect(201).json();
    assert_eq!(booking["state"], "pending", "{booking}");
    app.clock.advance_ms(3_500);
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect_problem(409, "unit_taken");
    assert!(app.bank().pay(booking["payment"]["intent"].as_str().unwrap(), "pm_card_visa"));
    for delivery in app.bank().take_webhooks() {
        deliver(&app, delivery).await;
    }
    until_state(&app, &booking, "confirmed").await;

    let late = app.admin().hold(seat("alice", "A-2")).await;
    app.clock.advance_ms(1_990);
    let charged = pay(&app, &late, "k2", Some("pm_card_visa")).await.expect(201).json();
    assert_eq!(charged["state"], "confirmed", "{charged}");
}

#[tokio::test]
async fn an_event_that_names_no_booking_is_known_by_its_payment() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = pay(&app, &hold, "k1", None).await.expect(201).json();
    let intent = booking["payment"]["intent"].as_str().unwrap();
    assert!(app.bank().pay(intent, "pm_card_visa"));
    let signed = async |event: Value| {
        let body = event.to_string();
        let signature = sign(app.bank().webhook_secret(), body.as_bytes(), 1_794_765_600);
        hear(&app, body, &signature).await.expect(200);
    };
    signed(json!({"type": "payment_intent.succeeded", "data": null})).await;
    signed(json!({})).await;
    signed(
        json!({"type": "charge.succeeded", "data": {"object": {"id": "ch_1", "payment_intent": "pi_other"}}}),
    )
    .await;
    assert_eq!(read(&app, &booking).await["state"], "pending", "none of them was about it");
    signed(json!({"type": "payment_intent.succeeded", "data": {"object": {"id": intent}}})).await;
    until_state(&app, &booking, "confirmed").await;
}

#[tokio::test]
async fn the_server_charges_a_card_and_answers_with_the_outcome() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = pay(&app, &hold, "k1", Some("pm_card_visa")).await.expect(201).json();
    assert_eq!((&booking["state"], &booking["payment"]["state"]), (&json!("confirmed"), &json!("succeeded")));
    assert_eq!(booking["payment"]["client_secret"], Value::Null);
    pay(&app, &hold, "k2", Some("pm_card_visa")).await.expect_problem(409, "already_booked");
    let money = app.bank().money();
    assert_eq!((money.captured, money.captures), (4500, 1));
}

#[tokio::test]
async fn a_decline_is_402_and_the_hold_survives() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let declined = pay(&app, &hold, "k1", Some("pm_card_chargeDeclinedInsufficientFunds")).await;
    let declined = declined.expect_problem(402, "payment_declined");
    assert!(declined.json()["detail"].as_str().unwrap().contains("insufficient funds"));
    let again = pay(&app, &hold, "k1", Some("pm_card_chargeDeclinedInsufficientFunds")).await.expect(402);
    assert!(again.is_replayed() && again.body == declined.body);
    assert_eq!(again.header("content-type"), "application/problem+json");
    assert_eq!(app.admin().get(&format!("/v1/holds/{hold}")).await.json()["state"], "active");
    let paid = pay(&app, &hold, "k2", Some("pm_card_visa")).await.expect(201).json();
    assert_eq!(paid["state"], "confirmed");
}

#[tokio::test]
async fn a_payment_of_nothing_or_with_nonsense_is_refused() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    for payment in [
        json!({"provider": "paypal"}),
        json!({"provider": "none", "payment_method": "pm_card_visa"}),
        json!({"provider": "stripe", "payment_method": ""}),
        json!({"provider": "stripe", "card": "4242"}),
    ] {
        let body = json!({"hold": hold, "payment": payment});
        app.admin().post_keyed("/v1/bookings", "k", body).await.expect_problem(400, "invalid_request");
    }
    let unknown = pay(&app, &hold, "k1", Some("pm_none")).await;
    unknown.expect_problem(402, "payment_declined");
}

#[tokio::test]
async fn where_cards_are_taken_a_browser_pays_for_what_has_a_price() {
    let app = TestApp::with_paid_hall().await;
    let mut free = hall();
    free["id"] = "free".into();
    free["seats"]["sections"][0]["price"] = json!(0);
    app.admin().post("/v1/offers", free).await.expect(201);
    let browser = app.client();
    let hold = browser.hold(json!({"lines": [{"offer": "hall", "unit": "A-1"}]})).await;
    for body in [json!({"hold": hold}), json!({"hold": hold, "payment": {"provider": "none"}})] {
        let refused = browser.post_keyed("/v1/bookings", "k1", body).await;
        let detail = refused.expect_problem(400, "invalid_request").json()["detail"].to_string();
        assert!(detail.contains("stripe"), "{detail}");
    }
    let gift = browser.hold(json!({"lines": [{"offer": "free", "unit": "A-1"}]})).await;
    browser.book(&gift, "k2").await.expect(201);
    app.client().book(&hold, "k3").await.expect_problem(404, "unknown_hold");
    app.admin().book(&hold, "k4").await.expect(201);
}

#[tokio::test]
async fn only_what_stripe_signed_a_moment_ago_is_heard() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = pay(&app, &hold, "k1", None).await.expect(201).json();
    assert!(app.bank().pay(booking["payment"]["intent"].as_str().unwrap(), "pm_card_visa"));
    let sent = app.bank().take_webhooks().pop().expect("it succeeded");
    let now_s = 1_794_765_600;
    let secret = app.bank().webhook_secret();
    for bad in [
        String::new(),
        "t=1,v1=00".to_owned(),
        sign("whsec_other", &sent.body, now_s),
        sign(secret, &sent.body, now_s - 301),
        sign(secret, b"{}", now_s),
    ] {
        hear(&app, sent.body.clone(), &bad).await.expect_problem(400, "invalid_request");
    }
    assert_eq!(read(&app, &booking).await["state"], "pending", "nothing changed");

    // Signed, and none of ours.
    for strange in [
        json!({"id": "evt_1", "object": "event", "type": "customer.created", "data": {"object": {}}}),
        json!({"id": "evt_2", "type": "payment_intent.succeeded", "data": {"object": {"metadata":
            {"booking": "bk_00000000000000000000000000"}}}}),
    ] {
        let body = strange.to_string();
        let signature = sign(secret, body.as_bytes(), now_s);
        hear(&app, body, &signature).await.expect(200);
    }
    // By the secret of last year, twice, and once more by this year's.
    let old = sign("whsec_of_last_year", &sent.body, now_s);
    for signature in [&old, &old, &sent.signature] {
        hear(&app, sent.body.clone(), signature).await.expect(200);
    }
    until_state(&app, &booking, "confirmed").await;
    assert_eq!(app.bank().money().captures, 1);
}

#[tokio::test]
async fn without_a_provider_there_are_no_webhooks() {
    let app = TestApp::with_hall().await;
    hear(&app, "{}", "t=1,v1=00").await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn a_provider_that_is_down_is_a_503_for_browsers_and_pending_for_cards() {
    let app = TestApp::with_paid_hall().await;
    app.bank().always(Some(Fault::DropBefore));
    let browser = app.admin().hold(seat("alice", "A-1")).await;
    let refused = pay(&app, &browser, "k1", None).await.expect_problem(503, "outcome_unknown");
    assert!(refused.header("retry-after").parse::<u32>().is_ok());
    let card = app.admin().hold(seat("alice", "A-3")).await;
    let pending = pay(&app, &card, "k2", Some("pm_card_visa")).await.expect(201).json();
    assert_eq!(pending["state"], "pending");
    app.bank().heal();
    let answered = pay(&app, &browser, "k1", None).await.expect(201).json();
    assert!(answered["payment"]["client_secret"].is_string(), "the same key finds out");
}

#[tokio::test]
async fn cancelling_what_is_paid_frees_it_at_once_and_gives_the_money_back() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = pay(&app, &hold, "k1", Some("pm_card_visa")).await.expect(201).json();
    let path = format!("/v1/bookings/{}/cancel", booking["id"].as_str().unwrap());
    let cancelled = app.admin().post(&path, json!({})).await.expect(200).json();
    assert_eq!(
        (&cancelled["state"], &cancelled["payment"]["state"]),
        (&json!("cancelled"), &json!("refunding"))
    );
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect(201);
    let again = app.admin().post(&path, json!({})).await.expect(200).json();
    assert_eq!(again["state"], "cancelled");
}

#[tokio::test]
async fn an_operators_word_needs_the_role_and_a_payment() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = pay(&app, &hold, "k1", None).await.expect(201).json();
    let path = format!("/v1/bookings/{}/payment", booking["id"].as_str().unwrap());
    app.client().post(&path, json!({"how": "retry"})).await.expect_problem(401, "unauthenticated");
    app.seller().await.post(&path, json!({"how": "retry"})).await.expect_problem(403, "forbidden");
    app.admin().post(&path, json!({"how": "retry"})).await.expect(200);
    app.admin().post(&path, json!({"how": "paid"})).await.expect_problem(400, "invalid_request");
    app.admin().post(&path, json!({"how": "nonsense"})).await.expect_problem(400, "invalid_request");
    let listed = app.admin().get("/v1/bookings?payment=requires_payment").await.expect(200).json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let none = app.admin().get("/v1/bookings?payment=manual").await.expect(200).json();
    assert_eq!(none["data"], json!([]));
    app.admin().get("/v1/bookings?payment=nonsense").await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn two_hundred_at_once_with_one_key_are_one_charge() {
    let app = TestApp::with_paid_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let crowd = (0..200).map(|_| pay(&app, &hold, "one", Some("pm_card_visa")));
    let answers = futures::future::join_all(crowd).await;
    let (said, busy): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    assert!(busy.iter().all(|answer| answer.status == 409), "in flight, and nothing else");
    assert!(!said.is_empty() && said.iter().all(|answer| answer.body == said[0].body));
    let money = app.bank().money();
    assert_eq!((money.intents, money.captures, money.captured), (1, 1, 4500));
}
