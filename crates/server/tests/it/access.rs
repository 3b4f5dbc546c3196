use hyper::Method;
use serde_json::json;

use crate::app::{JSON, TestApp, hall, seat};

fn lines(unit: &str) -> serde_json::Value {
    json!({"lines": [{"offer": "hall", "unit": unit}]})
}

#[tokio::test]
async fn an_organisers_routes_need_an_admin() {
    let app = TestApp::with_hall().await;
    let (nobody, seller) = (app.client(), app.seller().await);
    let units = json!({"units": ["A-1"]});
    for (path, body) in
        [("/v1/offers", hall()), ("/v1/offers/hall/block", units.clone()), ("/v1/offers/hall/unblock", units)]
    {
        nobody.post(path, body.clone()).await.expect_problem(401, "unauthenticated");
        seller.post(path, body).await.expect_problem(403, "forbidden");
    }
    nobody.patch("/v1/offers/hall", json!({"name": "x"})).await.expect_problem(401, "unauthenticated");
    nobody.get("/v1/journal").await.expect_problem(401, "unauthenticated");
    seller.get("/v1/journal").await.expect_problem(403, "forbidden");
    nobody.get("/v1/bookings").await.expect_problem(401, "unauthenticated");
    seller.get("/v1/bookings").await.expect(200);
}

#[tokio::test]
async fn a_wrong_key_is_refused_wherever_a_key_counts() {
    let app = TestApp::with_hall().await;
    for credentials in
        ["Bearer nonsense", "Bearer hf_aaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbb", "Basic YTpi", "Bearer", ""]
    {
        let client = app.client().with("authorization", credentials);
        let refused =
            client.post("/v1/holds", seat("alice", "A-1")).await.expect_problem(401, "unauthenticated");
        assert_eq!(refused.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn a_key_names_the_holder_and_a_browser_does_not() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/holds", lines("A-1")).await.expect_problem(400, "invalid_request");
    app.client().post("/v1/holds", seat("alice", "A-1")).await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn a_guest_is_another_one_each_time() {
    let app = TestApp::with_hall().await;
    let guest = json!({"holder": null, "lines": [{"offer": "hall", "unit": "A-1"}]});
    let held = app.admin().post("/v1/holds", guest.clone()).await.expect(201);
    assert!(held.json()["holder"].as_str().unwrap().starts_with("guest_"));
    app.admin().post("/v1/holds", guest.clone()).await.expect_problem(409, "unit_taken");
    app.client().post("/v1/holds", guest).await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn a_browser_is_given_a_session_and_keeps_it() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let first = browser.post("/v1/holds", lines("A-1")).await.expect(201);
    let cookie = first.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let second = browser.post("/v1/holds", lines("A-2")).await.expect(201);
    let given: Vec<_> = second.headers.get_all("set-cookie").iter().collect();
    assert!(
        given.iter().all(|cookie| !cookie.to_str().unwrap().starts_with("holdfast_session=")),
        "{given:?}"
    );
    assert_eq!(first.json()["holder"], second.json()["holder"]);
}

#[tokio::test]
async fn a_refused_first_post_still_begins_the_session() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    let refused = app.client().post("/v1/holds", lines("A-1")).await.expect_problem(409, "unit_taken");
    assert!(refused.header("set-cookie").starts_with("holdfast_session="));
}

#[tokio::test]
async fn anothers_hold_and_booking_are_as_if_they_did_not_exist() {
    let app = TestApp::with_hall().await;
    let (owner, stranger) = (app.client(), app.client());
    let hold = owner.hold(lines("A-1")).await;
    stranger.post("/v1/holds", lines("A-2")).await.expect(201);
    let path = format!("/v1/holds/{hold}");
    let missing = "/v1/holds/hold_00000000000000000000000000";
    let same = async |method: Method, path: &str, other: &str| {
        let mut bodies = Vec::new();
        for path in [path, other] {
            let answer = stranger.send(method.clone(), path, &[("x-request-id", "same")], "").await;
            bodies.push((answer.status, answer.body));
        }
        assert_eq!(bodies[0], bodies[1], "{method} {path}");
        assert_eq!(bodies[0].0, 404);
    };
    same(Method::GET, &path, missing).await;
    same(Method::DELETE, &path, missing).await;
    same(Method::POST, &format!("{path}/extend"), &format!("{missing}/extend")).await;
    stranger.book(&hold, "k").await.expect_problem(404, "unknown_hold");

    owner.get(&path).await.expect(200);
    let booking = owner.book(&hold, "k").await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let (path, missing) = (format!("/v1/bookings/{booking}"), "/v1/bookings/bk_00000000000000000000000000");
    same(Method::GET, &path, missing).await;
    same(Method::POST, &format!("{path}/cancel"), &format!("{missing}/cancel")).await;
    app.seller().await.get(&path).await.expect(200);
    owner.post(&format!("{path}/cancel"), json!({})).await.expect(200);
}

#[tokio::test]
async fn a_forged_session_is_a_stranger() {
    let app = TestApp::with_hall().await;
    let owner = app.client();
    let hold = owner.post("/v1/holds", lines("A-1")).await.expect(201).json();
    let forged = format!("holdfast_session={}.AAAA", hold["holder"].as_str().unwrap());
    let path = format!("/v1/holds/{}", hold["id"].as_str().unwrap());
    app.client().with("cookie", &forged).get(&path).await.expect_problem(404, "unknown_hold");
}

#[tokio::test]
async fn another_sites_page_cannot_post() {
    let app = TestApp::with_hall().await;
    let body = lines("A-1").to_string();
    for header in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example"), ("origin", "null")] {
        let refused = app.client().send(Method::POST, "/v1/holds", &[JSON, header], body.clone()).await;
        refused.expect_problem(403, "forbidden");
    }
    let own = ("origin", format!("http://{}", app.address));
    app.client().send(Method::POST, "/v1/holds", &[JSON, (own.0, &own.1)], body).await.expect(201);
}

#[tokio::test]
async fn the_journal_says_who() {
    let app = TestApp::with_hall().await;
    let seller = app.seller().await;
    let hold = seller.hold(seat("alice", "A-1")).await;
    let journal = app.admin().get(&format!("/v1/journal?hold={hold}")).await.expect(200).json();
    let entry = &journal["data"][0];
    assert_eq!((&entry["kind"], &entry["offer"]), (&json!("hold_placed"), &json!("hall")));
    assert_eq!((&entry["units"], &entry["hold"]), (&json!(["A-1"]), &json!(hold)));
    assert!(entry["actor"].as_str().unwrap().starts_with("key:"), "{entry}");
    assert_eq!(entry["hash"].as_str().unwrap().len(), 64);
}

#[tokio::test]
async fn whether_a_name_can_be_one_is_told_only_to_those_who_may_ask() {
    let app = TestApp::with_hall().await;
    let (browser, seller) = (app.client(), app.seller().await);
    let units = json!({"units": ["A-1"]});
    for offer in ["nowhere", "NO%20NAME"] {
        let block = format!("/v1/offers/{offer}/block");
        browser.post(&block, units.clone()).await.expect_problem(401, "unauthenticated");
        seller.post(&block, units.clone()).await.expect_problem(403, "forbidden");
        app.admin().post(&block, units.clone()).await.expect_problem(404, "unknown_offer");
    }
    let wrong = app.client().with("authorization", "Bearer wrong");
    for path in ["/v1/holds/nonsense", "/v1/bookings/nonsense"] {
        wrong.get(path).await.expect_problem(401, "unauthenticated");
        assert_eq!(browser.get(path).await.status, 404);
    }
}
