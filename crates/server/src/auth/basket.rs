//! A browser's latest holds, in a cookie: how a reload, a second tab or a return finds them again. The books know holds
//! by their ids and not by their holders, and need not for this. The ids are not believed: each is looked up, and must be
//! the session's own.
//!
//! What is remembered is written by the answer to a claim, from what came with the request. Of two claims that cross each
//! other the later answer is kept; the page of either hold puts it back.

use axum::{
    http::{HeaderMap, header},
    response::Response,
};
use holdfast_domain::HoldId;

use super::{Sessions, cookie_named};

const COOKIE: &str = "holdfast_basket";
const MAX_HOLDS: usize = 6;
const MAX_AGE_S: u32 = 24 * 3600;

/// The newest first.
#[derive(Debug, Default)]
pub(crate) struct Basket(Vec<HoldId>);

impl Basket {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let ids = cookie_named(headers, COOKIE).unwrap_or_default().split('.');
        Self(ids.filter_map(|id| id.parse().ok()).take(MAX_HOLDS).collect())
    }

    pub(crate) fn holds(&self) -> &[HoldId] {
        &self.0
    }

    /// Has the browser remember this hold first of all.
    pub(crate) fn keep(&self, sessions: &Sessions, hold: HoldId, response: &mut Response) {
        if self.0.first() == Some(&hold) {
            return;
        }
        let others = self.0.iter().filter(|id| **id != hold);
        let ids: Vec<String> =
            [&hold].into_iter().chain(others).take(MAX_HOLDS).map(HoldId::to_string).collect();
        if let Some(cookie) = sessions.plain_cookie(COOKIE, &ids.join("."), MAX_AGE_S) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
}
