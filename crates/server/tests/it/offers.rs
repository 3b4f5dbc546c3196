use serde_json::json;

use crate::app::{TestApp, dr_lee, fest, hall, seat};

#[tokio::test]
async fn an_offer_reads_back_as_it_was_made() {
    let app = TestApp::embedded().await;
    let made = app.admin().post("/v1/offers", hall()).await.expect(201).json();
    let read = app.client().get("/v1/offers/hall").await.expect(200).json();
    assert_eq!(made, read);
    assert_eq!(read["seats"], hall()["seats"]);
    assert_eq!(
        read["counts"],
        json!({"capacity": 20, "available": 20, "held": 0, "booked": 0, "blocked": 0})
    );
    assert_eq!(read["created_at"], "2026-11-15T18:00:00.000Z");
    assert_eq!(read["limit_per_holder"], json!(null));
}

#[tokio::test]
async fn all_three_kinds_can_be_put_on_sale() {
    let app = TestApp::embedded().await;
    for offer in [hall(), fest(), dr_lee()] {
        let made = app.admin().post("/v1/offers", offer.clone()).await.expect(201).json();
        assert_eq!(made["kind"], offer["kind"]);
    }
}

#[tokio::test]
async fn an_offer_without_an_id_is_given_a_readable_one() {
    let app = TestApp::embedded().await;
    let mut offer = hall();
    offer["id"] = json!(null);
    let made = app.admin().post("/v1/offers", offer).await.expect(201).json();
    assert!(made["id"].as_str().unwrap().starts_with("night-at-the-hall-"), "{made}");
}

#[tokio::test]
async fn the_same_id_twice_is_refused() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/offers", hall()).await.expect_problem(409, "offer_exists");
}

#[tokio::test]
async fn a_kind_comes_with_exactly_its_own_inventory() {
    let app = TestApp::embedded().await;
    let mut both = hall();
    both["stock"] = fest()["stock"].clone();
    let mut none = hall();
    none.as_object_mut().unwrap().remove("seats");
    let mut other = hall();
    other["kind"] = json!("stock");
    for offer in [both, none, other] {
        app.admin().post("/v1/offers", offer).await.expect_problem(400, "invalid_request");
    }
}

#[tokio::test]
async fn offers_are_listed_in_pages() {
    let app = TestApp::embedded().await;
    for offer in [hall(), fest(), dr_lee()] {
        app.admin().post("/v1/offers", offer).await.expect(201);
    }
    let first = app.client().get("/v1/offers?limit=2").await.expect(200).json();
    assert_eq!(first["data"][1]["id"], "fest");
    let after = first["next"].as_str().unwrap();
    let second = app.client().get(&format!("/v1/offers?limit=2&after={after}")).await.expect(200).json();
    assert_eq!(second["data"][0]["id"], "dr-lee");
    assert_eq!((second["data"].as_array().unwrap().len(), &second["next"]), (1, &json!(null)));
}

#[tokio::test]
async fn an_amendment_changes_what_it_names_and_nothing_else() {
    let app = TestApp::with_hall().await;
    let body = json!({"name": "Later", "limit_per_holder": 2, "opens_at": "2026-11-20T10:00:00+01:00"});
    let amended = app.admin().patch("/v1/offers/hall", body).await.expect(200).json();
    assert_eq!(amended["name"], "Later");
    assert_eq!(amended["opens_at"], "2026-11-20T09:00:00.000Z");
    assert_eq!(amended["hold_ttl_s"], 600);
    app.seller().await.post("/v1/holds", seat("alice", "A-1")).await.expect_problem(409, "not_on_sale");
    app.admin().patch("/v1/offers/hall", json!({"opens_at": null})).await.expect(200);
    app.seller().await.post("/v1/holds", seat("alice", "A-1")).await.expect(201);
}

#[tokio::test]
async fn stock_cannot_shrink_below_what_is_claimed() {
    let app = TestApp::with_offer(fest()).await;
    let hold = json!({"holder": "alice", "lines": [{"offer": "fest", "unit": "GA", "qty": 3}]});
    app.admin().post("/v1/holds", hold).await.expect(201);
    let capacity = |n: u32| json!({"stock": {"lines": [{"key": "GA", "capacity": n}]}});
    app.admin().patch("/v1/offers/fest", capacity(2)).await.expect_problem(409, "unit_taken");
    let amended = app.admin().patch("/v1/offers/fest", capacity(3)).await.expect(200).json();
    assert_eq!(amended["counts"]["available"], 0);
}

#[tokio::test]
async fn an_empty_amendment_is_refused() {
    let app = TestApp::with_hall().await;
    app.admin().patch("/v1/offers/hall", json!({})).await.expect_problem(400, "invalid_request");
    app.admin().patch("/v1/offers/nowhere", json!({"name": "x"})).await.expect_problem(404, "unknown_offer");
}

#[tokio::test]
async fn a_blocked_seat_is_not_sold_until_it_is_unblocked() {
    let app = TestApp::with_hall().await;
    let units = json!({"units": ["A-1"]});
    let blocked = app.admin().post("/v1/offers/hall/block", units.clone()).await.expect(200).json();
    assert_eq!(blocked["counts"]["blocked"], 1);
    let refused =
        app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect_problem(409, "unit_blocked");
    assert_eq!(refused.json()["conflicts"], json!([{"offer": "hall", "unit": "A-1", "state": "blocked"}]));
    app.admin().post("/v1/offers/hall/unblock", units).await.expect(200);
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
}

#[tokio::test]
async fn blocking_what_is_sold_or_unknown_is_refused() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    let block = |unit: &str| json!({"units": [unit]});
    app.admin().post("/v1/offers/hall/block", block("A-1")).await.expect_problem(409, "unit_taken");
    app.admin().post("/v1/offers/hall/block", block("Z-1")).await.expect_problem(404, "unknown_unit");
    app.admin().post("/v1/offers/no/block", block("A-1")).await.expect_problem(404, "unknown_offer");
}
