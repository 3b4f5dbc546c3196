//! The page of those who wait: how many are ahead and how long it may take. It asks again by itself, with scripts as a
//! stream and without them by a refresh, and leads to the offer when it is one's turn.

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use holdfast_domain::OfferId;
use holdfast_engine::admission::waiting_room::{Board, Denied, RoomState, Standing, TicketState};

use super::page;
use crate::{
    app::{App, Shared},
    auth::{Caller, queue::Kept},
    problem::{Code, Problem},
    routes::{InOffer, Of, room},
};

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    id: String,
    name: String,
    message: Option<String>,
    /// Said to whoever has not joined, where the room is not as it should be.
    note: Option<&'static str>,
    /// Whether joining is any use.
    may_join: bool,
    /// Where a ticket is in a draw that is still to come.
    by_lot: bool,
    commitment: Option<String>,
    place: Option<Waiting>,
}

/// Somebody with a ticket.
struct Waiting {
    /// What there is to say: `waiting`, `paused`, `sold_out` or `closed`.
    scene: &'static str,
    /// The doors are not open yet.
    early: bool,
    number: u32,
    ahead: Option<u32>,
    wait: Option<String>,
    /// While everybody's place is taken it may take as long as one may stay, however quickly people left lately.
    least_s: u32,
    refresh_s: u32,
}

impl Waiting {
    fn of(standing: &Standing, board: &Board) -> Self {
        let is_full = board.inside >= board.plan.max_active as usize;
        let least_s = if is_full { board.plan.session_s } else { 0 };
        Self {
            scene: match (standing.state, standing.room) {
                (TicketState::Waiting, RoomState::Paused) => "paused",
                (state, _) => state.as_str(),
            },
            early: standing.room == RoomState::Scheduled,
            number: standing.number,
            ahead: standing.ahead,
            wait: standing.eta_s.map(|(from, to)| wait(from, to.max(least_s))),
            least_s,
            refresh_s: standing.retry_after_ms.div_ceil(1000),
        }
    }

    /// Whether this is what there is to say now; the rest is there for the script, which has to say it later.
    fn is(&self, scene: &str) -> bool {
        self.scene == scene
    }

    /// Only who waits is told how many are ahead: with nothing left, a number would be a promise.
    fn is_moving(&self) -> bool {
        self.is("waiting") || self.is("paused")
    }
}

/// A range of time in words, and never more exact than it is.
fn wait(from_s: u32, to_s: u32) -> String {
    match (from_s / 60, to_s.div_ceil(60)) {
        (0, 0..=1) => "less than a minute".to_owned(),
        (0, to) => format!("up to {to} minutes"),
        (from, to) if to <= 120 => format!("{from} to {to} minutes"),
        (from, to) => format!("{} to {} hours", (from / 60).max(1), to.div_ceil(60)),
    }
}

/// `GET /o/{offer}/queue`. Whoever is called goes in by looking: the page looks for them, so that nobody has to watch it.
pub(crate) async fn read(
    State(app): State<Shared>,
    caller: Caller,
    Of(id): InOffer,
    uri: Uri,
) -> Result<Response, Problem> {
    let view = app.ledger().offer(&id).await?.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
    let board = app.rooms.board(&id).await?;
    let Some(board) = board.filter(|board| !board.state.lets_everybody_in()) else {
        return Ok(led_to(&format!("/o/{id}")));
    };
    let standing = match app.rooms.standing(&id, room::visitor(&caller)?, caller.tokens()).await {
        Ok(standing) => standing,
        Err(Denied::NoTicket) => None,
        Err(denied) => return Err(Problem::denied(&id, denied)),
    };
    match standing.as_ref().map(|standing| standing.state) {
        Some(TicketState::Ready) => enter(&app, &id, &caller).await,
        Some(TicketState::Admitted | TicketState::Open) => Ok(led_to(&format!("/o/{id}"))),
        _ => {
            let has_left = uri.query().is_some_and(|query| query.starts_with("left"));
            shown(view.offer.def().name.clone(), &id, &board, standing.as_ref(), &caller, has_left)
        }
    }
}

fn shown(
    name: String,
    id: &OfferId,
    board: &Board,
    standing: Option<&Standing>,
    caller: &Caller,
    has_left: bool,
) -> Result<Response, Problem> {
    let note = match board.state {
        _ if has_left => Some("You have left the queue."),
        RoomState::Paused => {
            Some("The queue is paused: nobody is let in for a moment. You can join it all the same.")
        }
        RoomState::SoldOut => {
            Some("Everything is sold. Should something come back, those who wait are let in first.")
        }
        RoomState::Closed => Some("Nobody is let in at the moment."),
        RoomState::Scheduled => Some("The doors are not open yet."),
        _ => None,
    };
    // A ticket that has been used is none: they may join again.
    let standing = standing.filter(|standing| standing.state != TicketState::Ended);
    let undrawn = board.lottery.as_ref().filter(|lottery| lottery.drawn.is_none());
    let commitment =
        undrawn.map(|lottery| lottery.commitment().iter().map(|byte| format!("{byte:02x}")).collect());
    let page = page(&QueuePage {
        id: id.to_string(),
        name,
        message: board.plan.message.clone(),
        note,
        may_join: board.state != RoomState::Closed,
        by_lot: undrawn.is_some(),
        commitment,
        place: standing.map(|standing| Waiting::of(standing, board)),
    });
    let mut response = page?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    caller.remember(&mut response);
    Ok(response)
}

fn led_to(place: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn enter(app: &App, id: &OfferId, caller: &Caller) -> Result<Response, Problem> {
    match room::enter(app, id, caller).await {
        Ok(given) => {
            let mut response = led_to(&format!("/o/{id}"));
            room::keep(app, &mut response, Kept::Pass, id, given.token.as_deref());
            Ok(response)
        }
        // Called a moment ago, and no more: the queue says when again.
        Err(problem) if problem.code == Code::QueueRequired => Ok(led_to(&format!("/o/{id}/queue"))),
        Err(problem) => Err(problem),
    }
}

/// `POST /o/{offer}/queue`: joins.
pub(crate) async fn join(
    State(app): State<Shared>,
    caller: Caller,
    Of(id): InOffer,
) -> Result<Response, Problem> {
    let given = room::ticket(&app, &id, &caller).await?;
    let mut response = led_to(&format!("/o/{id}/queue"));
    room::keep(&app, &mut response, Kept::Ticket, &id, given.token.as_deref());
    caller.remember(&mut response);
    Ok(response)
}

/// `POST /o/{offer}/queue/leave`: gives the place to the next.
pub(crate) async fn leave(
    State(app): State<Shared>,
    caller: Caller,
    Of(id): InOffer,
) -> Result<Response, Problem> {
    let left = app.rooms.leave(&id, room::visitor(&caller)?, caller.tokens()).await;
    left.map_err(|denied| Problem::denied(&id, denied))?;
    let mut response = led_to(&format!("/o/{id}/queue?left"));
    room::forget(&app, &mut response, &id);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_range() {
        assert_eq!(wait(0, 30), "less than a minute");
        assert_eq!(wait(20, 200), "up to 4 minutes");
        assert_eq!(wait(130, 500), "2 to 9 minutes");
        assert_eq!(wait(4_000, 12_000), "1 to 4 hours");
    }
}
