//! What can be changed about an offer: its name and its terms. Its units and prices stay what they are.

use axum::{extract::State, response::Response};
use holdfast_domain::{Amendment, Command, InventoryDef, Moment, OfferDef, OfferId};
use holdfast_engine::ledger::SnapshotUnits;

use super::{
    super::words, Form, Notice, Submitted, SubmittedTo, go, is_ours_to_say, offer::OfferPage, refused, submit,
};
use crate::{
    app::{App, Shared},
    problem::{Code, Problem},
    wire::time,
};

/// The fields as the form shows them.
pub(super) struct Settings {
    pub name: String,
    pub hold_ttl_s: u32,
    pub limit: String,
    pub opens_at: String,
    pub closes_at: String,
    /// Of a calendar: a day a line.
    pub closed: Option<String>,
}

impl Settings {
    pub(super) fn of(def: &OfferDef) -> Self {
        let closed = match &def.inventory {
            InventoryDef::Slots(calendar) => Some(calendar.closed.join("\n")),
            InventoryDef::Seats(_) | InventoryDef::Stock(_) => None,
        };
        Self {
            name: def.name.clone(),
            hold_ttl_s: def.hold_ttl_s,
            limit: def.limit_per_holder.map(|limit| limit.to_string()).unwrap_or_default(),
            opens_at: def.opens_at.map(field_of).unwrap_or_default(),
            closes_at: def.closes_at.map(field_of).unwrap_or_default(),
            closed,
        }
    }
}

/// A moment as a field without a zone shows it, in UTC.
pub(super) fn field_of(at: Moment) -> String {
    at.to_string().chars().take(19).collect()
}

/// The moment in such a field; `None` where it is empty.
pub(super) fn moment_in(form: &Form, field: &str) -> Result<Option<Moment>, Problem> {
    let Some(text) = form.one(field) else { return Ok(None) };
    let whole = match text.len() {
        16 => format!("{text}:00Z"),
        _ => format!("{}Z", text.trim_end_matches('Z')),
    };
    let named = |fault: time::NotAnInstant| Problem::invalid(format!("{field}: {}", fault.rule()));
    time::instant(&whole).map(Some).map_err(named)
}

/// The number in a field; `None` where it is empty.
pub(super) fn number_in(form: &Form, field: &str) -> Result<Option<u32>, Problem> {
    let number = |text: &str| {
        text.trim().parse().map_err(|_| Problem::invalid(format!("{field}: must be a whole number")))
    };
    form.one(field).map(number).transpose()
}

fn amendment(form: &Form) -> Result<Amendment, Problem> {
    // A line of stock has a form of its own, with nothing else in it.
    if let Some(key) = form.one("line") {
        let capacity =
            number_in(form, "capacity")?.ok_or_else(|| Problem::invalid("capacity: must be given"))?;
        return Ok(Amendment { capacities: vec![(key.to_owned(), capacity)], ..Amendment::default() });
    }
    let days = |text: &str| text.split_ascii_whitespace().map(str::to_owned).collect();
    Ok(Amendment {
        name: form.one("name").map(str::to_owned),
        hold_ttl_s: number_in(form, "hold_ttl_s")?,
        limit_per_holder: Some(number_in(form, "limit_per_holder")?),
        opens_at: Some(moment_in(form, "opens_at")?),
        closes_at: Some(moment_in(form, "closes_at")?),
        capacities: Vec::new(),
        closed: form.one("calendar").map(|_| days(form.one("closed").unwrap_or_default())),
    })
}

/// Of a line more is sold than the capacity that was asked for.
async fn too_small(app: &App, id: &OfferId, line: &str) -> Result<Notice, Problem> {
    let snapshot = app.ledger().snapshot(id, None).await?;
    let snapshot = snapshot.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
    let unit = match &snapshot.units {
        SnapshotUnits::Dense(units) => snapshot.offer.find(line).and_then(|unit| units.get(unit as usize)),
        SnapshotUnits::Cells(_) => None,
    };
    let sold = unit.map_or(0, |unit| u64::from(unit.held) + u64::from(unit.booked));
    Ok(Notice::bad(format!(
        "{line}: {} held or booked; capacity cannot go below that.",
        if sold == 1 { "1 is".to_owned() } else { format!("{} are", words::count(sold)) }
    )))
}

/// `POST /admin/offers/{offer}/change`.
pub(crate) async fn change(
    State(app): State<Shared>,
    SubmittedTo(offer, Submitted { organiser, form, .. }): SubmittedTo<OfferId>,
) -> Result<Response, Problem> {
    let outcome = match amendment(&form) {
        Ok(amendment) => {
            let command = Command::AmendOffer { offer: offer.clone(), amendment };
            submit(&app, &organiser.actor, command).await
        }
        Err(problem) => Err(problem),
    };
    match outcome {
        Ok(_) => go(&format!("/admin/offers/{offer}?done=changed")),
        Err(problem) if is_ours_to_say(&problem) => {
            let notice = match form.one("line").filter(|_| problem.code == Code::UnitTaken) {
                Some(line) => too_small(&app, &offer, line).await?,
                None => Notice::of(&problem),
            };
            refused(&organiser, &problem, &OfferPage::load(&app, &offer, &form, Some(notice)).await?)
        }
        Err(problem) => Err(problem),
    }
}
