//! Whoever looks at a page: a browser with its session, whether or not it has one yet.

use axum::{extract::FromRequestParts, http::request, response::Response};

use crate::{
    app::Shared,
    auth::{self, Caller},
    problem::Problem,
};

/// A browser. An API key sent to a page is not looked at: pages act for the session alone.
#[derive(Debug)]
pub(crate) struct Visitor {
    caller: Caller,
}

impl Visitor {
    pub(crate) fn of(parts: &request::Parts, app: &Shared) -> Result<Self, Problem> {
        auth::browser(parts, app).map(|caller| Self { caller })
    }

    /// Hands the browser the session it was just given.
    pub(crate) fn remember(&self, response: &mut Response) {
        self.caller.remember(response);
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, app: &Shared) -> Result<Self, Problem> {
        Self::of(parts, app)
    }
}
