use crate::app::{TestApp, seat};

#[tokio::test]
async fn it_says_that_it_lives_and_is_ready() {
    let app = TestApp::embedded().await;
    assert_eq!(app.client().get("/livez").await.expect(200).body, "ok\n");
    let ready = app.client().get("/readyz").await.expect(200).json();
    assert_eq!(ready, serde_json::json!({"ready": true, "degraded": []}));
}

#[tokio::test]
async fn it_is_not_ready_while_the_ledger_is_out_of_reach() {
    let app = TestApp::with_hall().await;
    app.ledger.shutdown().await;
    let ready = app.client().get("/readyz").await.expect(503).json();
    assert_eq!(ready["ready"], false);
    assert!(!ready["degraded"].as_array().unwrap().is_empty());
    app.client().get("/livez").await.expect(200);
    let refused =
        app.admin().post("/v1/holds", seat("alice", "A-1")).await.expect_problem(503, "unavailable");
    assert_eq!(refused.header("retry-after"), "5");
    assert_eq!(refused.json()["retry_after_ms"], 5000);
    app.client().get("/v1/offers/hall").await.expect_problem(503, "unavailable");
}

#[tokio::test]
async fn requests_are_counted_by_route_method_and_status() {
    let app = TestApp::with_hall().await;
    app.client().get("/v1/offers/hall").await.expect(200);
    let metrics = app.client().get("/metrics").await.expect(200);
    let text = String::from_utf8(metrics.body.to_vec()).unwrap();
    let line = r#"http_requests_total{route="/v1/offers/{offer}",method="GET",status="200"}"#;
    assert!(text.contains(line), "{text}");
    assert!(text.contains("http_request_duration_seconds_bucket"), "{text}");
}

/// A batch of forty is told from one of four hundred.
#[tokio::test]
async fn batches_are_counted_by_their_size() {
    let app = TestApp::with_hall().await;
    let metrics = app.client().get("/metrics").await.expect(200);
    let text = String::from_utf8(metrics.body.to_vec()).unwrap();
    let bucket =
        |upto: &str| text.contains(&format!(r#"holdfast_ledger_batch_entries_bucket{{le="{upto}"}}"#));
    assert!(bucket("1") && bucket("64") && bucket("1024") && !bucket("0.01"), "{text}");
}

#[tokio::test]
async fn every_answer_has_an_id_and_a_fit_one_is_kept() {
    let app = TestApp::embedded().await;
    let first = app.client().get("/livez").await.header("x-request-id").to_owned();
    let second = app.client().get("/nowhere").await.header("x-request-id").to_owned();
    assert_ne!(first, second);
    let kept = app.client().get_with("/livez", ("x-request-id", "trace-7")).await;
    assert_eq!(kept.header("x-request-id"), "trace-7");
}
