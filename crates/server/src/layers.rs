//! What happens to every request, around the router: it gets an id, a place among those under way or a refusal,
//! and its answer is written down, counted and logged. One function instead of a stack of middleware, so that
//! nothing is boxed on the way and the order can be read.

mod endpoint;
mod request_id;

use std::{
    net::IpAddr,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Method, Request, header},
    response::{IntoResponse, Response},
};
pub(crate) use endpoint::Endpoint;
use futures::FutureExt;
use hyper::body::Incoming;
pub(crate) use request_id::RequestId;
use tokio::time::Instant;
use tower::Service;
use tracing::{debug, warn};

use crate::{
    app::App,
    body::Timed,
    doors::Peer,
    problem::{self, Code, Problem},
    routes::holds,
    telemetry::Requests,
    ui,
};

/// When a request began to arrive and by when it must be complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// Whose connection it is.
    pub peer: IpAddr,
    pub first_byte: Instant,
    pub deadline: Instant,
}

/// On an answer to somebody who was too many, speaks for nobody else, and was told to come back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shed;

/// The router and what stands around it.
#[derive(Debug)]
pub(crate) struct Layers {
    pub app: Arc<App>,
    pub router: Router,
    pub counted: Requests,
    /// The second in which the last shedding was logged.
    shed_logged_s: AtomicI64,
}

impl Layers {
    pub(crate) fn new(app: Arc<App>, router: Router) -> Self {
        Self { app, router, counted: Requests::default(), shed_logged_s: AtomicI64::new(0) }
    }

    /// The whole life of a request within the server.
    pub(crate) async fn answer(&self, mut request: Request<Incoming>, arrival: Arrival) -> Response {
        let id = RequestId::of(request.headers());
        let endpoint = Endpoint::of(request.uri().path());
        let method = request.method().clone();
        if endpoint == Endpoint::Bookings {
            // A declined payment is an answer whose words are kept, and the id is one of them.
            request.extensions_mut().insert(id.clone());
        }
        let has_key = endpoint.is_api() && request.headers().contains_key(header::AUTHORIZATION);
        if !method.is_safe() && !has_key {
            // Only what may change something is counted by where it comes from, and not where a key says who it is.
            request.extensions_mut().insert(Peer(arrival.peer));
        }
        // The path is needed only for a log line that nobody may be reading.
        let uri = tracing::enabled!(tracing::Level::DEBUG).then(|| request.uri().clone());

        let from_proxy = self.app.doors.is_proxy(arrival.peer, request.headers());
        let met_at = ui::fault::met_at(request.uri().path(), request.headers());

        let mut response = self.route(request, endpoint, arrival).await;
        let problem = problem::write_down(&mut response, id.as_str(), met_at.as_deref());
        response.headers_mut().insert(request_id::HEADER, id.header());
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

        let (status, took) = (response.status(), arrival.first_byte.elapsed());
        self.counted.count(endpoint, &method, status, took);
        if status.is_server_error() {
            self.warn(&id, endpoint, problem.as_ref());
        }
        if !from_proxy && problem.is_some_and(|problem| problem.code == Code::Overloaded) {
            response.extensions_mut().insert(Shed);
        }
        if let Some(uri) = uri {
            debug!(request_id = id.as_str(), %method, path = uri.path(), status = status.as_u16(), ?took, "answered");
        }
        response
    }

    async fn route(&self, request: Request<Incoming>, endpoint: Endpoint, arrival: Arrival) -> Response {
        let Some(place) = self.app.requests.take(endpoint.rank(request.method())) else {
            return Problem::overloaded().into_response();
        };
        let (head, incoming) = request.into_parts();
        let (body, place) = Timed::body(incoming, arrival.deadline, place);
        let request = Request::from_parts(head, body);
        let handled = AssertUnwindSafe(self.handle(request, endpoint)).catch_unwind().await;
        drop(place);
        handled.unwrap_or_else(|panic| panicked(panic.as_ref()).into_response())
    }

    /// By the router, but for those who come in a rush: finding their way, boxing it and measuring the empty body of a
    /// refusal would cost them a fifteenth of all.
    async fn handle(&self, request: axum::extract::Request, endpoint: Endpoint) -> Response {
        if endpoint == Endpoint::Holds && request.method() == Method::POST {
            return Box::pin(holds::place_at_once(Arc::clone(&self.app), request)).await;
        }
        let Ok(response) = self.router.clone().call(request).await;
        response
    }

    /// Says what went wrong here. Shedding is said once a second: a flood of lines would only add to the load.
    fn warn(&self, id: &RequestId, endpoint: Endpoint, problem: Option<&Problem>) {
        let Some(problem) = problem else { return };
        if problem.code == Code::Overloaded {
            let second = self.app.clock.now().ms() / 1000;
            if self.shed_logged_s.swap(second, Ordering::Relaxed) == second {
                return;
            }
        }
        let why = problem.more().log.as_deref().unwrap_or(&problem.detail);
        warn!(
            request_id = id.as_str(),
            route = endpoint.template(),
            code = problem.code.as_str(),
            why,
            "failed"
        );
    }
}

/// A handler's panic ends its request, not the connection's other ones.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Problem {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    Problem::internal("The server met a fault of its own.", format!("panicked: {}", said.unwrap_or_default()))
}

/// The bytes of a whole HTTP answer, for when no request could be read that a router could answer.
pub(crate) fn bare_answer(problem: &Problem) -> Vec<u8> {
    let id = RequestId::fresh();
    let mut response: Response<Body> = problem.clone().into_response();
    problem::write_down(&mut response, id.as_str(), None);
    let body = crate::wire::problem_json(problem, id.as_str());
    let mut text = format!("HTTP/1.1 {}\r\nconnection: close\r\n", response.status()).into_bytes();
    response.headers_mut().insert(request_id::HEADER, id.header());
    for (name, value) in response.headers() {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    text.extend_from_slice(&body);
    text
}
