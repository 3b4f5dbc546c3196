//! Definitions of offers, and the keys of their units.

use std::ops::Range;

use holdfast_domain::{
    Moment, Money, UnitNo,
    schedule::{Calendar, CalendarDef, Cut, HoursDef, Service, parse_date},
    seat_plan::{RowDef, SeatPlan, SectionDef},
};

use crate::as_text;

/// A key finds a seat only if it is that seat's key.
pub(crate) fn seat_keys(data: &[u8]) {
    let Some(key) = as_text(data) else { return };
    let rows = [("A", 20), ("B-2", 3), ("Ä", 1), ("-", 2), ("1", 10_000)];
    let rows = rows.map(|(name, seats)| RowDef::new(name, seats));
    let plan = SeatPlan::new(&mut [section(rows.into())]).expect("a sound plan");
    if let Some(unit) = plan.find(key) {
        assert_eq!(plan.key(unit), key);
    }
}

fn section(rows: Vec<RowDef>) -> SectionDef {
    SectionDef::new("Stalls", "A", Money::ZERO, rows)
}

/// A plan as lines of text: `section name category` and `row name seats`.
pub(crate) fn seat_plan(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let mut sections: Vec<SectionDef> = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("section"), name, category) => {
                let (name, category) = (owned(name), owned(category));
                sections.push(SectionDef { name, category, ..section(vec![]) });
            }
            (Some("row"), name, seats) => {
                let seats = seats.and_then(|seats| seats.parse().ok()).unwrap_or(1);
                if let Some(section) = sections.last_mut() {
                    section.rows.push(RowDef::new(owned(name), seats));
                }
            }
            _ => {}
        }
    }
    let Ok(plan) = SeatPlan::new(&mut sections) else { return };
    assert_eq!(SeatPlan::new(&mut sections).as_ref(), Ok(&plan), "normalised once is normalised");
    let ends = plan.rows().iter().flat_map(|row| [row.first, row.first + row.seats - 1]);
    for unit in ends {
        assert_eq!(plan.find(&plan.key(unit)), Some(unit));
    }
}

fn owned(word: Option<&str>) -> String {
    word.unwrap_or_default().to_owned()
}

/// A calendar as lines of text (see the seeds), and instants (`at`) to ask it about.
pub(crate) fn calendar(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let (mut def, instants) = calendar_def(text);
    let calendar = match Calendar::new(&mut def) {
        Ok(calendar) => calendar,
        Err(fault) => return assert!(fault.field.starts_with("slots."), "{fault}"),
    };
    let normalised = def.clone();
    assert_eq!(Calendar::new(&mut def).as_ref(), Ok(&calendar));
    assert_eq!(def, normalised);
    for at in instants {
        for service in 0..calendar.services().len().min(3) as u16 {
            ask(&calendar, service, at);
        }
    }
}

fn calendar_def(text: &str) -> (CalendarDef, Vec<Moment>) {
    let (timezone, grid_minutes, hours, closed, capacity, services, cut) = Default::default();
    let mut def = CalendarDef { timezone, grid_minutes, hours, closed, capacity, services, cut };
    let mut instants = Vec::new();
    for line in text.lines().take(50) {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let number = |word: &str| word.parse().unwrap_or(0);
        match what {
            "zone" => def.timezone = rest.to_owned(),
            "grid" => def.grid_minutes = number(rest),
            "capacity" => def.capacity = number(rest),
            "closed" => def.closed.push(rest.to_owned()),
            "cut" => {
                def.cut = Some(Cut { cell_minutes: number(word()), anchor_minutes: number(word()) });
            }
            "hours" => def.hours.push(HoursDef {
                days: word().split(',').map(str::to_owned).collect(),
                from: word().to_owned(),
                to: word().to_owned(),
            }),
            "service" => def.services.push(Service {
                key: word().to_owned(),
                minutes: number(word()),
                buffer_before_minutes: number(word()),
                buffer_after_minutes: number(word()),
                price: Money::ZERO,
            }),
            "at" if instants.len() < 4 => {
                instants.push(Moment::from_ms(rest.parse::<i64>().unwrap_or(i64::MAX)));
            }
            _ => {}
        }
    }
    (def, instants)
}

fn ask(calendar: &Calendar, service: u16, at: Moment) {
    let shown = calendar.local(at).to_string();
    let Ok(span) = calendar.span(service, at) else { return };
    assert!(span.units().contains(&span.unit));
    let first = calendar.key(span.first);
    assert_eq!(calendar.find(&first), Some(span.first), "{first}");

    let today = parse_date(&shown[..10]).expect("a local date");
    let days = calendar.days(today, today).expect("a day that has starts can be listed");
    let starts = calendar.starts(service, days);
    assert!(starts.iter().any(|start| start.at == at && start.span == span), "a start is listed");
    assert!(starts.is_sorted_by_key(|start| start.at));
    let cells = calendar.cells(days);
    assert!(starts.iter().all(|start| start.span.units().all(|unit| cells.contains(&unit))));

    let taken = span.units();
    let full =
        |cells: Range<UnitNo>| (cells.start < taken.end && taken.start < cells.end).then(|| taken.clone());
    let nearest = calendar.nearest_starts(service, span.unit, Moment::MIN, 3, &full);
    assert!(nearest.iter().all(|start| full(start.span.units()).is_none()));
    assert!(nearest.iter().all(|start| calendar.span(service, start.at) == Ok(start.span)));
}

/// A key finds a cell only if it is that cell's key; every number has a key.
pub(crate) fn cell_keys(data: &[u8]) {
    for (zone, grid) in [("Europe/Berlin", 15), ("Asia/Kathmandu", 60), ("UTC", 1), ("Pacific/Apia", 1440)] {
        let (mut def, _) = calendar_def(&format!(
            "zone {zone}\ngrid {grid}\ncapacity 1\nhours mon 09:00 17:00\nservice one {grid} 0 0"
        ));
        let calendar = Calendar::new(&mut def).expect("a sound calendar");
        if let Some(key) = as_text(data)
            && let Some(unit) = calendar.find(key)
        {
            assert_eq!(calendar.key(unit), key);
        }
        let number = data.iter().take(4).fold(0, |number: UnitNo, byte| number << 8 | UnitNo::from(*byte));
        let key = calendar.key(number);
        assert!(calendar.find(&key).is_none_or(|unit| unit == number));
    }
}
