//! Units to pick: the seats of one section as a grid, the lines of a stock, the hours of a day; and taking them off sale or putting them
//! back.

use std::collections::BTreeSet;

use axum::{extract::State, response::Response};
use holdfast_domain::{
    Command, Currency, Inventory, Offer, OfferId, StockLine, UnitNo, UnitState,
    schedule::{Calendar, Days, parse_date},
    seat_plan::{Row, SeatPlan},
};
use holdfast_engine::ledger::{Cells, Snapshot, SnapshotUnits};
use jiff::civil::Time;

use super::{
    super::words, Form, Notice, Submitted, SubmittedTo, go, is_ours_to_say, offer::OfferPage, refused, submit,
};
use crate::{
    app::{App, Shared},
    problem::Problem,
    wire::availability::cell,
};

/// A section of more seats is shown some rows at a time.
const SHOWN_AT_ONCE: u32 = 2_000;
/// The most units that one range may name.
const LONGEST_RANGE: u32 = 10_000;

/// One section's seats, and the way to the others.
pub(super) struct SeatGrid {
    pub sections: Vec<SectionLink>,
    pub section: usize,
    pub name: String,
    pub rows: Vec<GridRow>,
    /// The first row of the next part of a large section.
    pub more_from: Option<usize>,
}

pub(super) struct SectionLink {
    pub name: String,
    pub index: usize,
    pub current: bool,
}

pub(super) struct GridRow {
    pub name: String,
    pub seats: Vec<GridSeat>,
}

pub(super) struct GridSeat {
    pub key: String,
    pub number: u32,
    pub state: &'static str,
    pub word: &'static str,
    /// Held and booked ones cannot be taken off sale.
    pub fixed: bool,
}

pub(super) struct StockRow {
    pub key: String,
    /// As it is, or as it was typed where that could not be done.
    pub capacity: String,
    pub price: String,
    pub blocked: bool,
}

