//! Metrics: one recorder a process, and handles made once so that counting a request costs no look-up.

use std::{
    sync::{OnceLock, PoisonError},
    time::Duration,
};

use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram, counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::layers::Endpoint;

const REQUESTS: &str = "http_requests_total";
const DURATION: &str = "http_request_duration_seconds";
const BUCKETS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// How often samples gathered between scrapes are folded into their buckets.
pub(crate) const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Installs the process's recorder, once. Call it before the ledger is opened, so that its metrics are kept too.
pub fn install() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    static INSTALLING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    HANDLE.get_or_init(build).clone()
}

fn build() -> PrometheusHandle {
    let builder = PrometheusBuilder::new().set_buckets(BUCKETS).expect("there are buckets");
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("another metrics recorder is installed; /metrics will show nothing");
    }
    describe_counter!(REQUESTS, "Requests answered, by route, method and status.");
    describe_histogram!(DURATION, "Seconds from a request's first byte to its answer's head.");
    handle
}

const METHODS: [Method; 6] =
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
const STATUSES: [u16; 18] =
    [200, 201, 204, 304, 400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 503];

/// The counters of requests, each made when first needed and kept.
#[derive(Debug)]
pub(crate) struct Requests {
    counters: Box<[OnceLock<Counter>]>,
    durations: Box<[OnceLock<Histogram>]>,
}

impl Default for Requests {
    fn default() -> Self {
        let routes = Endpoint::ALL.len() * (METHODS.len() + 1);
        Self {
            counters: (0..routes * (STATUSES.len() + 1)).map(|_| OnceLock::new()).collect(),
            durations: (0..routes).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl Requests {
    pub(crate) fn count(&self, endpoint: Endpoint, method: &Method, status: StatusCode, took: Duration) {
        let method_at = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let status_at = STATUSES.iter().position(|known| *known == status.as_u16()).unwrap_or(STATUSES.len());
        let method = METHODS.get(method_at).map_or("OTHER", Method::as_str);
        let route_at = endpoint as usize * (METHODS.len() + 1) + method_at;
        let counter = || {
            let status = STATUSES.get(status_at).map_or("other".into(), u16::to_string);
            counter!(REQUESTS, "route" => endpoint.template(), "method" => method.to_owned(), "status" => status)
        };
        let duration = || histogram!(DURATION, "route" => endpoint.template(), "method" => method.to_owned());
        self.counters[route_at * (STATUSES.len() + 1) + status_at].get_or_init(counter).increment(1);
        self.durations[route_at].get_or_init(duration).record(took);
    }
}
