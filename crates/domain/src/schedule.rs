//! A calendar: opening hours on the clocks of a place, services with buffers, and the arithmetic between an
//! instant and the cells of time it claims.
//!
//! Opening hours and the grid are local: shop clocks. Starts, claims and cells are instants: a service lasts its
//! real minutes, the two 02:30s of an autumn night are two starts, and the 02:30 that a spring night skips is
//! none. Time is cut into cells, numbered since 1970; two claims that overlap share a cell, in every zone and
//! across every change of clocks, so a calendar is never double-booked by the same rule that sells a seat once.
//!
//! ```text
//! hours      09:00 ├───────────────────────────────┤ 17:00
//! claim            │ before │ service     │ after  │        the service stays within the hours,
//! cells      ┼─────┼─────┼─────┼─────┼─────┼─────┼────     its buffers need not
//! ```
//! Deliberately absent: what is taken (the state knows), the present (nobody here reads a clock), and the
//! machine's time-zone files.

mod check;
mod days;
#[cfg(test)]
mod tests;
mod zone;

use std::{
    cmp::Reverse,
    iter,
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use days::{DAY_S, WEEKDAYS, day_number, weekday};
pub use days::{LocalTime, parse_date};
pub use jiff::civil::Date;
pub use zone::YEARS;
use zone::{Stretch, Zone};

use crate::{
    money::Money,
    offer::UnitNo,
    state::{Counts, Unit},
    text::Invalid,
    time::Moment,
};

/// A calendar as it arrives, unchecked. Times are `HH:MM`, days `mon` … `sun`, dates `YYYY-MM-DD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarDef {
    pub timezone: String,
    pub grid_minutes: u32,
    pub hours: Vec<HoursDef>,
    pub closed: Vec<String>,
    pub capacity: u32,
    pub services: Vec<Service>,
    /// `None` in what comes from outside. Settled by [`Calendar::new`] and kept with the definition: a later
    /// edition of the time-zone data must not renumber cells that are sold.
    pub cut: Option<Cut>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoursDef {
    pub days: Vec<String>,
    pub from: String,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub key: String,
    pub minutes: u32,
    pub buffer_before_minutes: u32,
    pub buffer_after_minutes: u32,
    pub price: Money,
}

/// How time is cut into cells: every `cell_minutes`, from `anchor_minutes` past midnight UTC of 1970-01-01.
///
/// A cell is as long as the grid wherever the zone's grid stays in step with UTC. Where it does not (a 60-minute
/// grid in a zone that moves its clocks by 30), cells are the longest that fit the grid on both sides of every
/// change, and one step of the grid is several cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub cell_minutes: u32,
    pub anchor_minutes: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    zone: Arc<Zone>,
    grid_s: i64,
    cut: Cut,
    /// By weekday from Monday, in order of the day.
    hours: [Box<[Hours]>; 7],
    /// Day numbers, sorted.
    closed: Box<[i32]>,
    capacity: u32,
    services: Box<[Service]>,
}

/// Seconds of a local day; `to` is the first second after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hours {
    from: i64,
    to: i64,
}

/// What a service at a start takes: `cells` units from `first`; `unit` is the cell in which the service begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub unit: UnitNo,
    pub first: UnitNo,
    pub cells: u32,
}

impl Span {
    pub fn units(&self) -> Range<UnitNo> {
        self.first..self.first + self.cells
    }

    /// Whether it claims any of those cells.
    fn meets(&self, cells: &Range<UnitNo>) -> bool {
        self.first < cells.end && cells.start < self.first + self.cells
    }
}

/// A start that could be asked for. `offset_s` is the zone's offset at that instant, to tell a DST fold apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub at: Moment,
    pub offset_s: i32,
    pub span: Span,
}

impl Start {
    /// As the clocks of the place show it: `2026-11-16T09:00:00+01:00`.
    pub fn local(&self) -> LocalTime {
        LocalTime { at: self.at, offset_s: self.offset_s }
    }
}

/// Days of a calendar, from the first to the last, both included, few enough to be listed. Made by
/// [`Calendar::days`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    first: i32,
    last: i32,
}

/// The most days that can be asked about at once.
pub const MAX_DAYS: i32 = 366;
/// The most steps of the grid that can be asked about at once.
pub const MAX_STEPS: i64 = 40_000;
/// The most starts that can be listed at once, over all services.
pub const MAX_STARTS: usize = 100_000;
/// How many open steps of the grid [`Calendar::nearest_starts`] looks at, in all of the years that a calendar has: years
/// that are booked out on a usual grid, and a month of days and nights on the finest.
pub const SEARCH_STEPS: usize = 100_000;

/// Why a service cannot start at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfit {
    Year,
    OffGrid,
    Closed,
    OutsideHours,
    PastClosing,
}