impl SeatGrid {
    pub(super) fn of(plan: &SeatPlan, snapshot: &Snapshot, query: &Form) -> Self {
        let index = |name: &str| query.one(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        let section = index("section").min(plan.sections().len() - 1);
        let of_section = plan.rows().iter().filter(|row| row.section as usize == section);
        let (first, mut seats) = (index("from"), 0);
        let mut rows = of_section.enumerate().skip(first).peekable();
        let mut shown = Vec::new();
        while let Some((_, row)) = rows.next_if(|(_, row)| seats == 0 || seats + row.seats <= SHOWN_AT_ONCE) {
            seats += row.seats;
            shown.push(grid_row(plan, row, snapshot));
        }
        let link = |(at, known): (usize, &holdfast_domain::seat_plan::Section)| SectionLink {
            name: known.name.clone(),
            index: at,
            current: at == section,
        };
        Self {
            sections: plan.sections().iter().enumerate().map(link).collect(),
            section,
            name: plan.sections()[section].name.clone(),
            rows: shown,
            more_from: rows.next().map(|(at, _)| at),
        }
    }
}

fn grid_row(plan: &SeatPlan, row: &Row, snapshot: &Snapshot) -> GridRow {
    let seat = |unit: UnitNo| {
        let state = state_of(snapshot, unit);
        GridSeat {
            key: plan.key(unit),
            number: unit - row.first + 1,
            state: state.as_str(),
            word: super::spans::word(state),
            fixed: matches!(state, UnitState::Held | UnitState::Booked),
        }
    };
    GridRow { name: row.name.clone(), seats: row.units().map(seat).collect() }
}

fn state_of(snapshot: &Snapshot, unit: UnitNo) -> UnitState {
    match &snapshot.units {
        SnapshotUnits::Dense(units) => units[unit as usize].state(snapshot.offer.capacity(unit)),
        SnapshotUnits::Cells(_) => cell(snapshot, unit).state(snapshot.offer.capacity(unit)),
    }
}

impl StockRow {
    pub(super) fn all(
        lines: &[StockLine],
        snapshot: &Snapshot,
        currency: Currency,
        typed: &Form,
    ) -> Vec<Self> {
        let SnapshotUnits::Dense(units) = &snapshot.units else { return Vec::new() };
        let typed = |key: &str| typed.one("capacity").filter(|_| typed.one("line") == Some(key));
        let row = |(line, unit): (&StockLine, &holdfast_domain::Unit)| Self {
            key: line.key.clone(),
            capacity: typed(&line.key).map_or_else(|| line.capacity.to_string(), str::to_owned),
            price: words::money(line.price, currency),
            blocked: unit.blocked,
        };
        lines.iter().zip(units.iter()).map(row).collect()
    }
}

/// What was picked: seats one by one, whole rows, and names that were typed.
struct Picked {
    keys: Vec<String>,
    /// Units of whole rows that cannot be had.
    left: usize,
}

impl Picked {
    fn of(form: &Form, snapshot: &Snapshot, wanted: UnitState) -> Result<Self, Problem> {
        let offer = &snapshot.offer;
        let mut keys: BTreeSet<String> = form.all("unit").map(str::to_owned).collect();
        for name in form.one("names").unwrap_or_default().split([' ', ',', ';', '\n', '\r', '\t']) {
            keys.extend(named(offer, name)?);
        }
        let mut left = 0;
        for row in whole_rows(offer, form) {
            let (fit, others): (Vec<_>, Vec<_>) =
                row.units().partition(|&unit| state_of(snapshot, unit) == wanted);
            left += others.iter().filter(|&&unit| is_sold(snapshot, unit)).count();
            keys.extend(fit.into_iter().map(|unit| offer.key(unit)));
        }
        Ok(Self { keys: keys.into_iter().collect(), left })
    }
}

/// Some hours of a day, as the clocks of a calendar's place show them.
struct Hours {
    days: Days,
    from: Time,
    /// `None` until the day is over.
    to: Option<Time>,
}

impl Hours {
    fn of(form: &Form, day: &str, calendar: &Calendar) -> Result<Self, Problem> {
        let day = parse_date(day).ok_or_else(|| Problem::invalid("The day must be a date: 2026-11-16."))?;
        let time = |field: &str| match form.one(field).filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => Time::strptime("%H:%M", text.get(..5).unwrap_or(text))
                .map(Some)
                .map_err(|_| Problem::invalid("The hours must be times: 09:00.")),
        };
        let (from, to) = (time("from")?.unwrap_or(Time::midnight()), time("to")?);
        // Midnight at the end of the day is written like the one at its beginning.
        let to = to.filter(|to| *to != Time::midnight());
        if to.is_some_and(|to| to <= from) {
            return Err(Problem::invalid("The hours must end after they begin."));
        }
        Ok(Self { days: calendar.days(day, day)?, from, to })
    }

    /// The open cells that begin within them. An hour that the clocks show twice is meant twice.
    fn cells(&self, calendar: &Calendar) -> Vec<UnitNo> {
        let begins = |unit| words::clock(calendar.local(calendar.begins(unit))).time();
        let is_within = |time: Time| self.from <= time && self.to.is_none_or(|to| time < to);
        calendar.open_cells(self.days).into_iter().flatten().filter(|&unit| is_within(begins(unit))).collect()
    }
}

impl Picked {
    /// Those of these cells that can be had.
    fn among(cells: &[UnitNo], snapshot: &Snapshot, wanted: UnitState) -> Self {
        let (fit, others): (Vec<UnitNo>, Vec<UnitNo>) =
            cells.iter().partition(|&&unit| state_of(snapshot, unit) == wanted);
        let left = others.iter().filter(|&&unit| is_sold(snapshot, unit)).count();
        Self { keys: fit.into_iter().map(|unit| snapshot.offer.key(unit)).collect(), left }
    }
}

async fn look(app: &App, id: &OfferId, cells: Cells) -> Result<Snapshot, Problem> {
    let snapshot = app.ledger().snapshot(id, Some(cells)).await?;
    snapshot.ok_or_else(|| Problem::unknown_offer(id.as_str()))
}

