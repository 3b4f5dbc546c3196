//! Examples to read, then every zone against a slow and independent oracle.

mod examples;
mod zones;

use super::*;

/// Every day 09:00–17:00 in Berlin on a grid of 15 minutes, with one service of half an hour.
fn def() -> CalendarDef {
    CalendarDef {
        timezone: "Europe/Berlin".into(),
        grid_minutes: 15,
        hours: vec![HoursDef {
            days: WEEKDAYS.map(String::from).into(),
            from: "09:00".into(),
            to: "17:00".into(),
        }],
        closed: vec![],
        capacity: 1,
        services: vec![service("consult", 30)],
        cut: None,
    }
}

fn open(from: &str, to: &str) -> Vec<HoursDef> {
    vec![HoursDef { from: from.into(), to: to.into(), ..def().hours.remove(0) }]
}

fn service(key: &str, minutes: u32) -> Service {
    Service {
        key: key.into(),
        minutes,
        buffer_before_minutes: 0,
        buffer_after_minutes: 0,
        price: Money::ZERO,
    }
}

fn calendar(mut def: CalendarDef) -> Calendar {
    Calendar::new(&mut def).unwrap()
}

fn at(instant: &str) -> Moment {
    Moment::from_ms(instant.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn day(date: &str) -> Date {
    parse_date(date).unwrap()
}

/// The starts of the first service on one day, as its people read them.
fn starts_on(calendar: &Calendar, date: &str) -> Vec<String> {
    let days = calendar.days(day(date), day(date)).unwrap();
    calendar.starts(0, days).iter().map(|start| start.local().to_string()).collect()
}
