//! Slow clients, crowds and their bounds.

use std::time::Duration;

use holdfast_engine::pipeline;
use holdfast_server::Limits;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    app::{Setup, TestApp, seat},
    map::Events,
};

fn impatient() -> Limits {
    Limits { request_timeout: Duration::from_millis(200), ..Limits::default() }
}

/// What the server sends until it closes, after these bytes.
async fn answer_to(app: &TestApp, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[track_caller]
fn is_a_timeout(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
    assert!(answer.contains("application/problem+json") && answer.contains("x-request-id"), "{answer}");
    assert!(answer.contains(r#""code":"request_timeout""#), "{answer}");
}

#[tokio::test]
async fn headers_that_never_end_are_408() {
    let app = TestApp::with_limits(impatient()).await;
    is_a_timeout(&answer_to(&app, b"GET /livez HTTP/1.1\r\nhost: x\r\nx-slow: ").await);
}

#[tokio::test]
async fn a_body_that_never_ends_is_408() {
    let app = TestApp::with_limits(impatient()).await;
    let head =
        "POST /v1/holds HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{";
    is_a_timeout(&answer_to(&app, head.as_bytes()).await);
}

#[tokio::test]
async fn a_trickle_does_not_buy_time() {
    let app = TestApp::with_limits(impatient()).await;
    let stream = TcpStream::connect(app.address).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let trickle = tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        write.write_all(b"GET /livez HTTP/1.1\r\nx-slow: ").await.unwrap();
        while write.write_all(b"x").await.is_ok() {
            tick.tick().await;
        }
    });
    let mut answer = String::new();
    read.read_to_string(&mut answer).await.unwrap();
    is_a_timeout(&answer);
    trickle.abort();
}

#[tokio::test]
async fn an_idle_connection_is_closed_without_a_word() {
    let limits = Limits { idle_timeout: Duration::from_millis(100), ..impatient() };
    let app = TestApp::with_limits(limits).await;
    assert_eq!(answer_to(&app, b"").await, "");
    let answer = answer_to(&app, b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("ok\n"), "{answer}");
}

#[tokio::test]
async fn a_stream_is_never_idle() {
    let limits = Limits {
        idle_timeout: Duration::from_millis(100),
        stream_keep_alive: Duration::from_millis(30),
        ..impatient()
    };
    let app = TestApp::with_limits(limits).await;
    app.admin().post("/v1/offers", crate::app::hall()).await.expect(201);
    let mut events = Events::open(&app, None).await;
    // Far longer than the idle timeout, told by the stream's own signs of life.
    let mut signs = 0;
    while signs < 12 {
        signs += usize::from(events.line().await.expect("it goes on") == ":");
    }
}

#[tokio::test]
async fn one_connection_too_many_is_told_to_come_back() {
    let app = TestApp::with_limits(Limits { max_connections: 1, ..Limits::default() }).await;
    let mut first = TcpStream::connect(app.address).await.unwrap();
    first.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    first.read_u8().await.unwrap();
    let second = answer_to(&app, b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(second.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{second}");
    assert!(second.contains("retry-after: 1\r\n") && second.contains(r#""code":"overloaded""#), "{second}");
}

#[tokio::test]
async fn a_request_too_many_is_shed_but_health_is_still_told() {
    let app = TestApp::with_limits(Limits { max_requests: 0, ..Limits::default() }).await;
    let shed = app.client().get("/v1/offers").await.expect_problem(503, "overloaded");
    assert_eq!(shed.header("retry-after"), "1");
    assert_eq!(shed.json()["retry_after_ms"], 1000);
    for path in ["/livez", "/readyz", "/metrics"] {
        app.client().get(path).await.expect(200);
    }
}

#[tokio::test]
async fn whoever_was_shed_and_does_not_wait_is_heard_when_they_should_have_come_back() {
    let shed_pause = Duration::from_secs(2);
    let app = TestApp::with_limits(Limits { max_requests: 0, shed_pause, ..Limits::default() }).await;
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let (mut read, mut write) = stream.split();
    let mut heard = [0; 4096];
    let (own, passed_on) = ("", "x-forwarded-for: 198.51.100.1\r\n");
    // A proxy passes on what others ask, who were not told to wait.
    for (headers, early) in [(passed_on, false), (own, false), (own, true)] {
        write
            .write_all(format!("GET /v1/offers HTTP/1.1\r\nhost: x\r\n{headers}\r\n").as_bytes())
            .await
            .unwrap();
        let at_once = tokio::time::timeout(shed_pause / 2, read.read(&mut heard)).await;
        assert_eq!(at_once.is_err(), early, "heard at once, unless it comes early");
        let length = match at_once {
            Ok(read) => read.unwrap(),
            Err(_) => read.read(&mut heard).await.unwrap(),
        };
        assert!(heard[..length].starts_with(b"HTTP/1.1 503 "), "{}", String::from_utf8_lossy(&heard));
    }
}

#[tokio::test]
async fn a_command_too_many_is_shed_before_the_ledger() {
    let setup = Setup {
        pipeline: pipeline::Limits { max_in_flight: 0, ..pipeline::Limits::default() },
        ..Setup::default()
    };
    let app = TestApp::with(setup).await;
    let shed = app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect_problem(503, "overloaded");
    assert_eq!(shed.header("retry-after"), "1");
    app.client().get("/v1/offers").await.expect(200);
}

#[tokio::test]
async fn a_stream_too_many_is_told_to_come_back() {
    let app = TestApp::with_limits(Limits { max_streams: 1, ..Limits::default() }).await;
    app.admin().post("/v1/offers", crate::app::hall()).await.expect(201);
    let _first = Events::open(&app, None).await;
    app.client().get("/v1/offers/hall/map/stream").await.expect_problem(503, "overloaded");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let app = TestApp::with_limits(Limits { idle_timeout: Duration::from_millis(100), ..impatient() }).await;
    let two = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n";
    let answers = answer_to(&app, two).await;
    assert!(answers.find("200 OK").unwrap() < answers.find("404 Not Found").unwrap(), "{answers}");
}

#[tokio::test]
async fn an_early_refusal_reaches_a_client_that_is_still_sending() {
    let app = TestApp::embedded().await;
    let stream = TcpStream::connect(app.address).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let head = "POST /v1/holds HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n";
    let sending = tokio::spawn(async move {
        write.write_all(head.as_bytes()).await?;
        write.write_all(&vec![b' '; 900_000]).await?;
        Ok::<_, std::io::Error>(write)
    });
    let mut answer = String::new();
    read.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");
    drop(sending.await.unwrap());
}

/// Ten times as many as there is room for, half of them strangers and none of them patient: everybody gets an answer of
/// the kinds that the contract names, some of them a yes, and afterwards there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_times_too_many_are_all_answered() {
    const ROOM: usize = 8;
    let setup = Setup {
        pipeline: pipeline::Limits { max_in_flight: ROOM, ..Default::default() },
        limits: Limits { max_requests: 4 * ROOM, ..Limits::default() },
        ..Setup::default()
    };
    let app = std::sync::Arc::new(TestApp::with(setup).await);
    app.admin().post("/v1/offers", crate::app::hall()).await.expect(201);
    let mut rush = tokio::task::JoinSet::new();
    for caller in 0..10 * ROOM {
        let app = app.clone();
        rush.spawn(async move {
            let mut statuses = Vec::new();
            for turn in 0..10 {
                let unit = format!("A-{}", (caller + turn) % 10 + 1);
                let answer = match caller % 2 {
                    0 => app.admin().post("/v1/holds", seat(&format!("holder-{caller}"), &unit)).await,
                    _ => {
                        let body = serde_json::json!({"lines": [{"offer": "hall", "unit": unit}]});
                        app.client().post("/v1/holds", body).await
                    }
                };
                if [429, 503].contains(&answer.status.as_u16()) {
                    assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
                }
                statuses.push(answer.status.as_u16());
            }
            statuses
        });
    }
    let statuses: Vec<u16> = rush.join_all().await.into_iter().flatten().collect();
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert!(statuses.iter().all(|status| [200, 201, 409, 429, 503].contains(status)), "{statuses:?}");
    assert_eq!(count(201), 10, "every seat was sold, and once");
    assert!(count(503) > 0, "some were too many, or this shows nothing");
    app.admin().post("/v1/holds", seat("late", "B-1")).await.expect(201);
}

/// Sends the head of a post, and of its body one byte; returns when the server waits for the rest.
async fn slow_post(app: &TestApp, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
         connection: close\r\ncontent-length: 2\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{").await.unwrap();
    stream
}

#[tokio::test]
async fn slow_bodies_shut_nobody_out() {
    let app = TestApp::with_limits(Limits { max_requests: 2, ..Limits::default() }).await;
    app.admin().post("/v1/offers", crate::app::hall()).await.expect(201);
    let mut slow = Vec::new();
    for _ in 0..6 {
        slow.push(slow_post(&app, "/v1/holds").await);
    }
    app.client().get("/v1/offers/hall").await.expect(200);
    let hold = app.client().hold(serde_json::json!({"lines": [{"offer": "hall", "unit": "A-1"}]})).await;
    app.admin().book(&hold, "k").await.expect(201);
    let mut patient = slow.remove(0);
    patient.write_all(b"}").await.unwrap();
    let mut answer = String::new();
    patient.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "heard, and found wanting: {answer}");
}

#[tokio::test]
async fn a_booking_finds_a_place_when_others_do_not() {
    let app = TestApp::with_limits(Limits { max_requests: 0, ..Limits::default() }).await;
    app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect_problem(503, "overloaded");
    app.admin().get("/v1/bookings").await.expect_problem(503, "overloaded");
    let unknown = format!("hold_{}", "0".repeat(26));
    let answer = app.admin().book(&unknown, "k").await;
    assert_eq!(answer.expect(404).json()["code"], "unknown_hold");
}

/// Of requests and of commands alike: neither bound turns away those who have something already.
#[tokio::test]
async fn whoever_has_something_at_stake_finds_a_place_when_others_do_not() {
    let requests = Setup { limits: Limits { max_requests: 0, ..Limits::default() }, ..Setup::default() };
    let commands = pipeline::Limits { max_in_flight: 0, ..pipeline::Limits::default() };
    for setup in [requests, Setup { pipeline: commands, ..Setup::default() }] {
        let app = TestApp::with(setup).await;
        let admin = app.admin();
        admin.post("/v1/holds", seat("alice", "A-1")).await.expect_problem(503, "overloaded");
        let hold = format!("hold_{}", "0".repeat(26));
        admin.book(&hold, "k").await.expect_problem(404, "unknown_hold");
        let extended = admin.post(&format!("/v1/holds/{hold}/extend"), serde_json::json!({})).await;
        extended.expect_problem(404, "unknown_hold");
        admin.delete(&format!("/v1/holds/{hold}")).await.expect_problem(404, "unknown_hold");
        let cancel = format!("/v1/bookings/bk_{}/cancel", "0".repeat(26));
        admin.post(&cancel, serde_json::json!({})).await.expect_problem(404, "unknown_booking");
    }
}
