//! Input that no honest client sends: each gets its typed error, and nothing changes.

use hyper::Method;
use serde_json::json;

use crate::app::{JSON, TestApp, dr_lee, fest, hall, seat};

async fn nothing_changed(app: &TestApp) {
    let offer = app.client().get("/v1/offers/hall").await.expect(200).json();
    assert_eq!(offer["version"], "1.1");
    assert_eq!(offer["counts"]["available"], 20);
}

#[tokio::test]
async fn bodies_that_are_no_hold_are_refused() {
    let app = TestApp::with_hall().await;
    let hold = |line: &str| format!(r#"{{"holder":"alice","lines":[{line}]}}"#);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = "x".repeat(129);
    let table: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", vec![]),
        ("no JSON", b"nonsense".to_vec()),
        ("half", br#"{"holder":"alice""#.to_vec()),
        ("two", format!("{}{}", seat("a", "A-1"), seat("a", "A-1")).into()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a string", b"\"hold\"".to_vec()),
        ("deep", deep.clone().into()),
        ("deep inside", hold(&format!(r#"{{"offer":"hall","unit":{deep}}}"#)).into()),
        ("not UTF-8", b"{\"holder\":\"\xff\",\"lines\":[{\"offer\":\"hall\",\"unit\":\"A-1\"}]}".to_vec()),
        (
            "unknown field",
            br#"{"holder":"alice","lines":[{"offer":"hall","unit":"A-1"}],"admin":true}"#.to_vec(),
        ),
        ("unknown field in a line", hold(r#"{"offer":"hall","unit":"A-1","price":1}"#).into()),
        ("a field twice", br#"{"holder":"a","holder":"b","lines":[{"offer":"hall","unit":"A-1"}]}"#.to_vec()),
        ("no lines", br#"{"holder":"alice","lines":[]}"#.to_vec()),
        ("lines missing", br#"{"holder":"alice"}"#.to_vec()),
        ("too many lines", hold(&vec![r#"{"offer":"hall","unit":"A-1"}"#; 101].join(",")).into()),
        ("qty 0", hold(r#"{"offer":"hall","unit":"A-1","qty":0}"#).into()),
        ("qty 2 of a seat", hold(r#"{"offer":"hall","unit":"A-1","qty":2}"#).into()),
        ("negative qty", hold(r#"{"offer":"hall","unit":"A-1","qty":-1}"#).into()),
        ("fractional qty", hold(r#"{"offer":"hall","unit":"A-1","qty":1.0}"#).into()),
        ("exponent qty", hold(r#"{"offer":"hall","unit":"A-1","qty":1e0}"#).into()),
        ("qty beyond 32 bits", hold(r#"{"offer":"hall","unit":"A-1","qty":4294967297}"#).into()),
        ("qty beyond 64 bits", hold(r#"{"offer":"hall","unit":"A-1","qty":99999999999999999999}"#).into()),
        ("qty as text", hold(r#"{"offer":"hall","unit":"A-1","qty":"1"}"#).into()),
        ("unit as number", hold(r#"{"offer":"hall","unit":1}"#).into()),
        ("two ways at once", hold(r#"{"offer":"hall","unit":"A-1","best":{"qty":1}}"#).into()),
        ("no way at all", hold(r#"{"offer":"hall"}"#).into()),
        ("start as number", hold(r#"{"offer":"hall","service":"x","start":1}"#).into()),
        (
            "a service of a hall",
            hold(r#"{"offer":"hall","service":"x","start":"2026-11-16T09:00:00Z"}"#).into(),
        ),
        ("unknown category", hold(r#"{"offer":"hall","best":{"qty":1,"category":"Z"}}"#).into()),
        ("offer as number", hold(r#"{"offer":1,"unit":"A-1"}"#).into()),
        ("impossible category", hold(r#"{"offer":"hall","best":{"qty":1,"category":"A\u0000"}}"#).into()),
        ("control character in the holder", seat("al\u{1}ice", "A-1").to_string().into()),
        ("direction change in the holder", seat("al\u{202e}ice", "A-1").to_string().into()),
        ("space in the holder", seat("al ice", "A-1").to_string().into()),
        ("empty holder", seat("", "A-1").to_string().into()),
        ("long holder", seat(&long, "A-1").to_string().into()),
    ];
    for (what, body) in table {
        let answer = app.admin().send(Method::POST, "/v1/holds", &[JSON], body).await;
        assert_eq!(answer.status, 400, "{what}: {}", String::from_utf8_lossy(&answer.body));
        answer.expect_problem(400, "invalid_request");
    }
    nothing_changed(&app).await;
}

#[tokio::test]
async fn what_can_be_no_name_names_nothing() {
    let app = TestApp::with_offer(dr_lee()).await;
    app.admin().post("/v1/offers", hall()).await.expect(201);
    let long = "x".repeat(60_000);
    let slot =
        |offer: &str, service: &str, start: &str| json!({"offer": offer, "service": service, "start": start});
    let unit = |offer: &str, unit: &str| json!({"offer": offer, "unit": unit});
    for (line, code) in [
        (unit("does_not_exist", "A-1"), "unknown_offer"),
        (unit("Hall!", "A 1"), "unknown_offer"),
        (unit(&long, "A-1"), "unknown_offer"),
        (slot("nowhere", "consult", "tomorrow"), "unknown_offer"),
        (unit("hall", "A-1\u{0}"), "unknown_unit"),
        (unit("hall", "A 1"), "unknown_unit"),
        (unit("hall", ""), "unknown_unit"),
        (unit("hall", &long), "unknown_unit"),
        (slot("dr-lee", &long, "tomorrow"), "unknown_unit"),
    ] {
        let refused = app.admin().post("/v1/holds", json!({"holder": "alice", "lines": [line]})).await;
        assert!(refused.expect_problem(404, code).body.len() < 1000, "{code}");
    }
    let blocked = app.admin().post("/v1/offers/hall/block", json!({"units": [long]})).await;
    assert!(blocked.expect_problem(404, "unknown_unit").body.len() < 1000);
    let line = slot("dr-lee", "consult", "tomorrow");
    let refused = app.admin().post("/v1/holds", json!({"holder": "alice", "lines": [line]})).await;
    refused.expect_problem(422, "invalid_time");
}

#[tokio::test]
async fn a_name_is_found_however_it_is_composed() {
    let (composed, apart) = ("caf\u{e9}", "cafe\u{301}");
    let app = TestApp::embedded().await;
    let mut offer = fest();
    offer["stock"]["lines"][0]["key"] = json!(apart);
    app.admin().post("/v1/offers", offer).await.expect(201);
    let mut offer = hall();
    offer["seats"]["sections"][0]["category"] = json!(apart);
    app.admin().post("/v1/offers", offer).await.expect(201);
    let mut offer = dr_lee();
    offer["slots"]["services"][0]["key"] = json!(apart);
    app.admin().post("/v1/offers", offer).await.expect(201);
    for (holder, key) in [("alice", composed), ("bob", apart)] {
        let lines =
            json!([{"offer": "fest", "unit": key}, {"offer": "hall", "best": {"qty": 1, "category": key}}]);
        app.admin().post("/v1/holds", json!({"holder": holder, "lines": lines})).await.expect(201);
    }
    let slot = json!({"offer": "dr-lee", "service": apart, "start": "2026-11-16T09:00:00+01:00"});
    app.admin().post("/v1/holds", json!({"holder": "alice", "lines": [slot]})).await.expect(201);
    app.admin().post("/v1/offers/fest/block", json!({"units": [apart]})).await.expect(200);
    let larger = json!({"stock": {"lines": [{"key": apart, "capacity": 9}]}});
    app.admin().patch("/v1/offers/fest", larger).await.expect(200);
}

#[tokio::test]
async fn offers_that_make_no_sense_are_refused() {
    let app = TestApp::with_hall().await;
    let with = |pointer: &str, value: serde_json::Value| {
        let mut offer = hall();
        offer["id"] = json!("other");
        *offer.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        offer
    };
    let row = "/seats/sections/0/rows/0";
    for offer in [
        with("/id", json!("No Spaces")),
        with("/id", json!("")),
        with("/id", json!("x".repeat(65))),
        with("/name", json!("")),
        with("/name", json!("a\u{0}b")),
        with("/name", json!("\u{202e}gnitlem")),
        with("/kind", json!("dreams")),
        with("/currency", json!("eur")),
        with("/currency", json!("ZZZ")),
        with("/hold_ttl_s", json!(0)),
        with("/hold_ttl_s", json!(-1)),
        with("/hold_ttl_s", json!(1.5)),
        with("/hold_ttl_s", json!(4_294_967_296u64)),
        with("/seats/sections", json!([])),
        with("/seats/sections/0/price", json!(-1)),
        with("/seats/sections/0/price", json!(1_000_000_000_000u64)),
        with("/seats/sections/0/price", json!(18_446_744_073_709_551_615u64)),
        with(&format!("{row}/seats"), json!(0)),
        with(&format!("{row}/seats"), json!(10_001)),
        with(&format!("{row}/name"), json!("B")),
        with(&format!("{row}/name"), json!("A\n")),
    ] {
        app.admin().post("/v1/offers", offer).await.expect_problem(400, "invalid_request");
    }
    app.client().get("/v1/offers/other").await.expect_problem(404, "unknown_offer");
}

#[tokio::test]
async fn too_large_is_413_for_whoever_sends_it() {
    let app = TestApp::with_hall().await;
    let huge = vec![b' '; 100_000];
    app.admin()
        .send(Method::POST, "/v1/holds", &[JSON], huge.clone())
        .await
        .expect_problem(413, "payload_too_large");
    app.admin().send(Method::POST, "/v1/offers", &[JSON], huge).await.expect_problem(400, "invalid_request");
    let gigantic = vec![b' '; 9 * 1024 * 1024];
    app.admin()
        .send(Method::POST, "/v1/offers", &[JSON], gigantic)
        .await
        .expect_problem(413, "payload_too_large");
    nothing_changed(&app).await;
}

#[tokio::test]
async fn only_json_is_read() {
    let app = TestApp::with_hall().await;
    let body = seat("alice", "A-1").to_string();
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
    {
        let headers = [("content-type", content_type)];
        let refused = app.admin().send(Method::POST, "/v1/holds", &headers, body.clone()).await;
        refused.expect_problem(415, "unsupported_media_type");
    }
    app.admin()
        .send(Method::POST, "/v1/holds", &[], body.clone())
        .await
        .expect_problem(415, "unsupported_media_type");
    nothing_changed(&app).await;
    let headers = [("content-type", "Application/JSON; charset=utf-8")];
    app.admin().send(Method::POST, "/v1/holds", &headers, body).await.expect(201);
}

#[tokio::test]
async fn other_methods_and_paths_are_typed_too() {
    let app = TestApp::with_hall().await;
    let refused = app.client().send(Method::PUT, "/v1/holds", &[], "").await;
    assert_eq!(refused.expect_problem(405, "method_not_allowed").header("allow"), "POST");
    let refused = app.client().delete("/v1/offers/hall").await.expect_problem(405, "method_not_allowed");
    assert_eq!(refused.header("allow"), "GET,HEAD,PATCH");
    for path in ["/nowhere", "/v1", "/v1/holds/", "/v1/offers/hall/seats", "/livez/"] {
        app.client().get(path).await.expect_problem(404, "not_found");
    }
}

#[tokio::test]
async fn queries_are_checked_like_bodies() {
    let app = TestApp::with_hall().await;
    for query in ["limit=0", "limit=x", "limit=-1", "limit=1.5", "limit=1&limit=2", "x=1", "after=No%20Id"] {
        app.client().get(&format!("/v1/offers?{query}")).await.expect_problem(400, "invalid_request");
    }
    for query in [
        "hold=x",
        "booking=x",
        "offer=No",
        "limit=-999999999999999999999",
        "limit=999999999999999999999",
        "after=x",
        "after=18446744073709551615",
    ] {
        app.admin().get(&format!("/v1/journal?{query}")).await.expect_problem(400, "invalid_request");
    }
    app.admin().get("/v1/bookings?holder=a%20b").await.expect_problem(400, "invalid_request");
    app.admin().get("/v1/bookings?after=nonsense").await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn an_empty_value_is_none_and_a_page_has_its_most() {
    let app = TestApp::with_hall().await;
    for query in ["limit=", "limit=501", "limit=2147483647", "after=&limit=1"] {
        let listed = app.client().get(&format!("/v1/offers?{query}")).await.expect(200).json();
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{query}");
    }
    app.admin().get("/v1/journal?offer=&unit=&hold=&booking=&after=&limit=").await.expect(200);
    app.admin().get("/v1/bookings?offer=&holder=&payment=&after=&limit=501").await.expect(200);
    app.client().get("/v1/offers/hall/availability?from=&to=&service=").await.expect(200);
}

#[tokio::test]
async fn nothing_may_be_said_to_be_anything() {
    let app = TestApp::with_hall().await;
    let path = format!("/v1/holds/{}/extend", app.admin().hold(seat("alice", "A-1")).await);
    for content_type in ["application/x-www-form-urlencoded", "application/octet-stream", ""] {
        let headers = [("content-type", content_type)];
        app.admin().send(Method::POST, &path, &headers, "").await.expect(200);
        let needs_one = app.admin().send(Method::POST, "/v1/holds", &headers, "").await;
        needs_one.expect_problem(415, "unsupported_media_type");
    }
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let something = app.admin().send(Method::POST, &path, &headers, "a=1").await;
    something.expect_problem(415, "unsupported_media_type");
}

#[tokio::test]
async fn routes_without_a_body_take_none() {
    let app = TestApp::with_hall().await;
    let path = format!("/v1/holds/{}/extend", app.admin().hold(seat("alice", "A-1")).await);
    app.admin().post(&path, json!({"minutes": 5})).await.expect_problem(400, "invalid_request");
    app.admin().send(Method::POST, &path, &[], "").await.expect(200);
}
