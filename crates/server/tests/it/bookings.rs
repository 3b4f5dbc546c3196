use serde_json::json;

use crate::app::{TestApp, seat};

#[tokio::test]
async fn a_booking_is_what_the_contract_shows() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = app.admin().book(&hold, "k").await.expect(201).json();
    assert!(booking["id"].as_str().unwrap().starts_with("bk_"));
    assert_eq!((&booking["hold"], &booking["holder"]), (&json!(hold), &json!("alice")));
    assert_eq!((&booking["state"], &booking["amount"]), (&json!("confirmed"), &json!(4500)));
    assert_eq!(booking["created_at"], "2026-11-15T18:00:00.000Z");
    let payment = json!({"provider": "none", "state": "none", "intent": null, "client_secret": null});
    assert_eq!(booking["payment"], payment);
    let path = format!("/v1/bookings/{}", booking["id"].as_str().unwrap());
    assert_eq!(app.admin().get(&path).await.expect(200).json(), booking);
}

#[tokio::test]
async fn what_is_somebodys_is_kept_by_nobody_on_the_way() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = app.admin().book(&hold, "k").await.expect(201).json();
    let booking = format!("/v1/bookings/{}", booking["id"].as_str().unwrap());
    for path in [&booking, "/v1/bookings", &format!("/v1/holds/{hold}"), "/v1/journal"] {
        assert_eq!(app.admin().get(path).await.expect(200).header("cache-control"), "no-store", "{path}");
    }
}

#[tokio::test]
async fn a_booking_needs_a_key() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let body = json!({"hold": hold});
    app.admin().post("/v1/bookings", body).await.expect_problem(400, "idempotency_key_required");
}

#[tokio::test]
async fn a_hold_becomes_one_booking() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = app.admin().book(&hold, "k1").await.expect(201).json();
    let refused = app.admin().book(&hold, "k2").await.expect_problem(409, "already_booked");
    assert_eq!(refused.json()["booking"], booking["id"]);
    app.admin().delete(&format!("/v1/holds/{hold}")).await.expect_problem(409, "already_booked");
    assert_eq!(app.admin().get(&format!("/v1/holds/{hold}")).await.json()["state"], "booked");
}

#[tokio::test]
async fn what_is_released_expired_or_unknown_cannot_be_booked() {
    let app = TestApp::with_hall().await;
    let released = app.admin().hold(seat("alice", "A-1")).await;
    app.admin().delete(&format!("/v1/holds/{released}")).await.expect(204);
    app.admin().book(&released, "k1").await.expect_problem(409, "hold_released");
    let expired = app.admin().hold(seat("alice", "A-2")).await;
    app.clock.advance_ms(600_000);
    app.admin().book(&expired, "k2").await.expect_problem(409, "hold_expired");
    app.admin().book("hold_nonsense", "k3").await.expect_problem(404, "unknown_hold");
}

#[tokio::test]
async fn a_provider_that_is_not_configured_is_refused() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    for payment in
        [json!({"provider": "stripe"}), json!({"provider": "stripe", "payment_method": "pm_card_visa"})]
    {
        let body = json!({"hold": hold, "payment": payment});
        let refused = app.admin().post_keyed("/v1/bookings", "k", body).await;
        let detail = refused.expect_problem(400, "invalid_request").json()["detail"].to_string();
        assert!(detail.contains("not configured"), "{detail}");
    }
    app.admin().book(&hold, "k").await.expect(201);
}

#[tokio::test]
async fn cancelling_frees_the_units_and_is_repeatable() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let booking = app.admin().book(&hold, "k").await.expect(201).json();
    let path = format!("/v1/bookings/{}/cancel", booking["id"].as_str().unwrap());
    let first = app.admin().post(&path, json!({})).await.expect(200).json();
    assert_eq!(first["state"], "cancelled");
    app.clock.advance_ms(1000);
    assert_eq!(app.admin().post(&path, json!({})).await.expect(200).json(), first);
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect(201);
    let unknown = "/v1/bookings/bk_00000000000000000000000000/cancel";
    app.admin().post(unknown, json!({})).await.expect_problem(404, "unknown_booking");
}

#[tokio::test]
async fn bookings_are_listed_by_offer_and_holder() {
    let app = TestApp::with_hall().await;
    for (number, holder) in ["alice", "bob", "alice"].iter().enumerate() {
        let hold = app.admin().hold(seat(holder, &format!("A-{}", number * 2 + 1))).await;
        app.admin().book(&hold, &number.to_string()).await.expect(201);
    }
    let count = async |query: &str| {
        let page = app.admin().get(&format!("/v1/bookings{query}")).await.expect(200).json();
        page["data"].as_array().unwrap().len()
    };
    assert_eq!(count("").await, 3);
    assert_eq!(count("?offer=hall&holder=alice").await, 2);
    assert_eq!(count("?offer=&holder=").await, 3);
    assert_eq!(count("?offer=nowhere").await, 0);
    let first = app.admin().get("/v1/bookings?limit=2").await.expect(200).json();
    let next = first["next"].as_str().unwrap();
    assert_eq!(count(&format!("?limit=2&after={next}")).await, 1);
}