impl Calendar {
    /// Checks the definition, normalises it in place, and makes it ready to answer.
    pub fn new(def: &mut CalendarDef) -> Result<Self, Invalid> {
        check::calendar(def).map_err(|fault| fault.within("slots"))
    }

    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    pub fn timezone(&self) -> &str {
        self.zone.name()
    }

    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The index of a service, for [`Calendar::span`].
    pub fn service(&self, key: &str) -> Option<u16> {
        self.services.iter().position(|service| service.key == key).map(|at| at as u16)
    }

    /// The cells that the service claims when it starts at that instant, or why it cannot (one sentence).
    pub fn span(&self, service: u16, start: Moment) -> Result<Span, String> {
        self.fit(service, start).map(|start| start.span).map_err(|unfit| self.explain(unfit, service, start))
    }

    /// The start at that instant, if the service may begin then.
    fn fit(&self, service: u16, start: Moment) -> Result<Start, Unfit> {
        let at = start.ms().div_euclid(1000);
        let stretch = self.zone.at(at);
        let local = at.saturating_add(stretch.offset_s.into());
        if !SUPPORTED.contains(&local) {
            return Err(Unfit::Year);
        }
        if start.ms() % 1000 != 0 || local % self.grid_s != 0 {
            return Err(Unfit::OffGrid);
        }
        let minutes = self.services[usize::from(service)].minutes;
        self.open_throughout(at, at + i64::from(minutes) * 60)?;
        Ok(Start { at: start, offset_s: stretch.offset_s, span: self.claim(service, at) })
    }

    /// Whether the place is open at every instant from `from` to just before `to`.
    fn open_throughout(&self, from: i64, to: i64) -> Result<(), Unfit> {
        let mut at = from;
        while at < to {
            at = self.open_until(at).map_err(|unfit| if at == from { unfit } else { Unfit::PastClosing })?;
        }
        Ok(())
    }

    /// Until when the place, open at `at`, stays so as far as one entry of its hours and one offset tell.
    fn open_until(&self, at: i64) -> Result<i64, Unfit> {
        let stretch = self.zone.at(at);
        let local = at + i64::from(stretch.offset_s);
        let (day, second) = (local.div_euclid(DAY_S) as i32, local.rem_euclid(DAY_S));
        if self.is_closed(day) {
            return Err(Unfit::Closed);
        }
        let hours = self.hours_of(day).iter().find(|hours| (hours.from..hours.to).contains(&second));
        let hours = hours.ok_or(Unfit::OutsideHours)?;
        Ok(stretch.until.min(at + hours.to - second))
    }

    fn is_closed(&self, day: i32) -> bool {
        self.closed.binary_search(&day).is_ok()
    }

    fn hours_of(&self, day: i32) -> &[Hours] {
        &self.hours[weekday(day)]
    }

    /// The claim of a service that begins at the second `at`: whole steps of the grid before and after it.
    fn claim(&self, service: u16, at: i64) -> Span {
        let Service { minutes, buffer_before_minutes, buffer_after_minutes, .. } =
            self.services[usize::from(service)];
        let steps_s = |minutes: u32| (i64::from(minutes) * 60 + self.grid_s - 1) / self.grid_s * self.grid_s;
        let units = self
            .units_between(at - steps_s(buffer_before_minutes), at + steps_s(minutes + buffer_after_minutes));
        Span { unit: self.unit_at(at), first: units.start, cells: units.end - units.start }
    }

    fn unit_at(&self, at: i64) -> UnitNo {
        let anchored = at - i64::from(self.cut.anchor_minutes) * 60;
        anchored.div_euclid(self.cell_s()).clamp(0, UnitNo::MAX.into()) as UnitNo
    }

    /// Every cell that the seconds from `from` to just before `to` touch.
    fn units_between(&self, from: i64, to: i64) -> Range<UnitNo> {
        self.unit_at(from)..self.unit_at(to - 1).saturating_add(1)
    }

    fn cell_s(&self) -> i64 {
        i64::from(self.cut.cell_minutes) * 60
    }

    /// The instant at which a cell begins.
    pub fn begins(&self, unit: UnitNo) -> Moment {
        Moment::from_s(i64::from(unit) * self.cell_s() + i64::from(self.cut.anchor_minutes) * 60)
    }

    /// An instant as the clocks of the place show it.
    pub fn local(&self, at: Moment) -> LocalTime {
        LocalTime { at, offset_s: self.zone.at(at.ms().div_euclid(1000)).offset_s }
    }

    /// The other instant at which the clocks of the place show the same, on a night on which they are put back.
    pub fn twin(&self, at: Moment) -> Option<Moment> {
        self.zone.twin(at.ms().div_euclid(1000)).map(Moment::from_s)
    }

