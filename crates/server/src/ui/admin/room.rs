//! The waiting room's controls: how many wait, how many are inside, and a button to stop it now.

use askama::Template;
use axum::{extract::State, response::Response};
use holdfast_domain::{Moment, OfferId};
use holdfast_engine::admission::waiting_room::{Board, Method, Mode, Plan, RoomState};
use serde_json::{Value, json};

use super::{
    super::words,
    Form, Notice, Submitted, SubmittedTo,
    change::{field_of, moment_in, number_in},
    go, is_ours_to_say,
    offer::OfferPage,
    refused,
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
    routes::{InOffer, Of, room::planned},
    wire::room::PlanRoom,
};

/// The part that keeps itself up to date.
#[derive(Template)]
#[template(path = "admin/room_part.html")]
pub(super) struct RoomPart {
    id: String,
    tone: &'static str,
    word: &'static str,
    meaning: &'static str,
    waiting: String,
    inside: String,
    admitted: String,
    per_minute: String,
    /// A pause that another state hides.
    also_paused: bool,
    /// Which buttons make sense now.
    can_open: bool,
    can_pause: bool,
    can_resume: bool,
    can_fail_open: bool,
}

/// The plan as the form shows it.
pub(super) struct PlanFields {
    pub methods: Vec<MethodChoice>,
    pub max_active: u32,
    pub admit_per_minute: String,
    pub session_s: u32,
    pub opens_at: String,
    pub message: String,
}

pub(super) struct MethodChoice {
    pub name: &'static str,
    pub words: &'static str,
    pub chosen: bool,
}

/// The state in a word, its tone, and what it means for whoever comes.
const fn told(state: RoomState) -> (&'static str, &'static str, &'static str) {
    match state {
        RoomState::Off => ("", "No room", "Everybody can hold at once."),
        RoomState::Scheduled => {
            ("held", "Scheduled", "People can join; the first are let in at the opening.")
        }
        RoomState::Open => ("good", "Open", "People are let in in their turn."),
        RoomState::Paused => {
            ("bad", "Paused", "Nobody new is let in. Whoever is inside stays, and places are kept.")
        }
        RoomState::SoldOut => ("held", "Nothing left", "Nobody is let in until something is free again."),
        RoomState::Closed => ("bad", "Closed", "Nobody is let in."),
        RoomState::FailOpen => ("held", "Open to all", "Nobody needs to queue. The queue is kept for later."),
    }
}

impl RoomPart {
    pub(super) fn of(id: &OfferId, board: Option<&Board>) -> Self {
        let state = board.map_or(RoomState::Off, |board| board.state);
        let (tone, word, meaning) = told(state);
        let figure = |of: fn(&Board) -> u64| words::count(board.map_or(0, of));
        let runs = board.is_some_and(|board| matches!(board.plan.method, Method::Fifo | Method::Lottery));
        // What the organiser did, not what became of it: a pause must be seen and ended also when nothing is left.
        let mode = board.map_or(Mode::Running, |board| board.mode);
        Self {
            id: id.to_string(),
            tone,
            word,
            meaning,
            waiting: figure(|board| u64::from(board.issued.saturating_sub(board.serving))),
            inside: figure(|board| board.inside as u64),
            admitted: figure(|board| board.admitted),
            per_minute: figure(|board| board.drain_per_minute.into()),
            also_paused: mode == Mode::Paused && state != RoomState::Paused,
            can_open: state == RoomState::Off,
            can_pause: runs && mode != Mode::Paused,
            can_resume: mode != Mode::Running,
            can_fail_open: runs && mode != Mode::FailOpen,
        }
    }
}

