//! A time zone as a table of offsets: which local time it is at an instant, in a few comparisons.
//!
//! Built once per zone and process from the IANA data compiled into the program, so that two nodes of one
//! release never disagree about the time because their machines' zone files do. Covers the years a calendar may
//! sell, [`YEARS`], and a little around them.

use std::{
    collections::HashMap,
    ops::RangeInclusive,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use jiff::{
    Timestamp,
    civil::{Date, date},
    tz::{TimeZone, TimeZoneDatabase},
};

use super::days::{DAY_S, day_number};

/// The years in which a calendar can be asked for anything.
pub const YEARS: RangeInclusive<i16> = 2000..=2100;

const FIRST_DATE: Date = date(1999, 12, 1);
const LAST_DATE: Date = date(2101, 2, 1);

/// A stretch of time with one offset. Seconds since 1970 in UTC; `until` is the first second of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) offset_s: i32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Zone {
    name: String,
    /// Without gaps, in order; the first and last reach to the ends of time.
    stretches: Box<[Stretch]>,
}

impl Zone {
    /// The zone of that IANA name, in any case of letters.
    pub(super) fn named(name: &str) -> Option<Arc<Self>> {
        // A memo of pure functions of the name: whoever comes first, the answer is the same.
        static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
        static ZONES: LazyLock<Mutex<HashMap<String, Arc<Zone>>>> = LazyLock::new(Mutex::default);
        let data = DATABASE.get(name).ok()?;
        let name = data.iana_name()?;
        let mut zones = ZONES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = zones.get(name) {
            return Some(Arc::clone(known));
        }
        let zone = Arc::new(Self { name: name.to_owned(), stretches: stretches(&data) });
        zones.insert(name.to_owned(), Arc::clone(&zone));
        Some(zone)
    }

    /// The name as the IANA writes it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The stretch that the second `at` lies in.
    pub(super) fn at(&self, at: i64) -> Stretch {
        self.stretches[self.index(at)]
    }

    /// The stretches in which the clocks show that day at some time, in order: usually one.
    pub(super) fn of_day(&self, day: i32) -> impl Iterator<Item = Stretch> {
        const WIDEST_OFFSET_S: i64 = 26 * 3600;
        let midnight = i64::from(day) * DAY_S;
        let from = self.index(midnight - WIDEST_OFFSET_S);
        let until = self.index(midnight + DAY_S + WIDEST_OFFSET_S);
        let shows_the_day = move |stretch: &Stretch| {
            let local = |at: i64| at.saturating_add(stretch.offset_s.into());
            local(stretch.from) < midnight + DAY_S && local(stretch.until) > midnight
        };
        self.stretches[from..=until].iter().copied().filter(shows_the_day)
    }

    /// The other second at which the clocks show what they show at second `at`: they do where they were put back in
    /// between.
    pub(super) fn twin(&self, at: i64) -> Option<i64> {
        let here = self.index(at);
        let beside = [here.checked_sub(1), Some(here + 1)].into_iter().flatten();
        let stretches = beside.filter_map(|index| self.stretches.get(index));
        let offset_s = i64::from(self.stretches[here].offset_s);
        let shown_by = |other: &Stretch| (at + offset_s - i64::from(other.offset_s), *other);
        let mut twins = stretches.map(shown_by).filter(|(at, other)| (other.from..other.until).contains(at));
        twins.next().map(|(at, _)| at)
    }

    pub(super) fn offsets_s(&self) -> impl Iterator<Item = i32> {
        self.stretches.iter().map(|stretch| stretch.offset_s)
    }

    fn index(&self, at: i64) -> usize {
        self.stretches.partition_point(|stretch| stretch.until <= at).min(self.stretches.len() - 1)
    }
}

fn stretches(data: &TimeZone) -> Box<[Stretch]> {
    let midnight = |day: Date| i64::from(day_number(day)) * DAY_S;
    let first = Timestamp::from_second(midnight(FIRST_DATE)).expect("1999 is within range");
    let within = |second: i64| second < midnight(LAST_DATE);
    let changes = data.following(first).map(|change| (change.timestamp().as_second(), change.offset()));
    let begun = (i64::MIN, data.to_offset(first));
    let mut found: Vec<Stretch> = Vec::new();
    for (from, offset) in std::iter::once(begun).chain(changes.take_while(|&(at, _)| within(at))) {
        match found.last_mut() {
            // Some changes are of the zone's name or law only.
            Some(last) if last.offset_s == offset.seconds() => continue,
            Some(last) => last.until = from,
            None => {}
        }
        found.push(Stretch { from, until: i64::MAX, offset_s: offset.seconds() });
    }
    found.into()
}
