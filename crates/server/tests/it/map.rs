use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::app::{TestApp, fest, seat};

/// An event stream, read line by line.
pub(crate) struct Events {
    lines: tokio::io::Lines<BufReader<TcpStream>>,
}

impl Events {
    pub(crate) async fn open(app: &TestApp, last: Option<&str>) -> Self {
        let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        Self::at(app, "/v1/offers/hall/map/stream", &last).await
    }

    /// Another stream, asked for with these header lines.
    pub(crate) async fn at(app: &TestApp, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut events = Self { lines: BufReader::new(stream).lines() };
        assert_eq!(events.line().await.unwrap(), "HTTP/1.1 200 OK");
        events.until("retry: ").await;
        events
    }

    /// The next line, or `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        timeout(Duration::from_secs(10), self.lines.next_line()).await.expect("something arrives").unwrap()
    }

    /// What stands behind `prefix` in the next line that has it.
    pub(crate) async fn until(&mut self, prefix: &str) -> String {
        loop {
            let line = self.line().await.expect("the stream goes on");
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.to_owned();
            }
        }
    }
}

#[tokio::test]
async fn the_layout_says_where_the_seats_are_and_never_changes() {
    let app = TestApp::with_hall().await;
    let layout = app.client().get("/v1/offers/hall/map").await.expect(200);
    let shown = layout.json();
    assert_eq!((&shown["seats"], &shown["currency"]), (&json!(20), &json!("EUR")));
    assert_eq!(shown["sections"][0]["rows"][1], json!({"name": "B", "first": 10, "seats": 10}));
    assert_eq!(shown["categories"], json!([{"name": "A", "prices": [4500], "seats": 20}]));
    let status = app.client().get("/v1/offers/hall/map/status").await.expect(200).json();
    let hash = status["map"].as_str().unwrap();
    assert_eq!(layout.header("etag"), format!("\"{hash}\""));
    let kept = app.client().get(&format!("/v1/offers/hall/map?v={hash}")).await.expect(200);
    assert!(kept.header("cache-control").contains("immutable"));
    assert_eq!(kept.body, layout.body);
    let tag = layout.header("etag");
    app.client().get_with("/v1/offers/hall/map", ("if-none-match", tag)).await.expect(304);
}

#[tokio::test]
async fn a_plan_may_say_how_it_lies_on_the_map() {
    let app = TestApp::embedded().await;
    let section = json!({"name": "Stalls", "category": "A", "price": 1, "x": -4, "y": 10, "angle": 90, "curve": 30,
        "rows": [{"name": "A", "seats": 20, "gaps": [5, 15]}]});
    let offer = |section: &serde_json::Value| json!({"id": "hall", "name": "Hall", "kind": "seats", "currency": "EUR", "seats": {"sections": [section]}});
    let mut halfway = section.clone();
    halfway.as_object_mut().unwrap().remove("y");
    let problem =
        app.admin().post("/v1/offers", offer(&halfway)).await.expect_problem(400, "invalid_request").json();
    assert!(problem["detail"].as_str().unwrap().starts_with("seats.sections[0].y"), "{problem}");

    let made = app.admin().post("/v1/offers", offer(&section)).await.expect(201).json();
    assert_eq!(made["seats"]["sections"][0], section);
    let mut drawn = section;
    drawn["rows"][0]["first"] = json!(0);
    let layout = app.client().get("/v1/offers/hall/map").await.expect(200).json();
    assert_eq!(layout["sections"][0], drawn);
}

#[tokio::test]
async fn the_status_has_two_bits_a_seat() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    app.admin().post("/v1/offers/hall/block", json!({"units": ["A-3"]})).await.expect(200);
    let status = app.client().get("/v1/offers/hall/map/status").await.expect(200).json();
    let states = BASE64_STANDARD.decode(status["states"].as_str().unwrap()).unwrap();
    assert_eq!(states, [0b11_00_01, 0, 0, 0, 0]);
    let availability = app.client().get("/v1/offers/hall/availability").await.json();
    assert_eq!(status["version"], availability["version"]);
}

#[tokio::test]
async fn the_status_of_twenty_thousand_random_seats_is_small() {
    let app = TestApp::embedded().await;
    let rows: Vec<_> = (0..200).map(|row| json!({"name": format!("R{row}"), "seats": 100})).collect();
    let stadium = json!({"id": "hall", "name": "Stadium", "kind": "seats", "currency": "EUR",
        "seats": {"sections": [{"name": "All", "category": "A", "price": 1, "rows": rows}]}});
    app.admin().post("/v1/offers", stadium).await.expect(201);
    // A seat is blocked or not by an arbitrary-looking rule: the worst a compressor can meet.
    let mut dice = 1u64;
    let mut units = Vec::new();
    for seat in 0..20_000u32 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if dice >> 63 == 1 {
            units.push(format!("R{}-{}", seat / 100, seat % 100 + 1));
        }
    }
    app.admin().post("/v1/offers/hall/block", json!({"units": units})).await.expect(200);
    for encoding in ["gzip", "br"] {
        let path = "/v1/offers/hall/map/status";
        let small = app.client().get_with(path, ("accept-encoding", encoding)).await.expect(200);
        assert_eq!(small.header("content-encoding"), encoding);
        assert!(small.body.len() <= 8_000, "{encoding}: {} bytes", small.body.len());
    }
}

