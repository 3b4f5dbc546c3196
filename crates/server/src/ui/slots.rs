//! A week of a calendar: the starts that can be had, on the clocks of the place and on the visitor's.

use askama::Template;
use holdfast_domain::{
    Moment, Offer,
    schedule::{Calendar, Date, LocalTime, Start, parse_date},
};
use holdfast_engine::ledger::Snapshot;
use jiff::{Timestamp, ToSpan, tz::TimeZone};

use super::{Form, form, offer::Head, words};
use crate::{
    app::App,
    problem::Problem,
    wire::availability::{cell, today},
};

#[derive(Template)]
#[template(path = "offer_slots.html")]
pub(super) struct SlotsPage {
    head: Head,
    services: Vec<Service>,
    service: String,
    zone: String,
    /// The zone whose clocks are shown beside the calendar's.
    visitor: Option<String>,
    zones: &'static [&'static str],
    days: Vec<Day>,
    from: Date,
    to: Date,
    week: String,
    earlier: Option<Date>,
    later: Date,
    empty: bool,
    key: String,
}

struct Service {
    key: String,
    minutes: u32,
    price: String,
    chosen: bool,
}

struct Day {
    weekday: String,
    date: String,
    starts: Vec<SlotStart>,
}

struct SlotStart {
    /// What the form sends: the instant, with the offset of the place.
    start: String,
    label: String,
    /// Which of two: clocks that are put back show the same time twice.
    repeat: Option<String>,
    /// On the visitor's clocks.
    theirs: Option<String>,
}

/// Zones to choose from without a script; with one, the browser's own is shown.
const ZONES: &[&str] = &[
    "UTC",
    "America/Los_Angeles",
    "America/Denver",
    "America/Chicago",
    "America/New_York",
    "America/Sao_Paulo",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "Africa/Lagos",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Pacific/Auckland",
];

const DAYS: i32 = 7;

/// What of the calendar is looked at.
struct Week<'a> {
    calendar: &'a Calendar,
    service: u16,
    from: Date,
    to: Date,
    visitor: Option<TimeZone>,
    now: Moment,
}

impl SlotsPage {
    pub(super) async fn of(
        app: &App,
        head: Head,
        offer: &Offer,
        calendar: &Calendar,
        query: &Form,
    ) -> Result<Self, Problem> {
        let now = app.clock.now();
        let today = today(calendar, now);
        let from = query.one("from").and_then(parse_date).unwrap_or(today).max(today);
        let to = from.saturating_add((DAYS - 1).days());
        let service = query.one("service").and_then(|key| calendar.service(key)).unwrap_or(0);
        let zone_name = query.one("tz").filter(|name| *name != calendar.timezone());
        let visitor = zone_name.and_then(|name| TimeZone::get(name).ok());
        let days = calendar.days(from, to)?;
        let snapshot = app.ledger().snapshot(offer.id(), Some(calendar.cells(days))).await?;
        let snapshot = snapshot.ok_or_else(|| Problem::unknown_offer(offer.id().as_str()))?;
        let week = Week { calendar, service, from, to, visitor, now };
        let days = week.days(&snapshot);
        Ok(Self {
            services: services(offer, calendar, service),
            service: calendar.services()[usize::from(service)].key.clone(),
            zone: calendar.timezone().to_owned(),
            visitor: week.visitor.as_ref().and_then(|zone| zone.iana_name()).map(str::to_owned),
            zones: ZONES,
            empty: days.iter().all(|day| day.starts.is_empty()),
            days,
            week: format!("{} to {}", from.strftime("%-d %b"), to.strftime("%-d %b %Y")),
            from,
            to,
            earlier: (from > today).then(|| from.saturating_sub(DAYS.days()).max(today)),
            later: from.saturating_add(DAYS.days()),
            key: form::fresh_key(),
            head,
        })
    }
}

fn services(offer: &Offer, calendar: &Calendar, chosen: u16) -> Vec<Service> {
    let shown = |(at, service): (usize, &holdfast_domain::schedule::Service)| Service {
        key: service.key.clone(),
        minutes: service.minutes,
        price: words::money(service.price, offer.currency()),
        chosen: at == usize::from(chosen),
    };
    calendar.services().iter().enumerate().map(shown).collect()
}

impl Week<'_> {
    /// The days of the week, each with what can still be had of it.
    fn days(&self, snapshot: &Snapshot) -> Vec<Day> {
        let capacity = self.calendar.capacity();
        let Ok(days) = self.calendar.days(self.from, self.to) else { return Vec::new() };
        let starts = self.calendar.starts(self.service, days).into_iter().filter(|start| {
            let fullest = self.calendar.fullest(start.span.units(), |at| cell(snapshot, at));
            self.now < start.at && fullest.remaining(capacity) > 0
        });
        let starts: Vec<(Date, Start)> =
            starts.map(|start| (words::clock(start.local()).date(), start)).collect();
        let day = |date: Date| {
            let of_day = starts.iter().filter(|(day, _)| *day == date);
            Day {
                weekday: date.strftime("%A").to_string(),
                date: date.strftime("%-d %b").to_string(),
                starts: of_day.map(|(_, start)| self.start(start)).collect(),
            }
        };
        self.from.series(1.day()).take_while(|date| *date <= self.to).map(day).collect()
    }

    /// Which of two it is is said also when the other one is taken, or none of this calendar: whoever comes at the
    /// wrong one of the two comes an hour too early or too late.
    fn start(&self, start: &Start) -> SlotStart {
        let label = words::clock(start.local()).strftime("%H:%M").to_string();
        let repeat = self.calendar.twin(start.at).map(|twin| {
            let which = if start.at < twin { "first" } else { "second" };
            format!("{which}, {}", words::offset(start.offset_s))
        });
        SlotStart { start: start.local().to_string(), label, repeat, theirs: self.theirs(start.local()) }
    }

    /// On the visitor's clocks: the time, and the day where it is another.
    fn theirs(&self, local: LocalTime) -> Option<String> {
        let instant = Timestamp::from_millisecond(local.at.ms()).ok()?;
        let theirs = instant.to_zoned(self.visitor.clone()?).datetime();
        let format = if theirs.date() == words::clock(local).date() { "%H:%M" } else { "%a %H:%M" };
        Some(theirs.strftime(format).to_string())
    }
}
