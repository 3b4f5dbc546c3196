//! What every request shares.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use holdfast_domain::{Actor, Command};
use holdfast_engine::{
    admission::{Places, RateLimiter, Visitor, waiting_room::Rooms},
    clock::Clock,
    ledger::{Answer, IdempotencyKey, Ledger, Reply, Wording},
    mint,
    outbox::live_map::LiveMap,
    pipeline::Pipeline,
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{Auth, Caller, Sessions, keys::Keys},
    body::Sent,
    doors::Doors,
    idempotency,
    lab::Lab,
    payments::{Desk, PaymentDesk},
    problem::{Code, Problem},
    settings::{Limits, Settings},
    telemetry, wire,
};

/// What a server is made of; [`run`](crate::run) puts it together.
#[derive(Debug)]
pub struct Parts {
    pub pipeline: Arc<Pipeline>,
    pub live_map: Arc<LiveMap>,
    pub clock: Arc<dyn Clock>,
    /// Counts how often each caller asks.
    pub limiter: Arc<RateLimiter>,
    pub rooms: Arc<Rooms>,
    /// `None` where nothing is paid through a provider.
    pub payments: Option<PaymentDesk>,
    /// `None` where there is nothing at `/lab`.
    pub lab: Option<Arc<dyn Lab>>,
    pub settings: Settings,
}

pub(crate) type Shared = Arc<App>;

#[derive(Debug)]
pub(crate) struct App {
    pub pipeline: Arc<Pipeline>,
    pub live_map: Arc<LiveMap>,
    pub clock: Arc<dyn Clock>,
    pub desk: Option<Desk>,
    pub rooms: Arc<Rooms>,
    pub lab: Option<Arc<dyn Lab>>,
    /// How long a hold is kept for a buyer whose page has gone away; `None` for as long as any other.
    pub leave_keep_s: Option<u32>,
    pub auth: Auth,
    pub doors: Doors,
    pub limits: Limits,
    /// Requests under way.
    pub requests: Arc<Places>,
    /// Open event streams.
    pub streams: Arc<Semaphore>,
    /// Cancelled when the server stops: streams end themselves then, for nothing else would end them.
    pub closing: CancellationToken,
    pub metrics: PrometheusHandle,
}

impl App {
    pub(crate) fn new(parts: Parts, closing: CancellationToken) -> Self {
        let Settings {
            admin_key,
            session_secret,
            secure_cookies,
            allowed_origins,
            limits,
            rates,
            proxies,
            leave_keep,
        } = parts.settings;
        let ledger = Arc::clone(parts.pipeline.ledger());
        Self {
            auth: Auth {
                keys: Keys::new(ledger, admin_key),
                sessions: Sessions::new(session_secret, secure_cookies),
                allowed_origins,
            },
            doors: Doors::new(parts.limiter, rates, proxies),
            pipeline: parts.pipeline,
            live_map: parts.live_map,
            clock: parts.clock,
            desk: parts.payments.map(Desk::from),
            rooms: parts.rooms,
            lab: parts.lab,
            leave_keep_s: Some(leave_keep.as_secs() as u32).filter(|&keep_s| keep_s > 0),
            requests: Arc::new(Places::new(limits.max_requests)),
            streams: Arc::new(Semaphore::new(limits.max_streams)),
            limits,
            closing,
            metrics: telemetry::install(),
        }
    }

    /// For questions, which change nothing.
    pub(crate) fn ledger(&self) -> &dyn Ledger {
        self.pipeline.ledger().as_ref()
    }

    /// One command, from the caller to the worded answer.
    pub(crate) async fn submit(
        &self,
        command: Command,
        actor: Actor,
        key: Option<IdempotencyKey>,
    ) -> Result<Response, Problem> {
        self.said(self.pipeline.submit(command, actor, key).await?)
    }

    /// The same for a hold, for which a browser may have to queue, and of which it cannot have any number without buying;
    /// before it is worded.
    pub(crate) async fn ask_for(
        &self,
        caller: &Caller,
        command: Command,
        key: Option<IdempotencyKey>,
        wording: Option<Wording>,
    ) -> Result<Reply, Problem> {
        let actor = caller.actor.clone();
        match self.let_in(caller, &command).await {
            Ok(visitor) => Ok(self.pipeline.submit_for(visitor, command, actor, key, wording).await?),
            Err(denied) => Box::pin(self.recalled(caller, &command, key, wording)).await.ok_or(denied),
        }
    }

