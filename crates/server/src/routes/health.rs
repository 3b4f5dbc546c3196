//! How the server is, for machines that watch it.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use metrics::gauge;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::{Shared, json},
    telemetry::LEDGER_UP,
    wire,
};

/// Whether the process is alive.
///
/// Always 200, and nothing is asked of anyone.
#[utoipa::path(get, path = "/livez", tag = "Operations", operation_id = "livez",
    responses((status = 200, description = "It is.", content_type = "text/plain", body = String)))]
pub(crate) async fn live() -> Response {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    ([(header::CONTENT_TYPE, TEXT)], "ok\n").into_response()
}

/// How ready the server is, and what is degraded.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    /// What works less well than it should, in words for an operator.
    degraded: Vec<String>,
}

/// Whether the server can sell.
///
/// 503 while the ledger is out of reach, or while the server is stopping; either way it says what is degraded.
#[utoipa::path(get, path = "/readyz", tag = "Operations", operation_id = "readyz",
    responses(
        (status = 200, description = "It can.", body = Readiness),
        (status = 503, description = "It cannot, and why.", body = Readiness)))]
pub(crate) async fn ready(State(app): State<Shared>) -> Response {
    let health = app.pipeline.health().await;
    let stopping = app.closing.is_cancelled();
    let mut degraded = health.degraded;
    if stopping {
        degraded.push("the server is stopping".into());
    }
    let ready = health.ready && !stopping;
    let mut response = json(wire::json(&Readiness { ready, degraded }));
    if !ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

/// What there is to measure.
///
/// In the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "Operations", operation_id = "metrics",
    responses((status = 200, description = "Counters, gauges and histograms.", content_type = "text/plain",
        body = String)))]
pub(crate) async fn metrics(State(app): State<Shared>) -> Response {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let up = app.pipeline.ledger().health().await.ready;
    gauge!(LEDGER_UP).set(f64::from(u8::from(up)));
    ([(header::CONTENT_TYPE, TEXT)], app.metrics.render()).into_response()
}