async fn picked(app: &App, id: &OfferId, form: &Form, wanted: UnitState) -> Result<Picked, Problem> {
    let snapshot = look(app, id, 0..0).await?;
    let (Inventory::Slots(calendar), Some(day)) = (snapshot.offer.inventory(), form.one("day")) else {
        return Picked::of(form, &snapshot, wanted);
    };
    let hours = Hours::of(form, day, calendar)?;
    let cells = hours.cells(calendar);
    if cells.is_empty() {
        return Err(Problem::invalid("Nothing is open then."));
    }
    Ok(Picked::among(&cells, &look(app, id, calendar.cells(hours.days)).await?, wanted))
}

fn is_sold(snapshot: &Snapshot, unit: UnitNo) -> bool {
    matches!(state_of(snapshot, unit), UnitState::Held | UnitState::Booked)
}

fn whole_rows<'a>(offer: &'a Offer, form: &'a Form) -> impl Iterator<Item = &'a Row> {
    let rows = match offer.inventory() {
        Inventory::Seats(plan) => plan.rows(),
        _ => &[],
    };
    rows.iter().filter(|row| form.all("row").any(|name| name == row.name))
}

/// `A-12`, or all from one to another: `A-1..A-12`. What is no unit is left for the ledger to refuse.
fn named(offer: &Offer, name: &str) -> Result<Vec<String>, Problem> {
    let Some((first, last)) = name.split_once("..") else {
        return Ok(if name.is_empty() { Vec::new() } else { vec![name.to_owned()] });
    };
    let unknown = || Problem::invalid(format!("There is no range {name} here."));
    match (offer.find(first), offer.find(last)) {
        (Some(first), Some(last)) if first <= last && last - first < LONGEST_RANGE => {
            Ok((first..=last).map(|unit| offer.key(unit)).collect())
        }
        _ => Err(unknown()),
    }
}

/// `POST /admin/offers/{offer}/units`.
pub(crate) async fn pick(
    State(app): State<Shared>,
    SubmittedTo(id, Submitted { organiser, form, .. }): SubmittedTo<OfferId>,
) -> Result<Response, Problem> {
    match change(&app, &id, &organiser.actor, &form).await {
        Ok(place) => go(&place),
        Err(problem) if is_ours_to_say(&problem) => {
            let notice = Notice::bad(format!("{} {}", Notice::of(&problem).words, in_the_way(&problem)));
            refused(&organiser, &problem, &OfferPage::load(&app, &id, &form, Some(notice)).await?)
        }
        Err(problem) => Err(problem),
    }
}

async fn change(
    app: &App,
    id: &OfferId,
    actor: &holdfast_domain::Actor,
    form: &Form,
) -> Result<String, Problem> {
    let (wanted, done) = match form.one("do") {
        Some("unblock") => (UnitState::Blocked, "unblocked"),
        _ => (UnitState::Available, "blocked"),
    };
    let Picked { keys, left } = picked(app, id, form, wanted).await?;
    if keys.is_empty() {
        return Err(Problem::invalid("Pick at least one that can be had."));
    }
    let (offer, units, many) = (id.clone(), keys.clone(), keys.len());
    let command = match wanted {
        UnitState::Blocked => Command::Unblock { offer, units },
        _ => Command::Block { offer, units },
    };
    submit(app, actor, command).await?;
    let section = form.one("section").filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let section = section.map(|section| format!("&section={section}")).unwrap_or_default();
    Ok(format!("/admin/offers/{id}?done={done}&units={many}&left={left}{section}#units"))
}

/// The units that a refusal names.
fn in_the_way(problem: &Problem) -> String {
    let named: Vec<&str> = problem.more().conflicts().iter().take(12).map(|way| way.unit.as_str()).collect();
    if named.is_empty() { String::new() } else { format!("In the way: {}.", named.join(", ")) }
}
