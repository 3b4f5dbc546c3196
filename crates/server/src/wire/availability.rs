//! Availability on the wire. Advisory: it says how old it is, and the ledger decides.

use std::fmt::Write as _;

use holdfast_domain::{
    Counts as DomainCounts, Inventory, Moment, Offer, StockLine, Unit, UnitNo,
    schedule::{Calendar, Date, Days, LocalTime, parse_date},
    seat_plan::SeatPlan,
    text,
};
use holdfast_engine::ledger::{Cells, Snapshot, SnapshotUnits};
use jiff::ToSpan;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeSeq};
use utoipa::{IntoParams, ToSchema};

use super::{Shown, offer::Counts, query::given, schema};
use crate::problem::{Code, Problem};

/// How many days a calendar shows when nobody says: a week.
const DEFAULT_DAYS: i32 = 7;

/// What of a calendar to show. Other offers show everything.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AvailabilityQuery {
    /// The first day, on the clocks of the place; today when left out.
    #[param(pattern = "^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]
    from: Option<String>,
    /// The last day, included; six days after the first when left out.
    #[param(pattern = "^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]
    to: Option<String>,
    /// Only starts of this service. Where there are many services, only a few days can be asked about without it.
    #[param(max_length = 64)]
    service: Option<String>,
}

/// The part of a calendar that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    days: Days,
    pub cells: Cells,
    from: Date,
    to: Date,
    service: Option<u16>,
}

impl AvailabilityQuery {
    /// What of this offer is asked for: of a calendar some days, of anything else everything.
    pub(crate) fn range(&self, offer: &Offer, now: Moment) -> Result<Option<Range>, Problem> {
        let from = given(&self.from).map(|text| day("from", text)).transpose()?;
        let to = given(&self.to).map(|text| day("to", text)).transpose()?;
        let service = given(&self.service).map(|key| text::visible("service", key, 64)).transpose()?;
        let Inventory::Slots(calendar) = offer.inventory() else { return Ok(None) };
        let from = from.unwrap_or_else(|| today(calendar, now));
        let to = to.unwrap_or_else(|| from.saturating_add((DEFAULT_DAYS - 1).days()));
        let unknown =
            |key: &str| Problem::new(Code::UnknownUnit, format!("{} has no service {key:?}.", offer.id()));
        let find = |key: String| calendar.service(&key).ok_or_else(|| unknown(&key));
        let service = service.map(find).transpose()?;
        let days = calendar.days(from, to)?;
        calendar.check_listing(service.map_or(calendar.services().len(), |_| 1), days)?;
        Ok(Some(Range { days, cells: calendar.cells(days), from, to, service }))
    }
}

fn day(field: &str, text: &str) -> Result<Date, Problem> {
    parse_date(text).ok_or_else(|| Problem::invalid(format!("{field}: must be a date, such as 2026-11-16")))
}

/// The day it is on the clocks of the place.
pub(crate) fn today(calendar: &Calendar, now: Moment) -> Date {
    let local = now.plus_ms(i64::from(calendar.local(now).offset_s) * 1000);
    jiff::Timestamp::from_millisecond(local.ms())
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
}

/// Changes whenever the answer does. Weak: `as_of` moves on while nothing else does.
pub(crate) fn etag(snapshot: &Snapshot, range: Option<&Range>) -> String {
    match range {
        None => format!("W/\"{}\"", snapshot.version),
        Some(Range { from, to, service, .. }) => {
            format!("W/\"{}/{from}/{to}/{}\"", snapshot.version, service.map_or(-1, i32::from))
        }
    }
}

/// What can be had, and how old the news is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Availability<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    #[schema(value_type = schema::Version)]
    version: Shown<holdfast_domain::Version>,
    #[schema(value_type = schema::Time)]
    as_of: Shown<Moment>,
    counts: Counts,
    /// Seats and stock lines in the order of the offer; of a calendar, the steps of its grid.
    #[schema(value_type = Vec<UnitShape<'a>>)]
    units: Units<'a>,
    /// Of a calendar: every start there is in the range, free or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    starts: Option<Vec<Start<'a>>>,
}

/// A unit as people see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UnitAvailability)]
pub(crate) struct UnitShape<'a> {
    #[schema(value_type = schema::UnitKey)]
    unit: &'a str,
    #[schema(value_type = UnitState)]
    state: &'static str,
    #[schema(value_type = schema::Count)]
    remaining: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Category>, nullable = false)]
    category: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Money>, nullable = false)]
    price: Option<u64>,
}

/// The state of a unit as people see it.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum UnitState {
    Available,
    Held,
    Booked,
    Blocked,
}

/// A time at which a service can begin.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Start<'a> {
    /// As the clocks of the place show it.
    #[schema(value_type = schema::Time)]
    start: Shown<LocalTime>,
    #[schema(value_type = schema::UnitKey)]
    unit: String,
    #[schema(value_type = schema::Key)]
    service: &'a str,
    #[schema(value_type = UnitState)]
    state: &'static str,
    #[schema(value_type = schema::Count)]
    remaining: u32,
}