    /// The cell of that key, if a cell begins then. Any is a unit, open or not.
    pub fn find(&self, key: &str) -> Option<UnitNo> {
        let at = days::parse_minute(key)? * 60;
        let unit = FINDABLE.contains(&at).then(|| self.unit_at(at))?;
        (self.begins(unit) == Moment::from_s(at)).then_some(unit)
    }

    /// The instant at which the cell begins, to the minute, in UTC: `2026-11-16T08:00Z`.
    pub fn key(&self, unit: UnitNo) -> String {
        let instant =
            jiff::Timestamp::from_millisecond(self.begins(unit).ms()).unwrap_or(jiff::Timestamp::MAX);
        let utc = jiff::tz::Offset::UTC.to_datetime(instant);
        format!("{}T{:02}:{:02}Z", utc.date(), utc.hour(), utc.minute())
    }

    /// The days from `from` to `to`, both included, if they can be listed at once.
    pub fn days(&self, from: Date, to: Date) -> Result<Days, Invalid> {
        let years = |field, day: Date| match YEARS.contains(&day.year()) {
            true => Ok(day_number(day)),
            false => {
                Err(Invalid::new(field, format!("must be within {} and {}", YEARS.start(), YEARS.end())))
            }
        };
        let days = Days { first: years("from", from)?, last: years("to", to)? };
        let count = days.last - days.first + 1;
        if count < 1 {
            return Err(Invalid::new("to", "must not be before from"));
        }
        if count > MAX_DAYS {
            return Err(Invalid::new("to", format!("must be within {MAX_DAYS} days of from")));
        }
        let at_most = MAX_STEPS * self.grid_s / DAY_S;
        if i64::from(count) > at_most {
            return Err(Invalid::new("to", format!("must be within {at_most} days of from, on this grid")));
        }
        Ok(days)
    }

    /// Whether all starts of so many services on those days can be listed at once. One service always can.
    pub fn check_listing(&self, services: usize, days: Days) -> Result<(), Invalid> {
        let steps: usize = days.numbers().map(|day| self.open_steps_of_day(day).count()).sum();
        match services > 1 && steps.saturating_mul(services) > MAX_STARTS {
            true => Err(Invalid::new(
                "service",
                format!("must be named for so many days: {services} services would have too many starts"),
            )),
            false => Ok(()),
        }
    }

    /// Every start of the service on those days, free or not, in order of time.
    pub fn starts(&self, service: u16, days: Days) -> Vec<Start> {
        let steps = days.numbers().flat_map(|day| self.open_steps_of_day(day));
        in_order(steps.filter_map(|at| self.fit(service, Moment::from_s(at)).ok()), |start| start.at)
    }

    /// The cells of those days during which the place is open, by steps of the grid and in order of time; each
    /// step as the range of its cells.
    pub fn open_cells(&self, days: Days) -> Vec<Range<UnitNo>> {
        let steps = in_order(days.numbers().flat_map(|day| self.open_steps_of_day(day)), |&at| at);
        steps.into_iter().map(|at| self.units_between(at, at + self.grid_s)).collect()
    }

    /// The seconds of the grid at which the place is open on that local day.
    fn open_steps_of_day(&self, day: i32) -> impl Iterator<Item = i64> {
        let hours = if self.is_closed(day) { &[][..] } else { self.hours_of(day) };
        let midnight = i64::from(day) * DAY_S;
        let steps = move |stretch: Stretch, hours: Hours| {
            let first = (hours.from + self.grid_s - 1) / self.grid_s * self.grid_s;
            let local = (first..hours.to).step_by(self.grid_s as usize);
            let instants = local.map(move |second| midnight + second - i64::from(stretch.offset_s));
            instants.filter(move |at| (stretch.from..stretch.until).contains(at))
        };
        self.zone
            .of_day(day)
            .flat_map(move |stretch| hours.iter().flat_map(move |&hours| steps(stretch, hours)))
    }

    /// The cells that any start on those days could claim, buffers included.
    pub fn cells(&self, days: Days) -> Range<UnitNo> {
        let touched = days.numbers().filter_map(|day| self.touched_on(day));
        touched.reduce(|all, day| all.start.min(day.start)..all.end.max(day.end)).unwrap_or(0..0)
    }