impl PlanFields {
    pub(super) fn of(board: Option<&Board>) -> Self {
        let plan = board.map(|board| &board.plan);
        let now = plan.map_or(Method::Passthrough, |plan| plan.method);
        let choice = |(method, name, words)| MethodChoice { name, words, chosen: method == now };
        let methods = [
            (Method::Passthrough, "passthrough", "No room: everybody at once"),
            (Method::Fifo, "fifo", "First come, first served"),
            (Method::Lottery, "lottery", "By lot at the opening"),
            (Method::Reject, "reject", "Nobody"),
        ];
        Self {
            methods: methods.into_iter().map(choice).collect(),
            max_active: plan.map_or(500, |plan| plan.max_active),
            admit_per_minute: plan
                .and_then(|plan| plan.admit_per_minute)
                .map(|most| most.to_string())
                .unwrap_or_default(),
            session_s: plan.map_or(600, |plan| plan.session_s),
            opens_at: plan
                .and_then(|plan| plan.opens_at_ms)
                .map(|at| field_of(Moment::from_ms(at)))
                .unwrap_or_default(),
            message: plan.and_then(|plan| plan.message.clone()).unwrap_or_default(),
        }
    }
}

/// `GET /admin/offers/{offer}/room`.
pub(crate) async fn read(
    State(app): State<Shared>,
    _organiser: Organiser,
    Of(id): InOffer,
) -> Result<Response, Problem> {
    let board = app.rooms.board(&id).await?;
    super::super::page(&RoomPart::of(&id, board.as_ref()))
}

/// `POST /admin/offers/{offer}/room`: another plan, or one of the buttons.
pub(crate) async fn control(
    State(app): State<Shared>,
    SubmittedTo(id, Submitted { organiser, form, .. }): SubmittedTo<OfferId>,
) -> Result<Response, Problem> {
    match change(&app, &id, &form).await {
        Ok(done) => go(&format!("/admin/offers/{id}?done={done}#room")),
        Err(problem) if is_ours_to_say(&problem) => {
            let page = OfferPage::load(&app, &id, &form, Some(Notice::of(&problem))).await?;
            refused(&organiser, &problem, &page)
        }
        Err(problem) => Err(problem),
    }
}

async fn change(app: &App, id: &OfferId, form: &Form) -> Result<&'static str, Problem> {
    if app.ledger().offer(id).await?.is_none() {
        return Err(Problem::unknown_offer(id.as_str()));
    }
    let (mode, done) = match form.one("do") {
        Some("open") => {
            open(app, id).await?;
            return Ok("begun");
        }
        Some("pause") => (Mode::Paused, "paused"),
        Some("resume") => (Mode::Running, "resumed"),
        Some("fail-open") => (Mode::FailOpen, "opened"),
        _ => {
            let planned = planned(app, id).await?;
            app.rooms.plan(id, plan(form)?.plan(planned.as_ref(), app.clock.now())?).await?;
            return Ok("planned");
        }
    };
    app.rooms.set_mode(id, mode).await?;
    Ok(done)
}

/// A room with one click: first come, first served, with the plan there was before or else the usual one.
async fn open(app: &App, id: &OfferId) -> Result<(), Problem> {
    let fifo = serde_json::from_value::<PlanRoom>(json!({"method": "fifo"}));
    let usual = fifo.map_err(|fault| Problem::invalid(fault.to_string()))?.plan(None, app.clock.now())?;
    let plan = match planned(app, id).await? {
        Some(planned) => Plan { method: Method::Fifo, opens_at_ms: None, ..planned },
        None => usual,
    };
    app.rooms.plan(id, plan).await?;
    app.rooms.set_mode(id, Mode::Running).await?;
    Ok(())
}

/// The plan in the form, read by the rules of the API.
fn plan(form: &Form) -> Result<PlanRoom, Problem> {
    let mut plan = json!({"method": form.one("method").unwrap_or("passthrough")});
    for field in ["max_active", "admit_per_minute", "session_s"] {
        if let Some(number) = number_in(form, field)? {
            plan[field] = number.into();
        }
    }
    plan["opens_at"] = moment_in(form, "opens_at")?.map_or(Value::Null, |at| at.to_string().into());
    plan["message"] = form.one("message").map_or(Value::Null, Value::from);
    serde_json::from_value(plan).map_err(|fault| Problem::invalid(fault.to_string()))
}