#[tokio::test]
async fn a_viewer_sees_a_seat_being_taken() {
    let app = TestApp::with_hall().await;
    let mut events = Events::open(&app, None).await;
    app.admin().post("/v1/holds", seat("alice", "A-3")).await.expect(201);
    assert_eq!(events.until("id: ").await, "1.2");
    assert_eq!(events.until("data: ").await, r#"{"from":"1.1","to":"1.2","d":"h2"}"#);
}

#[tokio::test]
async fn a_viewer_who_comes_back_misses_nothing() {
    let app = TestApp::with_hall().await;
    let mut events = Events::open(&app, None).await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    let seen = events.until("id: ").await;
    drop(events);
    app.admin().post("/v1/holds", seat("alice", "A-2")).await.expect(201);
    app.admin().post("/v1/holds", seat("alice", "A-4")).await.expect(201);
    let mut events = Events::open(&app, Some(&seen)).await;
    let mut seen: Vec<String> = Vec::new();
    while !seen.concat().contains('3') {
        let data: serde_json::Value = serde_json::from_str(&events.until("data: ").await).unwrap();
        seen.push(data["d"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen.concat().replace('h', ",").trim_start_matches(','), "1,3");
}

/// An offer's new name is a version that no seat changed in, and no frame leads to it.
#[tokio::test]
async fn a_viewer_who_comes_back_after_a_new_name_sees_no_gap() {
    let app = TestApp::with_hall().await;
    let mut events = Events::open(&app, None).await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect(201);
    let seen = events.until("id: ").await;
    drop(events);
    app.admin().patch("/v1/offers/hall", json!({"name": "Another night"})).await.expect(200);
    let mut events = Events::open(&app, Some(&seen)).await;
    app.admin().post("/v1/holds", seat("alice", "A-2")).await.expect(201);
    let delta: serde_json::Value = serde_json::from_str(&events.until("data: ").await).unwrap();
    assert_eq!((delta["from"].as_str(), delta["d"].as_str()), (Some(&*seen), Some("h1")));
}

#[tokio::test]
async fn one_who_was_away_too_long_starts_again() {
    let app = TestApp::with_hall().await;
    for last in ["1.0", "7.1", "1.999"] {
        let mut events = Events::open(&app, Some(last)).await;
        assert_eq!(events.until("event: ").await, "reset");
        assert_eq!(events.until("data: ").await, r#"{"version":"1.1"}"#);
    }
}

#[tokio::test]
async fn only_seats_have_a_map() {
    let app = TestApp::with_offer(fest()).await;
    for part in ["map", "map/status", "map/stream"] {
        app.client().get(&format!("/v1/offers/fest/{part}")).await.expect_problem(404, "not_found");
        app.client().get(&format!("/v1/offers/nowhere/{part}")).await.expect_problem(404, "unknown_offer");
    }
}

/// Nobody watched while it happened: the reading alone is enough to go on from.
#[tokio::test]
async fn a_status_can_be_followed_however_long_nobody_watched() {
    let app = TestApp::with_hall().await;
    let status = app.client().get("/v1/offers/hall/map/status").await.expect(200).json();
    let read = status["version"].as_str().unwrap();
    for unit in ["A-1", "A-2", "A-3"] {
        app.admin().post("/v1/holds", seat("alice", unit)).await.expect(201);
    }
    let mut events = Events::open(&app, Some(read)).await;
    let mut seen = read.to_owned();
    let mut changes = String::new();
    while !changes.contains('2') {
        let line = events.line().await.expect("the stream goes on");
        assert!(!line.starts_with("event: reset"), "{line}");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let delta: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(delta["from"], seen.as_str(), "without a gap");
        seen = delta["to"].as_str().unwrap().to_owned();
        changes.push_str(delta["d"].as_str().unwrap());
    }
    assert!(changes.starts_with("h0"), "{changes}");
    app.client().get("/v1/offers/opera/map/status").await.expect_problem(404, "unknown_offer");
}

#[tokio::test]
async fn after_a_reset_the_changes_go_on() {
    let app = TestApp::with_hall().await;
    let seller = app.seller().await;
    for (unit, last) in [("A-1", "1.999999"), ("A-2", "nonsense")] {
        let mut events = Events::open(&app, Some(last)).await;
        assert_eq!(events.until("event: ").await, "reset");
        events.until("data: ").await;
        seller.post("/v1/holds", seat("alice", unit)).await.expect(201);
        let delta = events.until("data: ").await;
        assert!(delta.contains("\"d\":\"h"), "{delta}");
    }
}
