//! The door to the organiser's pages: whoever is signed in comes through, everybody else meets the form.

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, header, request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;

use super::{Form, sign_in};
use crate::{
    app::Shared,
    auth::{organiser::Organiser, origin},
    body,
    problem::{Code, Problem},
    routes::{Named, Of},
};

/// A form that a page of ours submitted for an organiser.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub organiser: Organiser,
    pub form: Form,
    pub path: String,
    pub body: Bytes,
}

/// The same about the thing that its address names. Who asks comes before whether there can be such a thing.
#[derive(Debug)]
pub(crate) struct SubmittedTo<I>(pub I, pub Submitted);

impl<I: Named> FromRequest<Shared> for SubmittedTo<I> {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let named = Of::<I>::from_request_parts(&mut parts, app).await;
        let submitted = Submitted::from_request(Request::from_parts(parts, body), app).await?;
        Ok(Self(named.map_err(IntoResponse::into_response)?.0, submitted))
    }
}

impl FromRequestParts<Shared> for Organiser {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut request::Parts, app: &Shared) -> Result<Self, Response> {
        enter(parts, app).await
    }
}

impl FromRequest<Shared> for Submitted {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let organiser = enter(&parts, app).await?;
        let body = received(&parts.headers, body, app.limits.max_admin_body_bytes).await;
        let body = body.map_err(IntoResponse::into_response)?;
        Ok(Self { organiser, form: Form::parse(&body), path: parts.uri.path().to_owned(), body })
    }
}

async fn enter(parts: &request::Parts, app: &Shared) -> Result<Organiser, Response> {
    if !parts.method.is_safe() {
        check_origin(&parts.headers).map_err(IntoResponse::into_response)?;
    }
    let known = app.auth.organiser(&parts.headers, app.clock.now()).await;
    let known = known.map_err(|fault| Problem::from(fault).into_response())?;
    known.ok_or_else(|| sign_in::asked_for(parts))
}

/// No other site may post here, also none that may post to the shop.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    match origin::is_our_own(headers, &[]) {
        true => Ok(()),
        false => Err(Problem::new(Code::Forbidden, "A page of another site cannot do this.")),
    }
}

/// The bytes of a form.
pub(super) async fn received(
    headers: &HeaderMap,
    body: axum::body::Body,
    limit: usize,
) -> Result<Bytes, Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(Problem::new(Code::UnsupportedMediaType, "Pages take forms, not other bodies."));
    }
    body::read(body, limit).await
}
