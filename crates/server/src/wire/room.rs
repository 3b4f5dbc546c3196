//! Waiting rooms on the wire.

use holdfast_domain::{Moment, OfferId, text};
use holdfast_engine::admission::waiting_room::{Board, Given, Method, Plan, Standing, TicketState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Shown, schema, time};
use crate::problem::Problem;

/// How the organiser wants people let in. What is left out has its default.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanRoom {
    method: RoomMethod,
    /// People inside at once.
    #[serde(default = "default_max_active")]
    #[schema(minimum = 1, maximum = 20000, default = 500)]
    max_active: u32,
    /// People let in a minute; null for as many as there is room for.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000000)]
    admit_per_minute: Option<u32>,
    /// How long one may stay inside.
    #[serde(default = "default_session_s")]
    #[schema(minimum = 1, maximum = 86400, default = 600)]
    session_s: u32,
    /// When the first are let in; a lottery is drawn then.
    #[serde(default)]
    #[schema(value_type = Option<schema::Time>)]
    opens_at: Option<String>,
    /// For everybody who waits.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 280)]
    message: Option<String>,
}

const fn default_max_active() -> u32 {
    500
}

const fn default_session_s() -> u32 {
    600
}

/// How people are let in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoomMethod {
    /// In the order they joined.
    Fifo,
    /// Those who joined before `opens_at` in an order drawn by lot, which anybody can verify; others behind them.
    Lottery,
    /// Everybody, at once: the room is off.
    Passthrough,
    /// Nobody.
    Reject,
}

impl From<Method> for RoomMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Fifo => Self::Fifo,
            Method::Lottery => Self::Lottery,
            Method::Passthrough => Self::Passthrough,
            Method::Reject => Self::Reject,
        }
    }
}

impl PlanRoom {
    /// The plan, in place of the one there is.
    pub(crate) fn plan(self, planned: Option<&Plan>, now: Moment) -> Result<Plan, Problem> {
        let within = |field: &str, value: u32, most: u32| match value {
            1.. if value <= most => Ok(value),
            _ => Err(Problem::invalid(format!("{field}: must be 1 to {most}"))),
        };
        let opens_at = match self.opens_at.as_deref().map(time::instant).transpose() {
            Ok(opens_at) => opens_at,
            Err(fault) => return Err(Problem::invalid(format!("opens_at: {}", fault.rule()))),
        };
        // Of a lottery that was planned in time, everything else may be changed when it has opened.
        let is_planned = |opens: Moment| {
            planned.is_some_and(|plan| plan.method == Method::Lottery && plan.opens_at_ms == Some(opens.ms()))
        };
        let method = match self.method {
            RoomMethod::Fifo => Method::Fifo,
            RoomMethod::Lottery if opens_at.is_none_or(|opens| opens <= now && !is_planned(opens)) => {
                return Err(Problem::invalid("opens_at: a lottery needs one that is still to come"));
            }
            RoomMethod::Lottery => Method::Lottery,
            RoomMethod::Passthrough => Method::Passthrough,
            RoomMethod::Reject => Method::Reject,
        };
        Ok(Plan {
            method,
            max_active: within("max_active", self.max_active, 20_000)?,
            admit_per_minute: self
                .admit_per_minute
                .map(|most| within("admit_per_minute", most, 1_000_000))
                .transpose()?,
            session_s: within("session_s", self.session_s, 86_400)?,
            opens_at_ms: opens_at.map(Moment::ms),
            message: self
                .message
                .as_deref()
                .map(|message| text::line("message", message, 280))
                .transpose()?,
        })
    }
}

/// A waiting room: the same for everybody.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Room<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    /// `off`, `scheduled`, `open`, `paused`, `sold_out`, `closed` or `fail_open`.
    state: &'static str,
    method: RoomMethod,
    /// Tickets given out.
    issued: u32,
    /// The highest place that was called.
    serving: u32,
    /// People inside now.
    inside: usize,
    /// Places passed a minute, lately.
    drain_per_minute: u32,
    message: Option<&'a str>,
    max_active: u32,
    admit_per_minute: Option<u32>,
    session_s: u32,
    #[schema(value_type = Option<schema::Time>)]
    opens_at: Option<Shown<Moment>>,
    /// Tickets of another run are void.
    run: u32,
    lottery: Option<Draw>,
}

