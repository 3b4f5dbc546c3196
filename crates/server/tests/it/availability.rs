use serde_json::{Value, json};

use crate::app::{TestApp, dr_lee, fest, seat};

#[track_caller]
fn add_up(counts: &Value) {
    let count = |name: &str| counts[name].as_u64().unwrap();
    let sum = count("available") + count("held") + count("booked") + count("blocked");
    assert_eq!(sum, count("capacity"), "{counts}");
}

#[tokio::test]
async fn every_seat_is_listed_with_its_state() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    let hold = app.admin().hold(seat("alice", "A-2")).await;
    app.admin().book(&hold, "k").await.expect(201);
    app.admin().post("/v1/offers/hall/block", json!({"units": ["A-3"]})).await.expect(200);
    let shown = app.client().get("/v1/offers/hall/availability").await.expect(200).json();
    assert_eq!((&shown["offer"], &shown["as_of"]), (&json!("hall"), &json!("2026-11-15T18:00:00.000Z")));
    let expected = json!({"capacity": 20, "available": 17, "held": 1, "booked": 1, "blocked": 1});
    assert_eq!(shown["counts"], expected);
    let first = json!({"unit": "A-1", "state": "held", "remaining": 0, "category": "A", "price": 4500});
    assert_eq!(shown["units"][0], first);
    let states: Vec<_> = (0..4).map(|at| shown["units"][at]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["held", "booked", "blocked", "available"]);
    assert_eq!(shown["units"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn an_unchanged_offer_is_not_sent_again() {
    let app = TestApp::with_hall().await;
    let path = "/v1/offers/hall/availability";
    let first = app.client().get(path).await.expect(200);
    let tag = first.header("etag").to_owned();
    app.clock.advance_ms(10);
    let again = app.client().get_with(path, ("if-none-match", &tag)).await.expect(304);
    assert!(again.body.is_empty());
    assert_eq!(again.header("etag"), tag);
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    let changed = app.client().get_with(path, ("if-none-match", &tag)).await.expect(200);
    assert_ne!(changed.header("etag"), tag);
}

#[tokio::test]
async fn stock_is_available_while_some_is_left() {
    let app = TestApp::with_offer(fest()).await;
    let take = |qty: u32| json!({"holder": "alice", "lines": [{"offer": "fest", "unit": "GA", "qty": qty}]});
    app.admin().post("/v1/holds", take(2)).await.expect(201);
    let shown = app.client().get("/v1/offers/fest/availability").await.expect(200).json();
    assert_eq!(shown["units"], json!([{"unit": "GA", "state": "available", "remaining": 3, "price": 3000}]));
    add_up(&shown["counts"]);
    app.admin().post("/v1/holds", take(3)).await.expect(201);
    let shown = app.client().get("/v1/offers/fest/availability").await.expect(200).json();
    assert_eq!((&shown["units"][0]["state"], &shown["units"][0]["remaining"]), (&json!("held"), &json!(0)));
}

#[tokio::test]
async fn a_calendar_lists_its_starts_taken_or_not() {
    let app = TestApp::with_offer(dr_lee()).await;
    let lines = json!([{"offer": "dr-lee", "service": "consult", "start": "2026-11-16T09:30:00+01:00"}]);
    app.admin().post("/v1/holds", json!({"holder": "alice", "lines": lines})).await.expect(201);
    let path = "/v1/offers/dr-lee/availability?from=2026-11-16&to=2026-11-16&service=consult";
    let shown = app.client().get(path).await.expect(200).json();
    let starts = shown["starts"].as_array().unwrap();
    assert_eq!(starts.len(), 31, "every quarter from 09:00 to 16:30");
    let first = json!({"start": "2026-11-16T09:00:00+01:00", "unit": "2026-11-16T08:00Z", "service": "consult",
        "state": "held", "remaining": 0});
    assert_eq!(starts[0], first, "its buffer runs into the one at 09:30");
    let state = |start: &str| starts.iter().find(|at| at["start"] == start).unwrap()["state"].clone();
    assert_eq!(state("2026-11-16T09:30:00+01:00"), "held");
    assert_eq!(state("2026-11-16T10:15:00+01:00"), "available");
    let expected = json!({"capacity": 32, "available": 29, "held": 3, "booked": 0, "blocked": 0});
    assert_eq!(shown["counts"], expected);
}

#[tokio::test]
async fn a_calendar_shows_a_week_when_nobody_says() {
    let app = TestApp::with_offer(dr_lee()).await;
    let shown = app.client().get("/v1/offers/dr-lee/availability").await.expect(200).json();
    assert_eq!(shown["counts"]["capacity"], 5 * 32, "Sunday to Saturday has five working days");
    add_up(&shown["counts"]);
    let empty = app.client().get("/v1/offers/dr-lee/availability?from=2026-12-25&to=2026-12-25").await;
    assert_eq!(empty.expect(200).json()["starts"], json!([]), "closed");
}

#[tokio::test]
async fn a_range_that_makes_no_sense_is_refused() {
    let app = TestApp::with_offer(dr_lee()).await;
    for query in [
        "from=yesterday",
        "from=2026-11-17&to=2026-11-16",
        "from=2026-01-01&to=2099-01-01",
        "from=2026-02-30",
        "x=1",
    ] {
        let path = format!("/v1/offers/dr-lee/availability?{query}");
        app.client().get(&path).await.expect_problem(400, "invalid_request");
    }
    let unknown = "/v1/offers/dr-lee/availability?service=massage";
    app.client().get(unknown).await.expect_problem(404, "unknown_unit");
    app.client().get("/v1/offers/nowhere/availability").await.expect_problem(404, "unknown_offer");
}

#[tokio::test]
async fn a_year_of_many_services_is_asked_for_one_by_one() {
    let mut offer = dr_lee();
    let service = |at: u32| json!({"key": format!("s{at}"), "minutes": 30, "price": 0});
    offer["slots"]["services"] = (0..1_000).map(service).collect();
    let app = TestApp::with_offer(offer).await;
    let year = "/v1/offers/dr-lee/availability?from=2026-01-01&to=2026-12-31";
    let refused = app.client().get(year).await.expect_problem(400, "invalid_request");
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("service: must be named"));
    app.client().get(&format!("{year}&service=s1")).await.expect(200);
    let day = app.client().get("/v1/offers/dr-lee/availability?from=2026-11-16&to=2026-11-16").await;
    assert_eq!(day.expect(200).json()["starts"].as_array().unwrap().len(), 31 * 1_000);
}
