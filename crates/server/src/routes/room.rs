//! Waiting rooms: the organiser's plan, what everybody may know, and each visitor's way in.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use holdfast_domain::{HolderId, OfferId};
use holdfast_engine::{
    admission::waiting_room::{Board, Following, Given, Mode, Plan},
    ledger::{Answer, Reply},
};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{About, InOffer, Of, private};
use crate::{
    app::{App, Shared, json, worded},
    auth::{Caller, queue},
    body::{FromAdmin, FromAnyone, Sent},
    idempotency,
    problem::Problem,
    wire::{
        self,
        room::{Place, PlanRoom, Room, Token},
    },
};

/// Plan the waiting room of an offer.
///
/// There is one from now on, whatever there was before; `passthrough` turns it off. A change keeps the queue, unless
/// the order of it would be another one: from `fifo` to `lottery` and back a new run begins, and tickets are void. A
/// lottery needs an opening that is still to come, or the one it has already.
#[utoipa::path(put, path = "/v1/offers/{offer}/room", tag = "Waiting room", operation_id = "planRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    request_body(content = PlanRoom, example = json!({"method": "fifo", "max_active": 500, "session_s": 600})),
    responses((status = 200, description = "The room as it is now.", body = Room<'_>)))]
pub(crate) async fn plan(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    let planned = planned(&app, &offer).await?;
    let plan = sent.json::<PlanRoom>()?.plan(planned.as_ref(), app.clock.now())?;
    must_exist(&app, &offer).await?;
    let board = app.rooms.plan(&offer, plan).await?;
    Ok(shown(&offer, Some(&board)))
}

/// The plan of the room there is.
pub(crate) async fn planned(app: &App, offer: &OfferId) -> Result<Option<Plan>, Problem> {
    Ok(app.rooms.board(offer).await?.map(|board| board.plan))
}

async fn must_exist(app: &App, offer: &OfferId) -> Result<(), Problem> {
    match app.ledger().offer(offer).await? {
        Some(_) => Ok(()),
        None => Err(Problem::unknown_offer(offer.as_str())),
    }
}

/// The same where there is nothing that only an offer has, such as a queue: whoever waits in one asks often, and the
/// ledger is not asked for them.
async fn must_exist_without<T>(queue: Option<&T>, app: &App, offer: &OfferId) -> Result<(), Problem> {
    match queue {
        Some(_) => Ok(()),
        None => must_exist(app, offer).await,
    }
}

fn shown(offer: &OfferId, board: Option<&Board>) -> Response {
    json(wire::json(&Room::of(offer, board)))
}

async fn set(app: &App, offer: &OfferId, sent: &Sent, mode: Mode) -> Result<Response, Problem> {
    app.sensible(sent, sent.nothing()).await?;
    let done = once(app, sent, async {
        must_exist(app, offer).await?;
        let board = app.rooms.set_mode(offer, mode).await?;
        Ok(Answer { status: 200, body: wire::json(&Room::of(offer, board.as_ref())) })
    });
    Ok(done.await?.response())
}

/// What was said to a request, now or when its key first came.
struct Said {
    answer: Answer,
    replayed: bool,
}

impl Said {
    fn response(self) -> Response {
        let mut response = worded(self.answer);
        if self.replayed {
            response.headers_mut().insert(idempotency::REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }

    /// The token in what was said, for the browser to keep.
    fn token(&self, of: Token) -> Option<String> {
        let place: serde_json::Value = serde_json::from_slice(&self.answer.body).ok()?;
        let field = match of {
            Token::Ticket => "ticket",
            Token::Pass => "pass",
        };
        place[field].as_str().map(str::to_owned)
    }
}

/// Does it once for its key. Rooms are not in the books and each of these may be done twice, so the answer is kept there
/// by itself, after it was done; the first that is kept is everybody's.
async fn once(
    app: &App,
    sent: &Sent,
    act: impl Future<Output = Result<Answer, Problem>>,
) -> Result<Said, Problem> {
    let Some(key) = sent.idempotency() else {
        return Ok(Said { answer: act.await?, replayed: false });
    };
    let actor = &sent.caller.actor;
    if let Some(reply) = app.found(actor, key.clone()).await? {
        return said(app, reply);
    }
    let answer = act.await?;
    match app.keep(actor, key, answer.clone()).await? {
        Reply::Done(_) => Ok(Said { answer, replayed: false }),
        reply => said(app, reply),
    }
}

fn said(app: &App, reply: Reply) -> Result<Said, Problem> {
    match reply {
        Reply::Replayed(answer) => Ok(Said { answer, replayed: true }),
        reply => Err(app.said(reply).err().unwrap_or_else(Problem::in_flight)),
    }
}

/// Pause the room.
///
/// Nobody new is let in; whoever is inside stays, and whoever waits keeps their place.
#[utoipa::path(post, path = "/v1/offers/{offer}/room/pause", tag = "Waiting room", operation_id = "pauseRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "The room as it is now.", body = Room<'_>)))]
pub(crate) async fn pause(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    set(&app, &offer, &sent, Mode::Paused).await
}

/// Resume the room.
///
/// After a pause, or after it was opened to all.
#[utoipa::path(post, path = "/v1/offers/{offer}/room/resume", tag = "Waiting room", operation_id = "resumeRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "The room as it is now.", body = Room<'_>)))]
pub(crate) async fn resume(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    set(&app, &offer, &sent, Mode::Running).await
}

/// Open the room to all.
///
/// Holds need no pass until it is resumed; the queue is kept for then.
#[utoipa::path(post, path = "/v1/offers/{offer}/room/fail-open", tag = "Waiting room", operation_id = "failOpenRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "The room as it is now.", body = Room<'_>)))]
pub(crate) async fn fail_open(
    State(app): State<Shared>,
    About(offer, FromAdmin(sent)): About<OfferId, FromAdmin>,
) -> Result<Response, Problem> {
    set(&app, &offer, &sent, Mode::FailOpen).await
}

/// Look at the room.
///
/// The same bytes for everybody, and good for a second.
#[utoipa::path(get, path = "/v1/offers/{offer}/room", tag = "Waiting room", operation_id = "getRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "The room.", body = Room<'_>)))]
pub(crate) async fn read(State(app): State<Shared>, Of(offer): InOffer) -> Result<Response, Problem> {
    let board = app.rooms.board(&offer).await?;
    must_exist_without(board.as_ref(), &app, &offer).await?;
    let mut response = shown(&offer, board.as_ref());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=1"));
    Ok(response)
}

/// Who queues: a browser's session.
pub(crate) fn visitor(caller: &Caller) -> Result<&HolderId, Problem> {
    caller.session().ok_or_else(|| Problem::invalid("An API key needs no ticket: it is never asked for one."))
}

/// Join the queue.
///
/// Idempotent: who has a ticket keeps it. A browser without a session is given one; the ticket is good for it alone.
#[utoipa::path(post, path = "/v1/offers/{offer}/room/tickets", tag = "Waiting room", operation_id = "joinRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses(
        (status = 201, description = "A new ticket, and where it stands.", body = Place<'_>),
        (status = 200, description = "The ticket there was, or no queue to join.", body = Place<'_>)))]
pub(crate) async fn join(
    State(app): State<Shared>,
    About(offer, FromAnyone(sent)): About<OfferId, FromAnyone>,
) -> Result<Response, Problem> {
    app.sensible(&sent, sent.nothing()).await?;
    let joined = once(&app, &sent, async {
        must_exist(&app, &offer).await?;
        let given = ticket(&app, &offer, &sent.caller).await?;
        let status = if given.fresh { StatusCode::CREATED } else { StatusCode::OK };
        let body = wire::json(&Place::given(&offer, &given, Token::Ticket));
        Ok(Answer { status: status.as_u16(), body })
    });
    let said = joined.await?;
    let token = said.token(Token::Ticket);
    let mut response = said.response();
    keep(&app, &mut response, queue::Kept::Ticket, &offer, token.as_deref());
    sent.caller.remember(&mut response);
    Ok(private(response))
}

/// The visitor's ticket, given now if there was none.
pub(crate) async fn ticket(app: &App, offer: &OfferId, caller: &Caller) -> Result<Given, Problem> {
    let visitor = visitor(caller)?;
    if !app.rooms.has_ticket(offer, visitor, caller.tokens()).await? {
        app.doors.admit_ticket(caller.address).await?;
    }
    let joined = app.rooms.join(offer, visitor, caller.tokens()).await;
    joined.map_err(|denied| Problem::denied(offer, denied))
}

/// Has the browser keep a token.
pub(crate) fn keep(
    app: &App,
    response: &mut Response,
    kept: queue::Kept,
    offer: &OfferId,
    token: Option<&str>,
) {
    if let Some(cookie) = token.and_then(|token| kept.cookie(offer, Some(token), app.auth.sessions.secure()))
    {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// See where one stands.
///
/// Whoever asks is there; who has not asked for a while is passed over, and keeps the place.
#[utoipa::path(get, path = "/v1/offers/{offer}/room/me", tag = "Waiting room", operation_id = "getPlace",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "Where the visitor stands.", body = Place<'_>)))]
pub(crate) async fn me(
    State(app): State<Shared>,
    caller: Caller,
    Of(offer): InOffer,
) -> Result<Response, Problem> {
    let standing = app.rooms.standing(&offer, visitor(&caller)?, caller.tokens()).await;
    let standing = standing.map_err(|denied| Problem::denied(&offer, denied))?;
    must_exist_without(standing.as_ref(), &app, &offer).await?;
    Ok(private(json(wire::json(&Place::of(&offer, standing.as_ref())))))
}

/// Hear where one stands.
///
/// Server-sent events: the same object as `me` whenever it changes. Whoever listens is there.
#[utoipa::path(get, path = "/v1/offers/{offer}/room/me/stream", tag = "Waiting room", operation_id = "streamPlace",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "Where the visitor stands, until either side ends it.",
        content_type = "text/event-stream", body = Place<'_>)))]
pub(crate) async fn stream(
    State(app): State<Shared>,
    caller: Caller,
    Of(offer): InOffer,
) -> Result<Response, Problem> {
    let following = app.rooms.follow(&offer, visitor(&caller)?, caller.tokens()).await;
    let following = following.map_err(|denied| Problem::denied(&offer, denied))?;
    must_exist_without(following.as_ref(), &app, &offer).await?;
    let place = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| Problem::overloaded())?;
    let listener = Listener {
        offer,
        following,
        closing: app.closing.clone(),
        keep_alive: app.limits.stream_keep_alive,
        greeted: false,
        over: false,
        _place: place,
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Asks proxies that gather answers not to gather this one.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    let events = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    Ok((headers, Body::from_stream(events)).into_response())
}

/// One who waits, for as long as the connection lives.
struct Listener {
    offer: OfferId,
    following: Option<Following>,
    closing: CancellationToken,
    keep_alive: Duration,
    greeted: bool,
    over: bool,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// The next bytes of the stream; `None` ends it.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            self.greeted = true;
            return Some(Bytes::from_static(b"retry: 2000\n\n"));
        }
        let Some(following) = &mut self.following else {
            // No queue: said once, and that is all there is to say.
            return (!std::mem::replace(&mut self.over, true)).then(|| event(&Place::of(&self.offer, None)));
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => None,
            standing = timeout(self.keep_alive, following.next()) => match standing {
                Ok(standing) => standing.map(|standing| event(&Place::of(&self.offer, Some(&standing)))),
                Err(_) => Some(Bytes::from_static(b":\n\n")),
            },
        }
    }
}

fn event(place: &Place<'_>) -> Bytes {
    let json = wire::json(place);
    let mut text = b"data: ".to_vec();
    text.extend_from_slice(&json);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Exchange the ticket for a pass.
///
/// When `me` says `ready`. The same ticket gets the same visit again, and after it none: a ticket admits once.
#[utoipa::path(post, path = "/v1/offers/{offer}/room/pass", tag = "Waiting room", operation_id = "enterRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 200, description = "The pass: send it with holds.", body = Place<'_>)))]
pub(crate) async fn pass(
    State(app): State<Shared>,
    About(offer, FromAnyone(sent)): About<OfferId, FromAnyone>,
) -> Result<Response, Problem> {
    app.sensible(&sent, sent.nothing()).await?;
    let entered = once(&app, &sent, async {
        let given = enter(&app, &offer, &sent.caller).await?;
        must_exist_without(given.standing.as_ref(), &app, &offer).await?;
        Ok(Answer { status: 200, body: wire::json(&Place::given(&offer, &given, Token::Pass)) })
    });
    let said = entered.await?;
    let token = said.token(Token::Pass);
    let mut response = said.response();
    keep(&app, &mut response, queue::Kept::Pass, &offer, token.as_deref());
    Ok(private(response))
}

/// The visitor's pass, if it is their turn.
pub(crate) async fn enter(app: &App, offer: &OfferId, caller: &Caller) -> Result<Given, Problem> {
    let entered = app.rooms.enter(offer, visitor(caller)?, caller.tokens()).await;
    entered.map_err(|denied| Problem::denied(offer, denied))
}

/// Leave.
///
/// Gives up the ticket, and the place inside to the next. Repeatable.
#[utoipa::path(delete, path = "/v1/offers/{offer}/room/me", tag = "Waiting room", operation_id = "leaveRoom",
    params(("offer" = wire::schema::OfferId, Path, description = "The offer's id.")),
    responses((status = 204, description = "The place is another's.")))]
pub(crate) async fn leave(
    State(app): State<Shared>,
    caller: Caller,
    Of(offer): InOffer,
) -> Result<Response, Problem> {
    let holder = visitor(&caller)?;
    must_exist_without(app.rooms.board(&offer).await?.as_ref(), &app, &offer).await?;
    let left = app.rooms.leave(&offer, holder, caller.tokens()).await;
    left.map_err(|denied| Problem::denied(&offer, denied))?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    forget(&app, &mut response, &offer);
    Ok(response)
}

/// Has the browser forget its tokens.
pub(crate) fn forget(app: &App, response: &mut Response, offer: &OfferId) {
    for kept in [queue::Kept::Ticket, queue::Kept::Pass] {
        if let Some(cookie) = kept.cookie(offer, None, app.auth.sessions.secure()) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
}
