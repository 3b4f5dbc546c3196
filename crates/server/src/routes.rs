//! The handlers, one file a resource. Each parses, asks the engine once, and words the answer.

pub(crate) mod availability;
pub(crate) mod bookings;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod holds;
pub(crate) mod journal;
pub(crate) mod map;
pub(crate) mod offers;
pub(crate) mod room;
pub(crate) mod webhooks;

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header, request},
    response::{IntoResponse, Response},
};
use holdfast_domain::{BookingId, HoldId, OfferId};

use crate::{
    app::Shared,
    body::Sent,
    problem::{Code, Problem},
};

/// What a path can name. What cannot be a thing's name is one that does not exist.
pub(crate) trait Named: Sized + Send {
    fn read(name: &str) -> Result<Self, Problem>;
}

impl Named for OfferId {
    fn read(name: &str) -> Result<Self, Problem> {
        Self::new(name).map_err(|_| Problem::unknown_offer(name))
    }
}

impl Named for HoldId {
    fn read(name: &str) -> Result<Self, Problem> {
        name.parse().map_err(|_| Problem::unknown_hold())
    }
}

impl Named for BookingId {
    fn read(name: &str) -> Result<Self, Problem> {
        name.parse().map_err(|_| Problem::unknown_booking())
    }
}

/// The thing named in the path. Stands behind whoever asks: who may not ask hears that first.
#[derive(Debug)]
pub(crate) struct Of<I>(pub I);

pub(crate) type InOffer = Of<OfferId>;
pub(crate) type OfHold = Of<HoldId>;
pub(crate) type OfBooking = Of<BookingId>;

impl<I: Named> FromRequestParts<Shared> for Of<I> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, app: &Shared) -> Result<Self, Problem> {
        I::read(&segment(parts, app).await).map(Self)
    }
}

/// The thing named in the path, and what was sent about it. Whether its sender may, and what their key stands for, comes
/// before whether there can be such a thing.
#[derive(Debug)]
pub(crate) struct About<I, S>(pub I, pub S);

impl<I: Named, S> FromRequest<Shared> for About<I, S>
where
    S: FromRequest<Shared, Rejection = Problem> + AsRef<Sent> + Send,
{
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let name = segment(&mut parts, app).await;
        let sent = S::from_request(Request::from_parts(parts, body), app).await?;
        let named = app.sensible(sent.as_ref(), I::read(&name)).await?;
        Ok(Self(named, sent))
    }
}

async fn segment(parts: &mut request::Parts, app: &Shared) -> String {
    Path::<String>::from_request_parts(parts, app).await.map(|Path(text)| text).unwrap_or_default()
}

pub(crate) async fn no_such_route() -> Problem {
    Problem::new(Code::NotFound, "There is nothing at this address.")
}

pub(crate) async fn no_such_method() -> Problem {
    Problem::new(Code::MethodNotAllowed, "This address does not take that method; see the Allow header.")
}

/// An answer that is for its caller alone: nobody on the way keeps it.
fn private(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whether the caller already has what the tag names (`If-None-Match`), compared weakly as RFC 9110 says.
fn has_it(headers: &HeaderMap, etag: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let wanted = strong(etag);
    let mut tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    tags.any(|line| line.trim() == "*" || line.split(',').any(|tag| strong(tag) == wanted))
}

/// The answer to one who has it, or else the answer itself; tagged either way.
fn tagged(
    headers: &HeaderMap,
    etag: &str,
    caching: &'static str,
    body: impl FnOnce() -> Response,
) -> Response {
    let mut response = if has_it(headers, etag) { StatusCode::NOT_MODIFIED.into_response() } else { body() };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly_and_in_lists() {
        let sent = |value: &'static str| {
            HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(value))])
        };
        for value in ["W/\"1.2\"", "\"1.2\"", "\"x\", W/\"1.2\"", "*"] {
            assert!(has_it(&sent(value), "W/\"1.2\""), "{value}");
        }
        assert!(!has_it(&sent("W/\"1.20\""), "W/\"1.2\""));
        assert!(!has_it(&HeaderMap::new(), "W/\"1.2\""));
    }
}
