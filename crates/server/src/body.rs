//! Reading what a caller sent: who, with which key, saying what; bounded in size and time.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody},
    extract::{FromRequest, Request},
    http::{HeaderValue, Method, Uri, header},
};
use bytes::{Bytes, BytesMut};
use holdfast_engine::{
    admission::Place,
    ledger::{IdempotencyKey, Role},
};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    app::Shared,
    auth::{self, Caller},
    idempotency,
    layers::RequestId,
    problem::{Code, Problem},
    wire,
};

/// A request that may change something, completely received.
#[derive(Debug)]
pub(crate) struct Sent {
    pub caller: Caller,
    key: Option<HeaderValue>,
    method: Method,
    uri: Uri,
    body: Bytes,
    /// Said to be something else than JSON. Only nothing at all may be: many a client gives an empty body a type.
    mistyped: bool,
    /// Where the answer's words need it.
    request_id: Option<RequestId>,
}

/// What anyone may send: keys and browsers.
#[derive(Debug)]
pub(crate) struct FromAnyone(pub Sent);

/// What only administrators may send. Others are turned away before their body is read.
#[derive(Debug)]
pub(crate) struct FromAdmin(pub Sent);

impl AsRef<Sent> for FromAnyone {
    fn as_ref(&self) -> &Sent {
        &self.0
    }
}

impl AsRef<Sent> for FromAdmin {
    fn as_ref(&self) -> &Sent {
        &self.0
    }
}

impl FromRequest<Shared> for FromAnyone {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        receive(request, app, None, app.limits.max_body_bytes).await.map(Self)
    }
}

impl FromRequest<Shared> for FromAdmin {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        receive(request, app, Some(Role::Admin), app.limits.max_admin_body_bytes).await.map(Self)
    }
}

async fn receive(request: Request, app: &Shared, role: Option<Role>, limit: usize) -> Result<Sent, Problem> {
    let (mut parts, body) = request.into_parts();
    let request_id = parts.extensions.remove();
    let caller = auth::recognise(&parts, app).await?;
    if let Some(role) = role {
        caller.require(role)?;
    }
    let key = idempotency::of(&parts.headers)?;
    let body = read(body, limit).await?;
    let mistyped = !is_json(parts.headers.get(header::CONTENT_TYPE), &body);
    Ok(Sent { caller, key, method: parts.method, uri: parts.uri, body, mistyped, request_id })
}

impl Sent {
    /// For whoever reads it in its own way.
    pub(crate) fn bytes(&self) -> Result<&[u8], Problem> {
        if self.mistyped { Err(not_json()) } else { Ok(&self.body) }
    }

    pub(crate) fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        wire::parse(self.bytes()?)
    }

    /// For requests that say everything in their address: nothing, or an empty object.
    pub(crate) fn nothing(&self) -> Result<(), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        if self.body.is_empty() {
            return Ok(());
        }
        self.json().map(|Nothing {}| ())
    }

    /// Who sent it, once it is read. Goes before a wait: while somebody keeps what was received, the connection needs
    /// another buffer to notice that its caller hangs up.
    pub(crate) fn into_caller(self) -> Caller {
        self.caller
    }

    pub(crate) fn request_id(&self) -> String {
        self.request_id.as_ref().map(|id| id.as_str().to_owned()).unwrap_or_default()
    }

    pub(crate) fn idempotency(&self) -> Option<IdempotencyKey> {
        let key = self.key.as_ref()?;
        Some(idempotency::scoped(key, &self.caller.actor, &self.method, self.uri.path(), &self.body))
    }
}

/// Whether the body is said to be JSON. Where there is none, nothing need be said of it.
fn is_json(content_type: Option<&HeaderValue>, body: &[u8]) -> bool {
    let Some(value) = content_type else { return body.is_empty() };
    let text = value.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn not_json() -> Problem {
    Problem::new(Code::UnsupportedMediaType, "The body must be sent as application/json.")
}

/// The whole body, if it is no longer than `limit`. One that arrived in one piece is not copied.
pub(crate) async fn read(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    let mut whole = Bytes::new();
    let mut pieces = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if whole.len() + pieces.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        if whole.is_empty() && pieces.is_empty() {
            whole = data;
        } else {
            pieces.extend_from_slice(&std::mem::take(&mut whole));
            pieces.extend_from_slice(&data);
        }
    }
    Ok(if pieces.is_empty() { whole } else { pieces.freeze() })
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::PayloadTooLarge, format!("The body must not be longer than {limit} bytes."))
}

fn broken(error: axum::Error) -> Problem {
    match error.into_inner().downcast_ref() {
        Some(Unheard::TooSlow) => Problem::new(Code::RequestTimeout, "The body did not arrive in time."),
        Some(Unheard::NoPlace) => Problem::overloaded(),
        None => Problem::invalid("The body broke off."),
    }
}

/// A body that must be complete by `deadline`. Where it has already arrived, no timer is ever made; while it has not,
/// its request gives its place to others, and looks for one again when it is complete.
#[derive(Debug)]
pub(crate) struct Timed {
    incoming: Incoming,
    deadline: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    place: Arc<Mutex<Place>>,
}

/// A request's place until it is answered. Whoever is slow to send a body has none meanwhile: the number of connections
/// bounds them, and they keep nobody else waiting.
#[derive(Debug)]
#[expect(dead_code, reason = "a place is kept, not looked at")]
pub(crate) enum Keeps {
    Alone(Place),
    WithBody(Arc<Mutex<Place>>),
}

/// Why we stopped listening.
#[derive(Debug)]
enum Unheard {
    TooSlow,
    NoPlace,
}

impl fmt::Display for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooSlow => "the body did not arrive in time",
            Self::NoPlace => "when the body had arrived there were too many others",
        })
    }
}

impl std::error::Error for Unheard {}

impl Timed {
    pub(crate) fn body(incoming: Incoming, deadline: Instant, place: Place) -> (Body, Keeps) {
        if incoming.is_end_stream() {
            return (Body::empty(), Keeps::Alone(place));
        }
        let place = Arc::new(Mutex::new(place));
        let kept = Keeps::WithBody(Arc::clone(&place));
        (Body::new(Self { incoming, deadline, timer: None, place }), kept)
    }
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.incoming).poll_frame(cx) {
            Poll::Ready(Some(frame)) => return Poll::Ready(Some(frame.map_err(Into::into))),
            Poll::Ready(None) if this.place.lock().take_again() => return Poll::Ready(None),
            Poll::Ready(None) => return Poll::Ready(Some(Err(Unheard::NoPlace.into()))),
            Poll::Pending => this.place.lock().let_go(),
        }
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep_until(this.deadline)));
        timer.as_mut().poll(cx).map(|()| Some(Err(Unheard::TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream() && self.place.lock().is_taken()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alignment<F>(_: impl Fn(Request, &'static Shared, Option<Role>, usize) -> F) -> usize {
        align_of::<F>()
    }

    #[test]
    fn who_is_received_carries_no_timer() {
        assert!(alignment(receive) <= 16, "the limiter's, perhaps: one that is seldom started is boxed");
    }
}