/// A lottery that anybody can verify: `commitment` is the SHA-256 of `seed`, published before anybody joined. After the
/// draw, tickets 1 to `tickets` stand in the order of HMAC-SHA256(`seed`, number).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Draw {
    /// In hexadecimal.
    commitment: String,
    /// In hexadecimal; null before the draw.
    seed: Option<String>,
    /// How many were in the draw; null before it.
    tickets: Option<u32>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl<'a> Room<'a> {
    pub(crate) fn of(offer: &'a OfferId, board: Option<&'a Board>) -> Self {
        let Some(board) = board else { return Self::off(offer) };
        let plan = &board.plan;
        Self {
            offer: offer.as_str(),
            state: board.state.as_str(),
            method: plan.method.into(),
            issued: board.issued,
            serving: board.serving,
            inside: board.inside,
            drain_per_minute: board.drain_per_minute,
            message: plan.message.as_deref(),
            max_active: plan.max_active,
            admit_per_minute: plan.admit_per_minute,
            session_s: plan.session_s,
            opens_at: plan.opens_at_ms.map(Moment::from_ms).map(Shown),
            run: board.run,
            lottery: board.lottery.as_ref().map(|lottery| Draw {
                commitment: hex(&lottery.commitment()),
                seed: lottery.drawn.map(|_| hex(&lottery.seed)),
                tickets: lottery.drawn,
            }),
        }
    }

    /// An offer that never had a room.
    fn off(offer: &'a OfferId) -> Self {
        Self {
            offer: offer.as_str(),
            state: "off",
            method: RoomMethod::Passthrough,
            issued: 0,
            serving: 0,
            inside: 0,
            drain_per_minute: 0,
            message: None,
            max_active: default_max_active(),
            admit_per_minute: None,
            session_s: default_session_s(),
            opens_at: None,
            run: 0,
            lottery: None,
        }
    }
}

/// Where one visitor stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Place<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    /// The ticket, for clients that send it as `Queue-Token`. It counts together with the session cookie it was given
    /// with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ticket: Option<&'a str>,
    /// The pass, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pass: Option<&'a str>,
    /// `waiting`, `ready` (exchange the ticket for a pass now), `admitted`, `ended`, `open` (there is no queue),
    /// `sold_out` or `closed`.
    state: &'static str,
    /// The room's own state, as in `GET …/room`: who waits is told when it is `paused`. Null where there is no queue.
    room: Option<&'static str>,
    /// The ticket's number, in the order of joining.
    number: Option<u32>,
    /// The place in the queue; null before the draw of a lottery.
    place: Option<u32>,
    /// People who come before; never more than it was before. Null before the draw of a lottery.
    ahead: Option<u32>,
    /// Seconds, from and to; null where nobody can tell.
    #[schema(min_items = 2, max_items = 2)]
    eta_s: Option<[u32; 2]>,
    /// When to ask again. Who does not ask counts as away: passed over, with the place kept.
    retry_after_ms: u32,
    /// Until when one inside may stay, or one who was called must come.
    #[schema(value_type = Option<schema::Time>)]
    until: Option<Shown<Moment>>,
}

/// What is in the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Ticket,
    Pass,
}

impl<'a> Place<'a> {
    pub(crate) fn of(offer: &'a OfferId, standing: Option<&Standing>) -> Self {
        Self {
            offer: offer.as_str(),
            ticket: None,
            pass: None,
            state: standing.map_or(TicketState::Open, |standing| standing.state).as_str(),
            room: standing.map(|standing| standing.room.as_str()),
            number: standing.map(|standing| standing.number),
            place: standing.and_then(|standing| standing.place),
            ahead: standing.map_or(Some(0), |standing| standing.ahead),
            eta_s: standing.map_or(Some((0, 0)), |standing| standing.eta_s).map(|(from, to)| [from, to]),
            retry_after_ms: standing.map_or(30_000, |standing| standing.retry_after_ms),
            until: standing.and_then(|standing| standing.until).map(Shown),
        }
    }

    pub(crate) fn given(offer: &'a OfferId, given: &'a Given, what: Token) -> Self {
        let token = given.token.as_deref();
        let (ticket, pass) = match what {
            Token::Ticket => (token, None),
            Token::Pass => (None, token),
        };
        Self { ticket, pass, ..Self::of(offer, given.standing.as_ref()) }
    }
}
