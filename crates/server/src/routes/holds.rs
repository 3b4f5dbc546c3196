//! Holds: placing them, and what can become of them.

use axum::{
    extract::{FromRequest, Request, State},
    response::{IntoResponse, Response},
};
use holdfast_domain::{Command, HoldId};
use holdfast_engine::{
    ledger::{IdempotencyKey, Outcome, Reply},
    mint,
};

use super::{About, Of, OfHold, private};
use crate::{
    app::{App, Shared, json},
    auth::Caller,
    body::{FromAnyone, Sent},
    problem::Problem,
    wire::{
        self,
        hold::{self, Hold, PlaceHold, holder},
    },
};

/// Hold units.
///
/// All lines are taken or none. The same holder asking again for exactly what it already holds gets its own live
/// hold back (200). A browser without a session is given one.
#[utoipa::path(post, path = "/v1/holds", tag = "Holds", operation_id = "placeHold",
    request_body(content = PlaceHold<'_>,
        example = json!({"holder": "alice", "lines": [{"offer": "hall", "unit": "A-12"}]})),
    responses(
        (status = 201, description = "The units are yours until the hold expires.", body = Hold<'_>),
        (status = 200, description = "You hold exactly this already.", body = Hold<'_>)))]
pub(crate) async fn place(State(app): State<Shared>, FromAnyone(sent): FromAnyone) -> Response {
    let wanted = app.sensible(&sent, wanted(&sent)).await;
    let caller = sent.into_caller();
    let claimed = claim(&app, &caller, wanted).await;
    let (mut response, held) = claimed.unwrap_or_else(|problem| (problem.into_response(), None));
    // Who they are goes first: many a client keeps one cookie and no more.
    caller.remember(&mut response);
    if let Some(hold) = held {
        // The shop's own pages find it then: what is claimed on the map is in the basket.
        caller.keep(&app.auth.sessions, hold, &mut response);
    }
    response
}

/// The same, before and without the router: see [`layers`](crate::layers).
pub(crate) async fn place_at_once(app: Shared, request: Request) -> Response {
    match FromAnyone::from_request(request, &app).await {
        Ok(sent) => place(State(app), sent).await,
        Err(problem) => problem.into_response(),
    }
}

type Wanted = (Command, Option<IdempotencyKey>);

fn wanted(sent: &Sent) -> Result<Wanted, Problem> {
    let asked = sent.json::<PlaceHold<'_>>()?;
    let holder = holder(asked.holder.as_ref(), sent.caller.session())?;
    let command = Command::PlaceHold { hold: mint::hold_id(), holder, asks: asked.asks()? };
    Ok((command, sent.idempotency()))
}

/// The answer, and the hold that was had.
async fn claim(
    app: &App,
    caller: &Caller,
    wanted: Result<Wanted, Problem>,
) -> Result<(Response, Option<HoldId>), Problem> {
    let (command, key) = wanted?;
    let reply = app.ask_for(caller, command, key, None).await?;
    let held = held(&reply);
    Ok((app.said(reply)?, held))
}

/// Which hold it is that was had, also by whoever asks for the answer again.
fn held(reply: &Reply) -> Option<HoldId> {
    match reply {
        Reply::Done(Outcome::Held { hold, .. }) => Some(hold.hold.id),
        Reply::Replayed(answer) => hold::id_in(&answer.body),
        _ => None,
    }
}

/// Read a hold.
///
/// As it is now: a hold whose time is up is `expired`, whether or not anyone has tidied it away.
#[utoipa::path(get, path = "/v1/holds/{id}", tag = "Holds", operation_id = "getHold",
    params(("id" = wire::schema::HoldId, Path, description = "The hold's id.")),
    responses((status = 200, description = "The hold.", body = Hold<'_>)))]
pub(crate) async fn read(
    State(app): State<Shared>,
    caller: Caller,
    Of(id): OfHold,
) -> Result<Response, Problem> {
    let view = app.ledger().hold(id).await?;
    let view =
        view.filter(|view| caller.actor.may_touch(&view.hold.holder)).ok_or_else(Problem::unknown_hold)?;
    Ok(private(json(wire::json(&Hold::of(&view)))))
}

/// Extend a hold.
///
/// To now + `hold_ttl_s`, at most three times.
#[utoipa::path(post, path = "/v1/holds/{id}/extend", tag = "Holds", operation_id = "extendHold",
    params(("id" = wire::schema::HoldId, Path, description = "The hold's id.")),
    responses((status = 200, description = "The hold with its new end.", body = Hold<'_>)))]
pub(crate) async fn extend(
    State(app): State<Shared>,
    About(hold, FromAnyone(sent)): About<HoldId, FromAnyone>,
) -> Result<Response, Problem> {
    app.sensible(&sent, sent.nothing()).await?;
    let key = sent.idempotency();
    app.submit(Command::ExtendHold { hold }, sent.caller.actor, key).await
}

/// Release a hold.
///
/// Repeatable: giving back what is already given back changes nothing.
#[utoipa::path(delete, path = "/v1/holds/{id}", tag = "Holds", operation_id = "releaseHold",
    params(("id" = wire::schema::HoldId, Path, description = "The hold's id.")),
    responses((status = 204, description = "The units are free.")))]
pub(crate) async fn release(
    State(app): State<Shared>,
    caller: Caller,
    Of(hold): OfHold,
) -> Result<Response, Problem> {
    app.submit(Command::ReleaseHold { hold }, caller.actor, None).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much is kept while a handler waits, and how it must lie in memory.
    fn kept<A, B, F>(_: impl Fn(A, B) -> F) -> (usize, usize) {
        (size_of::<F>(), align_of::<F>())
    }

    /// A timer wants its memory aligned to 128 bytes, which is the allocator's slow path: one that is seldom started is boxed.
    #[test]
    fn whoever_waits_for_a_hold_carries_little_and_no_timer() {
        let (size, alignment) = kept(place);
        assert!(size <= 4096 && alignment <= 16, "{size} bytes, aligned to {alignment}");
    }
}