impl<'a> Availability<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, range: Option<&Range>) -> Self {
        let part = match (snapshot.offer.inventory(), range) {
            (Inventory::Slots(calendar), Some(range)) => {
                Some(CalendarPart { calendar, range: range.clone(), snapshot })
            }
            _ => None,
        };
        let counts = part.as_ref().map_or(snapshot.counts, CalendarPart::counts);
        Self {
            offer: snapshot.offer.id().as_str(),
            version: Shown(snapshot.version),
            as_of: Shown(snapshot.as_of),
            counts: counts.into(),
            starts: part.as_ref().map(CalendarPart::starts),
            units: Units { snapshot, part },
        }
    }
}

/// A calendar's days, with what is taken of them.
#[derive(Debug)]
struct CalendarPart<'a> {
    calendar: &'a Calendar,
    range: Range,
    snapshot: &'a Snapshot,
}

impl<'a> CalendarPart<'a> {
    fn unit(&self, at: UnitNo) -> Unit {
        cell(self.snapshot, at)
    }

    fn counts(&self) -> DomainCounts {
        self.calendar.counts(self.range.days, |at| self.unit(at))
    }

    fn starts(&self) -> Vec<Start<'a>> {
        let services = self.calendar.services();
        let asked = |at: &u16| self.range.service.is_none_or(|service| service == *at);
        (0..services.len() as u16).filter(asked).flat_map(|service| self.starts_of(service)).collect()
    }

    fn starts_of(&self, service: u16) -> impl Iterator<Item = Start<'a>> {
        let capacity = self.calendar.capacity();
        self.calendar.starts(service, self.range.days).into_iter().map(move |start| {
            let fullest = self.calendar.fullest(start.span.units(), |at| self.unit(at));
            Start {
                start: Shown(start.local()),
                unit: self.calendar.key(start.span.unit),
                service: &self.calendar.services()[usize::from(service)].key,
                state: fullest.state(capacity).as_str(),
                remaining: fullest.remaining(capacity),
            }
        })
    }
}

/// A cell of a calendar's snapshot; one that nothing ever happened to is not in it.
pub(crate) fn cell(snapshot: &Snapshot, at: UnitNo) -> Unit {
    let SnapshotUnits::Cells(cells) = &snapshot.units else { return Unit::default() };
    match cells.binary_search_by_key(&at, |&(cell, _)| cell) {
        Ok(found) => cells[found].1,
        Err(_) => Unit::default(),
    }
}

/// The units of a snapshot, written one by one without being gathered first: there may be a million.
#[derive(Debug)]
struct Units<'a> {
    snapshot: &'a Snapshot,
    part: Option<CalendarPart<'a>>,
}

impl Serialize for Units<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        match (&self.snapshot.units, self.snapshot.offer.inventory(), &self.part) {
            (SnapshotUnits::Dense(units), Inventory::Seats(plan), _) => seats(&mut seq, plan, units)?,
            (SnapshotUnits::Dense(units), Inventory::Stock(lines), _) => stock(&mut seq, lines, units)?,
            (_, _, Some(part)) => steps(&mut seq, part)?,
            _ => {}
        }
        seq.end()
    }
}

fn seats<S: SerializeSeq>(seq: &mut S, plan: &SeatPlan, units: &[Unit]) -> Result<(), S::Error> {
    let mut key = String::new();
    for row in plan.rows() {
        let section = &plan.sections()[row.section as usize];
        for (number, at) in (1..).zip(row.units()) {
            let unit = units[at as usize];
            key.clear();
            let _ = write!(key, "{}-{number}", row.name);
            seq.serialize_element(&UnitShape {
                unit: &key,
                state: unit.state(1).as_str(),
                remaining: unit.remaining(1),
                category: Some(&section.category),
                price: Some(section.price.minor()),
            })?;
        }
    }
    Ok(())
}

fn stock<S: SerializeSeq>(seq: &mut S, lines: &[StockLine], units: &[Unit]) -> Result<(), S::Error> {
    for (line, unit) in lines.iter().zip(units) {
        seq.serialize_element(&UnitShape {
            unit: &line.key,
            state: unit.state(line.capacity).as_str(),
            remaining: unit.remaining(line.capacity),
            category: None,
            price: Some(line.price.minor()),
        })?;
    }
    Ok(())
}

fn steps<S: SerializeSeq>(seq: &mut S, part: &CalendarPart<'_>) -> Result<(), S::Error> {
    let capacity = part.calendar.capacity();
    for cells in part.calendar.open_cells(part.range.days) {
        let key = part.calendar.key(cells.start);
        let fullest = part.calendar.fullest(cells, |at| part.unit(at));
        seq.serialize_element(&UnitShape {
            unit: &key,
            state: fullest.state(capacity).as_str(),
            remaining: fullest.remaining(capacity),
            category: None,
            price: None,
        })?;
    }
    Ok(())
}
