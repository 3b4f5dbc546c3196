use serde_json::json;

use crate::app::{TestApp, dr_lee, fest, hall, seat};

#[tokio::test]
async fn a_hold_is_what_the_contract_shows() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().post("/v1/holds", seat("alice", "A-2")).await.expect(201).json();
    assert!(hold["id"].as_str().unwrap().starts_with("hold_"));
    assert_eq!(hold["holder"], "alice");
    assert_eq!(hold["state"], "active");
    assert_eq!(hold["lines"], json!([{"offer": "hall", "unit": "A-2", "qty": 1, "price": 4500}]));
    assert_eq!((&hold["amount"], &hold["currency"]), (&json!(4500), &json!("EUR")));
    assert_eq!(hold["expires_at"], "2026-11-15T18:10:00.000Z");
    assert_eq!(hold["expires_in_ms"], 600_000);
    assert_eq!(hold["version"], "1.2");
}

#[tokio::test]
async fn a_taken_seat_is_refused_with_alternatives() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/holds", seat("alice", "A-5")).await.expect(201);
    let refused = app.admin().post("/v1/holds", seat("bob", "A-5")).await.expect_problem(409, "unit_taken");
    let problem = refused.json();
    assert_eq!(problem["conflicts"], json!([{"offer": "hall", "unit": "A-5", "state": "held"}]));
    assert!(!problem["alternatives"][0].as_array().unwrap().is_empty(), "{problem}");
}

#[tokio::test]
async fn lines_may_span_kinds_and_all_are_taken_or_none() {
    let app = TestApp::embedded().await;
    for offer in [hall(), fest(), dr_lee()] {
        app.admin().post("/v1/offers", offer).await.expect(201);
    }
    let lines = json!([{"offer": "hall", "best": {"qty": 2, "category": "A"}}, {"offer": "fest", "unit": "GA", "qty": 2},
        {"offer": "dr-lee", "service": "consult", "start": "2026-11-16T09:00:00+01:00"}]);
    let hold =
        app.admin().post("/v1/holds", json!({"holder": "alice", "lines": lines})).await.expect(201).json();
    assert_eq!(hold["amount"], 2 * 4500 + 2 * 3000 + 8000);
    assert_eq!(hold["lines"].as_array().unwrap().len(), 4);
    let slot = hold["lines"].as_array().unwrap().iter().find(|line| line["offer"] == "dr-lee").unwrap();
    assert_eq!((&slot["unit"], &slot["service"]), (&json!("2026-11-16T08:00Z"), &json!("consult")));

    let lines = json!([{"offer": "hall", "unit": "B-10"}, {"offer": "fest", "unit": "GA", "qty": 4}]);
    let other = json!({"holder": "bob", "lines": lines});
    app.admin().post("/v1/holds", other).await.expect_problem(409, "sold_out");
    app.admin().post("/v1/holds", seat("bob", "B-10")).await.expect(201);
}

#[tokio::test]
async fn asking_again_for_the_same_gives_the_same_hold_back() {
    let app = TestApp::with_hall().await;
    let first = app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201).json();
    app.clock.advance_ms(1000);
    let again = app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(200).json();
    assert_eq!((&again["id"], &again["expires_at"]), (&first["id"], &first["expires_at"]));
    assert_eq!(again["expires_in_ms"], 599_000);
}

#[tokio::test]
async fn nothing_left_for_best_is_sold_out() {
    let app = TestApp::with_hall().await;
    let best = |qty: u32| json!({"holder": "alice", "lines": [{"offer": "hall", "best": {"qty": qty}}]});
    app.admin().post("/v1/holds", best(21)).await.expect_problem(409, "sold_out");
    app.admin().post("/v1/holds", best(20)).await.expect(201);
}

#[tokio::test]
async fn a_hold_is_takeable_the_moment_it_expires() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    app.clock.advance_ms(599_999);
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect_problem(409, "unit_taken");
    app.clock.advance_ms(1);
    let read = app.admin().get(&format!("/v1/holds/{hold}")).await.expect(200).json();
    assert_eq!((&read["state"], &read["expires_in_ms"]), (&json!("expired"), &json!(0)));
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect(201);
    app.admin().book(&hold, "k").await.expect_problem(409, "hold_expired");
}

