//! Who is calling, and how far they may reach.
//!
//! An API key acts for any holder; without one the caller is a browser, and its session is the holder. What a
//! role may call is settled here; what a session may touch (its own) is settled by the domain, as an `Actor`.

pub(crate) mod basket;
pub(crate) mod keys;
pub(crate) mod organiser;
pub(crate) mod origin;
pub(crate) mod queue;
mod session;

use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, header, request},
    response::Response,
};
use basket::Basket;
use holdfast_domain::{Actor, HoldId, HolderId};
use holdfast_engine::{admission::ClientNet, ledger::Role};
use keys::Keys;
pub(crate) use session::{Sessions, cookie_named};

use crate::{
    app::{App, Shared},
    doors::Peer,
    problem::{Code, Problem},
};

#[derive(Debug)]
pub(crate) struct Auth {
    pub keys: Keys,
    pub sessions: Sessions,
    pub allowed_origins: Vec<String>,
}

/// Someone with a key, or a browser.
#[derive(Debug)]
pub(crate) struct Caller {
    pub actor: Actor,
    role: Option<Role>,
    /// Where a browser speaks from, as far as that is known and matters.
    pub address: Option<ClientNet>,
    /// What a browser has of waiting rooms.
    tokens: Vec<Box<str>>,
    basket: Basket,
    /// The cookie of a session that begins with this request.
    new_cookie: Option<HeaderValue>,
}

impl Caller {
    /// The holder that a browser is; `None` for a key, which names the holder it acts for.
    pub(crate) fn session(&self) -> Option<&HolderId> {
        match &self.actor {
            Actor::Session(holder) => Some(holder),
            Actor::Key(_) | Actor::System => None,
        }
    }

    /// Tickets and passes that came along, and what else was in their place.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|token| &**token)
    }

    /// Whether the session begins with this request.
    pub(crate) fn is_new(&self) -> bool {
        self.new_cookie.is_some()
    }

    /// Hands a new session to the browser, whatever the answer is.
    pub(crate) fn remember(&self, response: &mut Response) {
        if let Some(cookie) = &self.new_cookie {
            response.headers_mut().append(header::SET_COOKIE, cookie.clone());
        }
    }

    /// Has a browser keep its session for another while. Said with the pages of what is one's own, and not with every
    /// answer: it is about the bookings of those who come back, and costs each answer a hundred bytes.
    pub(crate) fn renew(&self, sessions: &Sessions, response: &mut Response) {
        if let Some(holder) = self.session().filter(|_| !self.is_new()) {
            response.headers_mut().append(header::SET_COOKIE, sessions.cookie(holder));
        }
    }

    /// What a browser says that it held last.
    pub(crate) fn basket(&self) -> &Basket {
        &self.basket
    }

    /// Has a browser remember a hold of its own; whoever has a key remembers by other means.
    pub(crate) fn keep(&self, sessions: &Sessions, hold: HoldId, response: &mut Response) {
        if self.session().is_some() {
            self.basket.keep(sessions, hold, response);
        }
    }

    /// Whatever needs a key of a certain role.
    pub(crate) fn require(&self, needed: Role) -> Result<(), Problem> {
        match (self.role, needed) {
            (Some(Role::Admin), _) | (Some(Role::Seller), Role::Seller) => Ok(()),
            (Some(Role::Seller), Role::Admin) => {
                Err(Problem::new(Code::Forbidden, "This needs a key with the role admin."))
            }
            (None, _) => Err(Problem::new(Code::Unauthenticated, "This needs an API key.")),
        }
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, app: &Shared) -> Result<Self, Problem> {
        recognise(parts, app).await
    }
}

/// Who calls; if it is about changing something, also whether they do that too often.
pub(crate) async fn recognise(parts: &request::Parts, app: &App) -> Result<Caller, Problem> {
    let caller = match parts.headers.get(header::AUTHORIZATION) {
        Some(credentials) => with_key(credentials, app).await?,
        None => browser(parts, app)?,
    };
    if !parts.method.is_safe() {
        app.doors.knock(&caller.actor, caller.address).await?;
    }
    Ok(caller)
}

async fn with_key(credentials: &HeaderValue, app: &App) -> Result<Caller, Problem> {
    let wrong = || Problem::new(Code::Unauthenticated, "The API key is unknown or revoked.");
    let bearer = credentials.to_str().ok().and_then(|text| text.split_once(' '));
    let (_, key) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).ok_or_else(wrong)?;
    let known = app.auth.keys.recognise(key.trim(), app.clock.now()).await?.ok_or_else(wrong)?;
    Ok(Caller {
        actor: Actor::Key(known.name),
        role: Some(known.role),
        address: None,
        tokens: Vec::new(),
        basket: Basket::default(),
        new_cookie: None,
    })
}

/// Whoever sent no key, and a request that may change something only from our own pages.
pub(crate) fn browser(parts: &request::Parts, app: &App) -> Result<Caller, Problem> {
    if !parts.method.is_safe() && !origin::is_our_own(&parts.headers, &app.auth.allowed_origins) {
        return Err(Problem::new(Code::Forbidden, "A page of another site cannot do this."));
    }
    let (holder, new_cookie) = match app.auth.sessions.read(&parts.headers) {
        Some(holder) => (holder, None),
        None => {
            let holder = Sessions::fresh();
            let cookie = app.auth.sessions.cookie(&holder);
            (holder, Some(cookie))
        }
    };
    let peer = parts.extensions.get::<Peer>().copied();
    let address = app.doors.client(peer, &parts.headers);
    Ok(Caller {
        actor: Actor::Session(holder),
        role: None,
        address,
        tokens: queue::tokens(&parts.headers),
        basket: Basket::of(&parts.headers),
        new_cookie,
    })
}
