//! Whoever looks at a page: a browser with its session, whether or not it has one yet, and the holds in its basket.

use axum::{extract::FromRequestParts, http::request, response::Response};
use holdfast_domain::{Actor, Command, HoldId, HolderId};
use holdfast_engine::ledger::{HoldView, Outcome, Reply};

use crate::{
    app::{App, Shared},
    auth::{self, Caller},
    problem::Problem,
};

/// A browser. An API key sent to a page is not looked at: pages act for the session alone.
#[derive(Debug)]
pub(crate) struct Visitor {
    caller: Caller,
    holder: HolderId,
}

impl Visitor {
    pub(crate) fn of(parts: &request::Parts, app: &App) -> Result<Self, Problem> {
        let caller = auth::browser(parts, app)?;
        let holder = caller.session().cloned().ok_or_else(Problem::unknown_hold)?;
        Ok(Self { caller, holder })
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

    /// Whether nobody knows them yet, and so nothing is theirs.
    pub(super) fn is_new(&self) -> bool {
        self.caller.is_new()
    }

    /// Hands the browser the session it was just given.
    pub(crate) fn remember(&self, response: &mut Response) {
        self.caller.remember(response);
    }

    /// Has the browser keep its session for another while: whoever loses it loses what it booked.
    pub(super) fn renew(&self, app: &App, response: &mut Response) {
        self.caller.renew(&app.auth.sessions, response);
    }

    /// Puts a hold into the basket.
    pub(super) fn keep(&self, app: &App, hold: HoldId, response: &mut Response) {
        self.caller.keep(&app.auth.sessions, hold, response);
    }

    /// The ids in the basket, for a script that looks each of them up.
    pub(super) fn basket(&self) -> String {
        self.caller.basket().holds().iter().map(HoldId::to_string).collect::<Vec<_>>().join(" ")
    }

    /// The hold, if it is this visitor's.
    pub(super) async fn own_hold(&self, app: &App, id: HoldId) -> Result<HoldView, Problem> {
        let view = app.ledger().hold(id).await?;
        view.filter(|view| view.hold.holder == self.holder).ok_or_else(Problem::unknown_hold)
    }

    /// What the visitor holds now, the newest first.
    pub(super) async fn holding(&self, app: &App) -> Result<Vec<HoldView>, Problem> {
        let mut live = Vec::new();
        for &id in self.caller.basket().holds() {
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
