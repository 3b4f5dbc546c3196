use futures::future::join_all;
use serde_json::json;

use crate::app::{TestApp, hall, seat};

#[tokio::test]
async fn the_same_key_gives_the_same_bytes() {
    let app = TestApp::with_hall().await;
    let first = app.admin().post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201);
    assert!(!first.is_replayed());
    app.clock.advance_ms(5_000);
    let second = app.admin().post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201);
    assert!(second.is_replayed());
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("content-type"), second.header("content-type"));
}

#[tokio::test]
async fn every_post_honours_its_key() {
    let app = TestApp::embedded().await;
    let admin = app.admin();
    let twice = async |path: &str, key: &str, body: serde_json::Value| {
        let first = admin.post_keyed(path, key, body.clone()).await;
        let second = admin.post_keyed(path, key, body).await;
        assert_eq!((first.status, &first.body), (second.status, &second.body), "{path}");
        assert!(second.is_replayed(), "{path}");
        first.json()
    };
    twice("/v1/offers", "1", hall()).await;
    twice("/v1/offers/hall/block", "2", json!({"units": ["B-1"]})).await;
    twice("/v1/offers/hall/unblock", "3", json!({"units": ["B-1"]})).await;
    let hold = twice("/v1/holds", "4", seat("alice", "A-1")).await;
    let hold = hold["id"].as_str().unwrap();
    twice(&format!("/v1/holds/{hold}/extend"), "5", json!({})).await;
    let booking = twice("/v1/bookings", "6", json!({"hold": hold})).await;
    let booking = booking["id"].as_str().unwrap();
    twice(&format!("/v1/bookings/{booking}/cancel"), "7", json!({})).await;
}

#[tokio::test]
async fn a_key_is_not_for_another_request() {
    let app = TestApp::with_hall().await;
    let admin = app.admin();
    admin.post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201);
    admin
        .post_keyed("/v1/holds", "k", seat("alice", "A-2"))
        .await
        .expect_problem(422, "idempotency_key_reused");
    let block = json!({"units": ["A-2"]});
    let other_route = admin.post_keyed("/v1/offers/hall/block", "k", block).await;
    other_route.expect_problem(422, "idempotency_key_reused");
    admin.post("/v1/holds", seat("bob", "A-2")).await.expect(201);
}

/// Whatever is wrong with the other request, it is another one first of all.
#[tokio::test]
async fn a_used_key_with_nonsense_is_a_key_used_again() {
    let app = TestApp::with_hall().await;
    let admin = app.admin();
    let hold = admin.post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201).json();
    let hold = hold["id"].as_str().unwrap();
    let booking = admin.book(hold, "b").await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let nonsense = [
        ("/v1/holds".to_owned(), json!({"holder": "alice"})),
        ("/v1/holds".to_owned(), json!({"holder": "al ice", "lines": []})),
        ("/v1/bookings".to_owned(), json!({"hold": "nonsense"})),
        ("/v1/bookings".to_owned(), json!({"hold": hold, "payment": {"provider": "paypal"}})),
        ("/v1/bookings".to_owned(), json!({"hold": hold, "payment": {"provider": "stripe"}})),
        (format!("/v1/holds/{hold}/extend"), json!({"minutes": 5})),
        (format!("/v1/bookings/{booking}/cancel"), json!({"why": "rain"})),
        ("/v1/offers".to_owned(), json!({"id": "opera"})),
        ("/v1/offers/hall/block".to_owned(), json!({"units": 1})),
    ];
    for (path, body) in nonsense {
        for used in ["k", "b"] {
            let refused = admin.post_keyed(&path, used, body.clone()).await;
            refused.expect_problem(422, "idempotency_key_reused");
        }
        let fresh = admin.post_keyed(&path, "never used", body.clone()).await;
        assert_eq!(fresh.status, 400, "a key has no spaces");
        let fresh = admin.post_keyed(&path, "never-used", body).await;
        assert!([400, 404].contains(&fresh.status.as_u16()), "{path}: {}", fresh.status);
    }
    let text = [("content-type", "text/plain"), ("idempotency-key", "k")];
    let other_type = admin.send(hyper::Method::POST, "/v1/holds", &text, "alice wants A-1").await;
    other_type.expect_problem(422, "idempotency_key_reused");
    let first = admin.post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201);
    assert!(first.is_replayed(), "the key stands for what it stood for");
}

#[tokio::test]
async fn a_key_belongs_to_its_caller() {
    let app = TestApp::with_hall().await;
    app.admin().post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201);
    let sellers = app.seller().await.post_keyed("/v1/holds", "k", seat("bob", "A-2")).await.expect(201);
    assert!(!sellers.is_replayed());
}

#[tokio::test]
async fn a_refusal_is_decided_anew() {
    let app = TestApp::with_hall().await;
    let hold = app.admin().hold(seat("alice", "A-1")).await;
    let bobs = async || app.admin().post_keyed("/v1/holds", "k", seat("bob", "A-1")).await;
    bobs().await.expect_problem(409, "unit_taken");
    assert!(!bobs().await.is_replayed());
    app.admin().delete(&format!("/v1/holds/{hold}")).await.expect(204);
    assert!(!bobs().await.expect(201).is_replayed());
}

#[tokio::test]
async fn fifty_at_once_with_one_key_have_one_effect() {
    let app = TestApp::with_hall().await;
    let admin = app.admin();
    let answers = join_all((0..50).map(|_| admin.post_keyed("/v1/holds", "k", seat("alice", "A-1")))).await;
    assert_eq!(answers.iter().filter(|answer| !answer.is_replayed()).count(), 1);
    for answer in &answers {
        assert_eq!((answer.status.as_u16(), &answer.body), (201, &answers[0].body));
    }
    let journal = admin.get("/v1/journal?offer=hall").await.json();
    assert_eq!(journal["data"].as_array().unwrap().len(), 2, "{journal}");
}

#[tokio::test]
async fn a_malformed_key_is_refused() {
    let app = TestApp::with_hall().await;
    let long = "k".repeat(256);
    for key in ["", "a b", "é", &long] {
        let refused = app.admin().post_keyed("/v1/holds", key, seat("alice", "A-1")).await;
        refused.expect_problem(400, "invalid_request");
    }
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect(201);
}

#[tokio::test]
async fn a_used_key_at_an_address_that_names_nothing_is_reused() {
    let app = TestApp::with_hall().await;
    let seller = app.seller().await;
    seller.post_keyed("/v1/holds", "k", seat("alice", "A-1")).await.expect(201);
    for path in ["/v1/holds/nonsense/extend", "/v1/bookings/nonsense/cancel"] {
        seller.post_keyed(path, "k", json!({})).await.expect_problem(422, "idempotency_key_reused");
        assert_eq!(seller.post_keyed(path, "fresh", json!({})).await.status, 404);
    }
}