    /// What is said to one who is not let in and need not be: whoever asks again hears what was said then, and has the
    /// hold that is theirs already. `None` where there is nothing, or nobody can tell. A session that begins with this
    /// very request has nothing, so a crowd of strangers costs the ledger no question.
    async fn recalled(
        &self,
        caller: &Caller,
        command: &Command,
        key: Option<IdempotencyKey>,
        wording: Option<Wording>,
    ) -> Option<Reply> {
        let recall = command.recalling(None).filter(|_| !caller.is_new())?;
        match self.pipeline.submit_worded(recall, caller.actor.clone(), key, wording).await {
            Ok(Reply::Refused(_)) | Err(_) => None,
            Ok(reply) => Some(reply),
        }
    }

    /// What this key stands for already; `None` where it was never used. Asked with a command that is always refused: what
    /// is refused leaves no trace, and the key is looked at first.
    pub(crate) async fn found(&self, actor: &Actor, key: IdempotencyKey) -> Result<Option<Reply>, Problem> {
        let impossible = Command::ExtendHold { hold: mint::hold_id() };
        match self.pipeline.submit(impossible, actor.clone(), Some(key)).await? {
            Reply::Refused(_) | Reply::Done(_) => Ok(None),
            reply @ (Reply::Replayed(_) | Reply::Open { .. } | Reply::KeyReused) => Ok(Some(reply)),
        }
    }

    /// What is said to whoever uses this key again; `None` where nobody can tell.
    async fn answered(
        &self,
        actor: &Actor,
        key: Option<IdempotencyKey>,
    ) -> Option<Result<Response, Problem>> {
        let reply = self.found(actor, key?).await.ok()??;
        Some(self.said(reply))
    }

    /// What was read of a request. One that makes no sense with a key that stands for another is that first of all.
    pub(crate) async fn sensible<T>(&self, sent: &Sent, read: Result<T, Problem>) -> Result<T, Problem> {
        match read {
            Ok(read) => Ok(read),
            Err(fault) => match Box::pin(self.answered(&sent.caller.actor, sent.idempotency())).await {
                Some(Err(reused)) => Err(reused),
                Some(Ok(_)) | None => Err(fault),
            },
        }
    }

    /// Keeps an answer under its key, for what leaves nothing else in the books; or says what was kept before.
    pub(crate) async fn keep(
        &self,
        actor: &Actor,
        key: IdempotencyKey,
        answer: Answer,
    ) -> Result<Reply, Problem> {
        let nothing = Command::Tidy { limit: 0 };
        let words = Wording(Arc::new(move |_| answer.clone()));
        Ok(self.pipeline.submit_worded(nothing, actor.clone(), Some(key), Some(words)).await?)
    }

    /// Whose hold it is, if a browser's, once it has passed by the waiting rooms of what it wants. Keys need no pass:
    /// whoever has one was let in by the organiser.
    async fn let_in(&self, caller: &Caller, command: &Command) -> Result<Option<Visitor>, Problem> {
        let (Some(holder), Command::PlaceHold { asks, .. }) = (caller.session(), command) else {
            return Ok(None);
        };
        let offers: BTreeSet<_> = asks.iter().map(|ask| &ask.offer).collect();
        for offer in offers {
            let admitted = Box::pin(self.rooms.admit(offer, holder, caller.tokens())).await;
            admitted.map_err(|denied| Problem::denied(offer, denied))?;
        }
        Ok(Some(Visitor { holder: holder.clone(), address: caller.address }))
    }

    /// What the ledger replied, worded.
    pub(crate) fn said(&self, reply: Reply) -> Result<Response, Problem> {
        match reply {
            Reply::Done(outcome) => Ok(worded(wire::render(&outcome))),
            Reply::Refused(refusal) => Err(refusal.into()),
            Reply::Replayed(answer) => {
                let mut response = worded(answer);
                response.headers_mut().insert(idempotency::REPLAYED, HeaderValue::from_static("true"));
                Ok(response)
            }
            Reply::Open { .. } => Err(Problem::in_flight()),
            Reply::KeyReused => Err(Problem::new(
                Code::IdempotencyKeyReused,
                "This Idempotency-Key came before with another body or another route.",
            )),
        }
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

pub(crate) fn worded(answer: Answer) -> Response {
    let mut response = Response::new(answer.body.into());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    if response.status() != StatusCode::NO_CONTENT {
        let kind = if answer.status < 400 { JSON } else { PROBLEM_JSON };
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// A 200 of JSON that is already written.
pub(crate) fn json(body: bytes::Bytes) -> Response {
    ([(header::CONTENT_TYPE, JSON)], body).into_response()
}