    fn touched_on(&self, day: i32) -> Option<Range<UnitNo>> {
        let steps = self.open_steps_of_day(day);
        let (first, last) = steps.fold(None, |ends: Option<(i64, i64)>, at| {
            Some(ends.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
        })?;
        let claims = (0..self.services.len() as u16)
            .flat_map(|service| [self.claim(service, first), self.claim(service, last)]);
        let open = self.units_between(first, last + self.grid_s);
        Some(
            claims
                .fold(open, |all, claim| all.start.min(claim.first)..all.end.max(claim.first + claim.cells)),
        )
    }

    /// What the open cells of those days add up to, in steps of the grid × capacity.
    pub fn counts(&self, days: Days, unit: impl Fn(UnitNo) -> Unit) -> Counts {
        let mut counts = Counts::default();
        for cells in self.open_cells(days) {
            counts.add(self.fullest(cells, &unit).counts(self.capacity));
        }
        counts
    }

    /// The fullest of those cells: it says how often they can still be had together.
    pub fn fullest(&self, cells: Range<UnitNo>, unit: impl Fn(UnitNo) -> Unit) -> Unit {
        let emptiest_last = |unit: &Unit| (unit.remaining(self.capacity), Reverse(unit.booked));
        cells.map(unit).min_by_key(emptiest_last).unwrap_or_default()
    }

    /// Starts of the service nearest to the cell `around`, for alternatives: at most `max`, not before
    /// `earliest`, among the nearest [`SEARCH_STEPS`]. `full` says which run of cells that are full, the whole
    /// of it, a range of cells meets; the search leaps over it, so a calendar booked out for weeks costs little
    /// more than a free one.
    pub fn nearest_starts(
        &self,
        service: u16,
        around: UnitNo,
        earliest: Moment,
        max: usize,
        full: &dyn Fn(Range<UnitNo>) -> Option<Range<UnitNo>>,
    ) -> Vec<Start> {
        // The search goes two ways at once, so two runs are worth remembering.
        let mut known = [0..0, 0..0];
        let free = |step: &i64| {
            let span = self.claim(service, *step);
            if known.iter().any(|run| span.meets(run)) {
                return false;
            }
            let Some(run) = full(span.units()) else { return true };
            known.swap(0, 1);
            known[0] = run;
            false
        };
        let fit = |step| self.fit(service, Moment::from_s(step)).ok();
        let near = self.steps_around(around, earliest).take(SEARCH_STEPS);
        near.filter(free).filter_map(fit).take(max).collect()
    }

    /// The open steps of the grid around a cell, nearest first.
    fn steps_around(&self, around: UnitNo, earliest: Moment) -> impl Iterator<Item = i64> {
        let [at, earliest] = [self.begins(around), earliest].map(|moment| moment.ms().div_euclid(1000));
        let today = (at + i64::from(self.zone.at(at).offset_s)).div_euclid(DAY_S) as i32;
        let steps_of = move |day: i32| self.open_steps_of_day(day).collect::<Vec<_>>().into_iter();
        let days_back = (at.saturating_sub(earliest) / DAY_S + 1).clamp(0, SUPPORTED.end / DAY_S) as i32;
        let [first, end] = [SUPPORTED.start, SUPPORTED.end].map(|second| (second / DAY_S) as i32);
        let ahead = (today..end).flat_map(steps_of);
        let back = (first.max(today - days_back)..=today).rev().flat_map(move |day| steps_of(day).rev());
        let mut later = ahead.filter(move |&step| step > at && step >= earliest).peekable();
        let mut earlier = back.filter(move |&step| step < at && step >= earliest).peekable();
        iter::from_fn(move || match (later.peek(), earlier.peek()) {
            (Some(ahead), Some(back)) if at - back < ahead - at => earlier.next(),
            (None, _) => earlier.next(),
            _ => later.next(),
        })
    }

    fn explain(&self, unfit: Unfit, service: u16, start: Moment) -> String {
        let when = self.local(start);
        match unfit {
            Unfit::Year => format!("{when} is not within the years {} to {}.", YEARS.start(), YEARS.end()),
            Unfit::OffGrid => format!("{when} is not on the grid of {} minutes.", self.grid_s / 60),
            Unfit::Closed => format!("{when} is on a closed day."),
            Unfit::OutsideHours => format!("{when} is outside the opening hours."),
            Unfit::PastClosing => {
                let Service { key, minutes, .. } = &self.services[usize::from(service)];
                format!("{key} takes {minutes} minutes, and from {when} that passes closing time.")
            }
        }
    }
}

impl Days {
    fn numbers(self) -> RangeInclusive<i32> {
        self.first..=self.last
    }
}

/// Days follow one another in time, except where a midnight is turned back and comes twice.
fn in_order<T, K: Ord>(all: impl Iterator<Item = T>, by: impl FnMut(&T) -> K) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by_key(by);
    all
}

/// The seconds of [`YEARS`] on local clocks.
const SUPPORTED: Range<i64> = {
    // Day numbers of 2000-01-01 and 2101-01-01.
    10_957 * DAY_S..47_847 * DAY_S
};

/// Cells a little outside the supported years can be claimed from within: by offsets and by buffers.
const FINDABLE: Range<i64> = SUPPORTED.start - 30 * DAY_S..SUPPORTED.end + 30 * DAY_S;
