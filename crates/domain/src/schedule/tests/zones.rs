//! Every IANA zone, every change of its clocks from 2015 to 2035, against an oracle that asks the time-zone
//! library for the local time of each single minute and knows nothing of offset tables or cells.

use std::collections::HashSet;

use jiff::{
    Timestamp,
    civil::{DateTime, Time, date},
    tz::{TimeZone, TimeZoneDatabase},
};

use super::*;

const GRIDS: [u32; 5] = [15, 30, 60, 120, 1440];
const HOURS: [(&str, &str); 3] = [("00:00", "24:00"), ("00:30", "02:45"), ("01:00", "23:00")];

#[test]
fn every_zone_and_twenty_years_of_changes() {
    let database = TimeZoneDatabase::bundled();
    let mut changes = 0;
    let mut zones = 0;
    for (at, name) in database.available().enumerate() {
        let zone = database.get(name.as_str()).unwrap();
        if zone.iana_name().is_none() {
            continue;
        }
        zones += 1;
        for (nth, change) in changes_of(&zone).into_iter().enumerate() {
            changes += 1;
            Case::new(&zone, change, at + nth).check();
        }
    }
    assert!(zones > 500 && changes > 5_000, "{changes} changes in {zones} zones");
}

/// Every change within the years; for a zone without any, an ordinary moment.
fn changes_of(zone: &TimeZone) -> Vec<Timestamp> {
    let first = date(2015, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp();
    let last = date(2036, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp();
    let mut changes: Vec<_> =
        zone.following(first).map(|change| change.timestamp()).take_while(|&at| at < last).collect();
    if changes.is_empty() {
        changes.push(first + jiff::Span::new().hours(100_000));
    }
    changes
}

/// The minutes around one change of clocks.
struct Case {
    calendar: Calendar,
    minutes: u32,
    grid: i64,
    /// Minutes since 1970: three days around the change.
    window: Range<i64>,
    /// What the clocks show at each minute of the window, and until a service begun at its end is over.
    clocks: Vec<DateTime>,
    open: Vec<bool>,
}

impl Case {
    fn new(zone: &TimeZone, change: Timestamp, seed: usize) -> Self {
        let grid = GRIDS[seed % GRIDS.len()];
        let (from, to) = HOURS[seed % HOURS.len()];
        let minutes = [20, 45, 60, 150][seed % 4];
        let middle = change.as_second().div_euclid(60);
        let window = middle - 2160..middle + 2160;
        let clocks: Vec<_> = (window.start..window.end + i64::from(minutes))
            .map(|minute| zone.to_datetime(Timestamp::from_second(minute * 60).unwrap()))
            .collect();
        // Sometimes the day before or after the change is closed.
        let closed = match seed % 3 {
            0 => Some(clocks[2160 - 720].date()),
            _ => None,
        };
        let hours = [from, to].map(|text| text.parse::<Time>().unwrap_or(Time::MAX));
        let is_open = |clock: &DateTime| {
            closed != Some(clock.date())
                && hours[0] <= clock.time()
                && (clock.time() < hours[1] || hours[1] == Time::MAX)
        };
        let open = clocks.iter().map(is_open).collect();
        let service = Service {
            buffer_before_minutes: [0, 10, 30][seed % 3],
            buffer_after_minutes: [0, 15][seed % 2],
            ..service("service", minutes)
        };
        let calendar = calendar(CalendarDef {
            timezone: zone.iana_name().unwrap().into(),
            grid_minutes: grid,
            hours: super::open(from, to),
            closed: closed.iter().map(Date::to_string).collect(),
            services: vec![service],
            ..def()
        });
        Self { calendar, minutes, grid: grid.into(), window, clocks, open }
    }

    fn fits(&self, at: usize) -> bool {
        let clock = self.clocks[at];
        let minute = i64::from(clock.hour()) * 60 + i64::from(clock.minute());
        minute % self.grid == 0 && self.open[at..at + self.minutes as usize].iter().all(|&open| open)
    }

    fn check(&self) {
        let mut fitting = Vec::new();
        for (at, minute) in self.window.clone().enumerate() {
            let start = Moment::from_s(minute * 60);
            let fit = self.calendar.fit(0, start);
            assert_eq!(fit.is_ok(), self.fits(at), "{} {start}: {fit:?}", self.calendar.timezone());
            fitting.extend(fit.map(|fit| (start, fit.span)));
        }
        self.check_starts(&fitting);
        self.check_overlap(&fitting);
        for (start, span) in fitting {
            assert_eq!(self.calendar.begins(span.unit), start);
            assert_eq!(self.calendar.find(&self.calendar.key(span.unit)), Some(span.unit));
        }
    }

    /// The listed starts are those that fit, each once and in order.
    fn check_starts(&self, fitting: &[(Moment, Span)]) {
        let first = self.clocks[0].date().tomorrow().unwrap();
        let last = self.clocks[self.window.clone().count() - 1].date().yesterday().unwrap();
        let days = self.calendar.days(first, last).unwrap();
        let listed: Vec<_> =
            self.calendar.starts(0, days).into_iter().map(|start| (start.at, start.span)).collect();
        let shown_on =
            |start: &Moment| self.clocks[(start.ms() / 60_000 - self.window.start) as usize].date();
        let expected: Vec<_> =
            fitting.iter().filter(|(start, _)| (first..=last).contains(&shown_on(start))).copied().collect();
        let differs = listed.iter().zip(&expected).find(|(listed, expected)| listed != expected);
        assert!(
            differs.is_none() && listed.len() == expected.len(),
            "{}: {differs:?}",
            self.calendar.timezone()
        );
        let cells = self.calendar.cells(days);
        let within = |span: &Span| cells.start <= span.first && span.first + span.cells <= cells.end;
        assert!(listed.iter().all(|(_, span)| within(span)));
        let steps = self.calendar.open_cells(days);
        assert_eq!(steps.iter().map(|step| step.start).collect::<HashSet<_>>().len(), steps.len());
    }

    /// Claims that overlap in time share a cell, and claims that do not share none.
    fn check_overlap(&self, fitting: &[(Moment, Span)]) {
        let service = &self.calendar.services()[0];
        let step = self.grid as u32;
        let before = i64::from(service.buffer_before_minutes.div_ceil(step) * step);
        let after = i64::from((service.minutes + service.buffer_after_minutes).div_ceil(step) * step);
        for (at, (start, span)) in fitting.iter().enumerate() {
            for (other_start, other) in &fitting[at + 1..] {
                let apart = other_start.ms_since(*start) / 60_000;
                let share = span.first + span.cells > other.first;
                assert_eq!(share, apart < before + after, "{start} and {other_start}");
            }
        }
    }
}