#[tokio::test]
async fn a_hold_can_be_extended_three_times() {
    let app = TestApp::with_hall().await;
    let path = format!("/v1/holds/{}/extend", app.admin().hold(seat("alice", "A-1")).await);
    for round in 1..=3 {
        app.clock.advance_ms(60_000);
        let extended = app.admin().post(&path, json!({})).await.expect(200).json();
        assert_eq!((&extended["expires_in_ms"], &extended["extensions"]), (&json!(600_000), &json!(round)));
    }
    app.admin().post(&path, json!({})).await.expect_problem(409, "limit_reached");
}

#[tokio::test]
async fn releasing_is_repeatable_and_frees_the_seat() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let path = format!("/v1/holds/{hold}");
    for _ in 0..2 {
        let released = app.admin().delete(&path).await.expect(204);
        assert!(released.body.is_empty());
    }
    assert_eq!(app.admin().get(&path).await.json()["state"], "released");
    app.admin().post(&format!("{path}/extend"), json!({})).await.expect_problem(409, "hold_released");
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect(201);
}

#[tokio::test]
async fn limits_count_what_is_held_and_booked() {
    let mut offer = hall();
    offer["limit_per_holder"] = json!(2);
    let app = TestApp::with_offer(offer).await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    app.admin().book(&hold, "k").await.expect(201);
    app.admin().post("/v1/holds", seat("alice", "A-2")).await.expect(201);
    let refused =
        app.admin().post("/v1/holds", seat("alice", "A-3")).await.expect_problem(409, "limit_reached");
    assert!(refused.json()["detail"].as_str().unwrap().contains("up to 2 of hall and already have 2"));
    app.admin().post("/v1/holds", seat("bob", "A-3")).await.expect(201);
}

#[tokio::test]
async fn what_does_not_exist_is_named() {
    let app = TestApp::with_hall().await;
    let admin = app.admin();
    admin.post("/v1/holds", seat("a", "Z-1")).await.expect_problem(404, "unknown_unit");
    let nowhere = json!({"holder": "a", "lines": [{"offer": "nowhere", "unit": "A-1"}]});
    admin.post("/v1/holds", nowhere).await.expect_problem(404, "unknown_offer");
    for id in ["hold_00000000000000000000000000", "hold_1", "nonsense", "%FF"] {
        admin.get(&format!("/v1/holds/{id}")).await.expect_problem(404, "unknown_hold");
        admin.delete(&format!("/v1/holds/{id}")).await.expect_problem(404, "unknown_hold");
        admin.post(&format!("/v1/holds/{id}/extend"), json!({})).await.expect_problem(404, "unknown_hold");
    }
}

#[tokio::test]
async fn a_slot_starts_on_the_grid_within_hours_and_with_an_offset() {
    let app = TestApp::with_offer(dr_lee()).await;
    let at = |start: &str| json!({"holder": "alice", "lines": [{"offer": "dr-lee", "service": "consult", "start": start}]});
    for start in [
        "2026-11-16T09:00:00",
        "2026-11-16T09:05:00+01:00",
        "2026-11-16T08:45:00+01:00",
        "2026-11-16T16:45:00+01:00",
        "2026-11-15T09:00:00+01:00",
        "2026-12-25T09:00:00+01:00",
        "tomorrow",
    ] {
        app.admin().post("/v1/holds", at(start)).await.expect_problem(422, "invalid_time");
    }
    app.admin().post("/v1/holds", at("2026-11-16T16:30:00+01:00")).await.expect(201);
    app.admin().post("/v1/holds", at("2026-11-16T08:00:00Z")).await.expect(201);
    let other = json!({"holder": "bob", "lines": [
        {"offer": "dr-lee", "service": "consult", "start": "2026-11-16T09:30:00+01:00"}]});
    app.admin().post("/v1/holds", other).await.expect_problem(409, "unit_taken");
}

#[tokio::test]
async fn currencies_and_units_do_not_mix() {
    let app = TestApp::with_hall().await;
    let mut yen = fest();
    yen["currency"] = json!("JPY");
    app.admin().post("/v1/offers", yen).await.expect(201);
    let twice = json!([{"offer": "hall", "unit": "A-1"}, {"offer": "hall", "unit": "A-1"}]);
    let mixed = json!([{"offer": "hall", "unit": "A-1"}, {"offer": "fest", "unit": "GA"}]);
    for lines in [twice, mixed] {
        let body = json!({"holder": "alice", "lines": lines});
        app.admin().post("/v1/holds", body).await.expect_problem(400, "invalid_request");
    }
}
