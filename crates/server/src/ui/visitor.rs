//! Whoever looks at a page: a browser with its session, whether or not it has one yet, and the holds it was last
//! shown, so that a reload, a second tab or a return finds them again.

use axum::{
    extract::FromRequestParts,
    http::{header, request},
    response::Response,
};
use holdfast_domain::{Actor, Command, HoldId, HolderId};
use holdfast_engine::ledger::{HoldView, Outcome, Reply};

use crate::{
    app::{App, Shared},
    auth::{self, Caller, cookie_named},
    problem::Problem,
};

/// The ids of a browser's latest holds, the newest first. Not believed: each is looked up, and must be its own.
const BASKET: &str = "holdfast_basket";
const BASKET_HOLDS: usize = 6;
const BASKET_AGE_S: u32 = 24 * 3600;

/// A browser. An API key sent to a page is not looked at: pages act for the session alone.
#[derive(Debug)]
pub(crate) struct Visitor {
    caller: Caller,
    holder: HolderId,
    holds: Vec<HoldId>,
}

impl Visitor {
    pub(crate) fn of(parts: &request::Parts, app: &App) -> Result<Self, Problem> {
        let caller = auth::browser(parts, app)?;
        let holder = caller.session().cloned().ok_or_else(Problem::unknown_hold)?;
        let basket = cookie_named(&parts.headers, BASKET).unwrap_or_default();
        let holds = basket.split('.').filter_map(|id| id.parse().ok()).take(BASKET_HOLDS).collect();
        Ok(Self { caller, holder, holds })
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn actor(&self) -> Actor {
        self.caller.actor.clone()
    }

    pub(crate) fn holder(&self) -> &HolderId {
        &self.holder
    }

    /// Hands the browser the session it was just given.
    pub(crate) fn remember(&self, response: &mut Response) {
        self.caller.remember(response);
    }

    /// Puts a hold into the basket.
    pub(super) fn keep(&self, app: &App, hold: HoldId, response: &mut Response) {
        if self.holds.first() == Some(&hold) {
            return;
        }
        let others = self.holds.iter().filter(|id| **id != hold);
        let ids: Vec<String> =
            [&hold].into_iter().chain(others).take(BASKET_HOLDS).map(HoldId::to_string).collect();
        if let Some(cookie) = app.auth.sessions.plain_cookie(BASKET, &ids.join("."), BASKET_AGE_S) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }

    /// The ids in the basket, for a script that looks each of them up.
    pub(super) fn basket(&self) -> String {
        self.holds.iter().map(HoldId::to_string).collect::<Vec<_>>().join(" ")
    }

    /// The hold, if it is this visitor's.
    pub(super) async fn own_hold(&self, app: &App, id: HoldId) -> Result<HoldView, Problem> {
        let view = app.ledger().hold(id).await?;
        view.filter(|view| view.hold.holder == self.holder).ok_or_else(Problem::unknown_hold)
    }

    /// What the visitor holds now, the newest first.
    pub(super) async fn holding(&self, app: &App) -> Result<Vec<HoldView>, Problem> {
        let mut live = Vec::new();
        for &id in &self.holds {
            let view = app.ledger().hold(id).await?;
            let own = view.filter(|view| view.hold.holder == self.holder && view.hold.is_live(view.at));
            if let Some(view) = own {
                live.push(self.back_to(app, view).await);
            }
        }
        Ok(live)
    }

    /// Whoever opens a page is there: a hold that they had left has its own time again. Where that cannot be had now, it
    /// is shown as it is.
    pub(super) async fn back_to(&self, app: &App, view: HoldView) -> HoldView {
        if view.hold.returns_to.is_none() || !view.hold.is_live(view.at) {
            return view;
        }
        let command = Command::ReturnToHold { hold: view.hold.id };
        match app.pipeline.submit(command, self.actor(), None).await {
            Ok(Reply::Done(Outcome::Returned(back))) => back,
            _ => view,
        }
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, app: &Shared) -> Result<Self, Problem> {
        Self::of(parts, app)
    }
}
