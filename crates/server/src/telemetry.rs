//! Metrics: one recorder a process, and handles made once so that counting a request costs no look-up.

use std::{
    sync::{OnceLock, PoisonError},
    time::Duration,
};

use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::layers::Endpoint;

const REQUESTS: &str = "http_requests_total";
const DURATION: &str = "http_request_duration_seconds";
const BUCKETS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// How many shared one commit or one trip: what is counted and not timed.
const SIZES: [&str; 2] = ["holdfast_gate_trip_size", "holdfast_ledger_batch_entries"];
const SIZE_BUCKETS: &[f64] =
    &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0];

/// What the engine counts, in the words of whoever reads `/metrics`.
const COUNTERS: &[(&str, &str)] = &[
    ("holdfast_gate_asked_total", "What the gate said to requests for a hold, by verdict."),
    (
        "holdfast_gate_aside_total",
        "Requests that the gate could not judge and sent on to the ledger, by reason.",
    ),
    (
        "holdfast_gate_checked_refusals_total",
        "Refusals of the gate that were put to the ledger all the same.",
    ),
    (
        "holdfast_gate_false_refusals_total",
        "Checked refusals that the ledger would have granted; should stay at 0.",
    ),
    (
        "holdfast_gate_lost_reports_total",
        "Reports that had to reach Redis and did not; each ends the gate's epoch.",
    ),
    ("holdfast_gate_locks_lost_total", "Locks in Redis that ran out before the work they were for was done."),
    ("holdfast_gate_rebuilds_total", "Rebuilds of an offer's slate from the books, by outcome."),
    ("holdfast_ledger_reloads_total", "How often the books in memory were thrown away and read anew."),
    ("holdfast_ledger_retries_total", "Transactions that lost a race and were decided again."),
    ("holdfast_refusals_total", "Refusals by the ledger, by code."),
];
const HISTOGRAMS: &[(&str, &str)] = &[
    ("holdfast_gate_lock_wait_seconds", "Seconds until a lock in Redis was had."),
    ("holdfast_gate_rebuild_seconds", "Seconds that a rebuild of an offer's slate took."),
    ("holdfast_gate_trip_size", "Requests that shared one trip to Redis."),
    ("holdfast_ledger_batch_entries", "Journal entries written in one commit."),
    ("holdfast_ledger_batch_seconds", "Seconds from the beginning of a batch to its commit."),
    ("holdfast_ledger_load_seconds", "Seconds that reading the books from PostgreSQL took."),
    ("holdfast_ledger_lock_wait_seconds", "Seconds to get PostgreSQL's locks and look again."),
];
/// Set whenever somebody looks.
pub(crate) const LEDGER_UP: &str = "holdfast_ledger_up";
const GAUGES: &[(&str, &str)] = &[
    ("holdfast_gate_up", "Whether the gate's Redis answers, by server: 1 or 0."),
    (LEDGER_UP, "Whether the ledger answers and takes writes: 1 or 0."),
    ("holdfast_ledger_queue", "Requests that wait for the ledger, by lane."),
    ("holdfast_ledger_tables_lag", "Journal entries that the tables for people have yet to follow."),
];

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
    let timed = PrometheusBuilder::new().set_buckets(BUCKETS).expect("there are buckets");
    let sized = |builder: PrometheusBuilder, name: &str| {
        let name = Matcher::Full(name.to_owned());
        builder.set_buckets_for_metric(name, SIZE_BUCKETS).expect("there are buckets")
    };
    let recorder = SIZES.into_iter().fold(timed, sized).build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("another metrics recorder is installed; /metrics will show nothing");
    }
    describe_counter!(REQUESTS, "Requests answered, by route, method and status.");
    describe_histogram!(DURATION, "Seconds from a request's first byte to its answer's head.");
    COUNTERS.iter().for_each(|(name, words)| describe_counter!(*name, *words));
    HISTOGRAMS.iter().for_each(|(name, words)| describe_histogram!(*name, *words));
    GAUGES.iter().for_each(|(name, words)| describe_gauge!(*name, *words));
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
