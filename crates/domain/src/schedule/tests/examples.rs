use super::*;

#[test]
fn a_claim_covers_every_cell_of_service_and_buffers() {
    let consult = Service { buffer_after_minutes: 15, ..service("consult", 30) };
    let calendar = calendar(CalendarDef { services: vec![consult], ..def() });
    let span = calendar.span(0, at("2026-11-16T09:00:00+01:00")).unwrap();
    let keys: Vec<_> = span.units().map(|unit| calendar.key(unit)).collect();
    assert_eq!(keys, ["2026-11-16T08:00Z", "2026-11-16T08:15Z", "2026-11-16T08:30Z"]);
    assert_eq!(calendar.key(span.unit), "2026-11-16T08:00Z");
}

#[test]
fn minutes_off_the_grid_claim_the_whole_step() {
    let odd = Service { buffer_before_minutes: 1, buffer_after_minutes: 1, ..service("odd", 20) };
    let calendar = calendar(CalendarDef { services: vec![odd], ..def() });
    let span = calendar.span(0, at("2026-11-16T09:00:00+01:00")).unwrap();
    assert_eq!((calendar.key(span.first), span.cells), ("2026-11-16T07:45Z".into(), 3));
}

#[test]
fn a_buffer_may_pass_opening_and_closing_time_and_the_service_may_not() {
    let consult = Service { buffer_before_minutes: 30, buffer_after_minutes: 45, ..service("consult", 30) };
    let calendar = calendar(CalendarDef { services: vec![consult], ..def() });
    assert!(calendar.span(0, at("2026-11-16T09:00:00+01:00")).is_ok());
    assert!(calendar.span(0, at("2026-11-16T16:30:00+01:00")).is_ok());
    assert_eq!(
        calendar.span(0, at("2026-11-16T16:45:00+01:00")),
        Err("consult takes 30 minutes, and from 2026-11-16T16:45:00+01:00 that passes closing time.".into())
    );
}

#[test]
fn a_start_that_cannot_be_is_refused_in_one_sentence() {
    let calendar = calendar(CalendarDef { closed: vec!["2026-12-25".into()], ..def() });
    let refused = |start| calendar.span(0, at(start)).unwrap_err();
    assert_eq!(
        refused("2026-11-16T09:05:00+01:00"),
        "2026-11-16T09:05:00+01:00 is not on the grid of 15 minutes."
    );
    assert_eq!(
        refused("2026-11-16T09:00:00.001+01:00"),
        "2026-11-16T09:00:00.001+01:00 is not on the grid of 15 minutes."
    );
    assert_eq!(refused("2026-11-16T07:00:00Z"), "2026-11-16T08:00:00+01:00 is outside the opening hours.");
    assert_eq!(refused("2026-12-25T09:00:00Z"), "2026-12-25T10:00:00+01:00 is on a closed day.");
    assert!(refused("1970-01-01T09:00:00Z").ends_with("is not within the years 2000 to 2100."));
    assert!(calendar.span(0, Moment::MIN).is_err() && calendar.span(0, Moment::MAX).is_err());
}

#[test]
fn breaks_between_hours_are_kept_and_touching_hours_are_one() {
    let hours = [open("09:00", "12:00"), open("12:00", "13:00"), open("14:00", "15:00")].concat();
    let calendar =
        calendar(CalendarDef { hours, grid_minutes: 30, services: vec![service("long", 60)], ..def() });
    let clocks: Vec<_> =
        starts_on(&calendar, "2026-11-16").iter().map(|start| start[11..16].to_owned()).collect();
    assert_eq!(clocks, ["09:00", "09:30", "10:00", "10:30", "11:00", "11:30", "12:00", "14:00"]);
}

#[test]
fn a_service_may_run_past_midnight_if_the_place_stays_open_and_the_next_day_is_not_closed() {
    let night = CalendarDef {
        hours: open("00:00", "24:00"),
        closed: vec!["2026-11-18".into()],
        services: vec![service("night", 120)],
        grid_minutes: 60,
        ..def()
    };
    let calendar = calendar(night);
    assert!(calendar.span(0, at("2026-11-16T23:00:00+01:00")).is_ok());
    assert!(calendar.span(0, at("2026-11-17T22:00:00+01:00")).is_ok());
    assert!(calendar.span(0, at("2026-11-17T23:00:00+01:00")).is_err());
    assert!(calendar.span(0, at("2026-11-18T12:00:00+01:00")).is_err());
}

#[test]
fn the_hour_that_comes_twice_is_two_hours() {
    let night = CalendarDef { hours: open("01:00", "04:00"), grid_minutes: 60, ..def() };
    let calendar = calendar(night);
    assert_eq!(
        starts_on(&calendar, "2026-10-25"),
        [
            "2026-10-25T01:00:00+02:00",
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T02:00:00+01:00",
            "2026-10-25T03:00:00+01:00"
        ]
    );
    let first = calendar.span(0, at("2026-10-25T02:00:00+02:00")).unwrap();
    let second = calendar.span(0, at("2026-10-25T02:00:00+01:00")).unwrap();
    assert_eq!(second.unit, first.unit + 1);
    let (first, second) = (at("2026-10-25T02:30:00+02:00"), at("2026-10-25T02:30:00+01:00"));
    assert_eq!((calendar.twin(first), calendar.twin(second)), (Some(second), Some(first)));
    for once in ["2026-10-25T01:59:00+02:00", "2026-10-25T03:00:00+01:00", "2026-03-29T03:00:00+02:00"] {
        assert_eq!(calendar.twin(at(once)), None, "{once}");
    }
}

#[test]
fn the_hour_that_does_not_come_is_no_hour() {
    let night = CalendarDef { hours: open("01:00", "04:00"), grid_minutes: 60, ..def() };
    let calendar = calendar(night);
    let starts = ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"];
    assert_eq!(starts_on(&calendar, "2026-03-29"), starts);
    // 02:00+01:00 is the instant 03:00+02:00, whatever its offset says.
    assert!(calendar.span(0, at("2026-03-29T02:00:00+01:00")).is_ok());
    // Three hours on the clock, two to work in.
    let long = CalendarDef { services: vec![service("long", 180)], hours: open("01:00", "04:00"), ..def() };
    assert!(starts_on(&super::calendar(long), "2026-03-29").is_empty());
}

#[test]
fn katmandus_cells_begin_at_its_own_hours() {
    let calendar = calendar(CalendarDef { timezone: "Asia/Kathmandu".into(), grid_minutes: 60, ..def() });
    let span = calendar.span(0, at("2026-11-16T09:00:00+05:45")).unwrap();
    assert_eq!((calendar.key(span.unit), span.cells), ("2026-11-16T03:15Z".into(), 1));
    assert!(calendar.span(0, at("2026-11-16T04:00:00Z")).is_err());
    assert_eq!(calendar.find("2026-11-16T04:00Z"), None);
}

#[test]
fn lord_howe_moves_its_clocks_by_half_a_step() {
    let island = CalendarDef {
        timezone: "Australia/Lord_Howe".into(),
        grid_minutes: 60,
        hours: open("00:00", "24:00"),
        services: vec![service("hour", 60)],
        ..def()
    };
    let calendar = calendar(island);
    // On 2026-04-05 02:00+11:00 becomes 01:30+10:30: the hour from 01:00 ends there, the next is 02:00+10:30.
    let [before, after] = ["2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+10:30"]
        .map(|start| calendar.span(0, at(start)).unwrap());
    assert_eq!((before.cells, after.cells), (2, 2), "an hour is two cells of half an hour");
    assert_eq!(after.first, before.first + 3);
    assert!(calendar.span(0, at("2026-04-05T01:30:00+10:30")).is_err(), "not on the grid");
    // Counts stay in steps of the grid all the same.
    let ordinary = calendar.days(day("2026-05-01"), day("2026-05-01")).unwrap();
    assert_eq!(calendar.counts(ordinary, |_| Unit::default()).capacity, 24);
}

#[test]
fn counts_are_steps_times_capacity() {
    let calendar = calendar(CalendarDef { capacity: 2, ..def() });
    let days = calendar.days(day("2026-11-16"), day("2026-11-17")).unwrap();
    let taken = calendar.find("2026-11-16T08:00Z").unwrap();
    let unit = |unit| match unit == taken {
        true => Unit { held: 1, booked: 1, blocked: false },
        false => Unit::default(),
    };
    let counts = calendar.counts(days, unit);
    assert_eq!((counts.capacity, counts.available, counts.held, counts.booked), (128, 126, 1, 1));
    assert!(calendar.cells(days).contains(&taken));
}

#[test]
fn a_step_of_several_cells_is_as_full_as_its_fullest() {
    let two_hours = CalendarDef { grid_minutes: 120, hours: open("08:00", "10:00"), ..def() };
    let calendar = calendar(two_hours);
    let days = calendar.days(day("2026-11-16"), day("2026-11-16")).unwrap();
    assert_eq!(calendar.open_cells(days).iter().map(|step| step.len()).collect::<Vec<_>>(), [2]);
    let late = calendar.find("2026-11-16T08:00Z").unwrap();
    let unit = |unit| Unit { booked: u32::from(unit == late), ..Unit::default() };
    let counts = calendar.counts(days, unit);
    assert_eq!((counts.capacity, counts.booked), (1, 1));
}

/// The run of full cells that a range meets, as a state would tell it.
fn run_of(full: impl Fn(UnitNo) -> bool) -> impl Fn(Range<UnitNo>) -> Option<Range<UnitNo>> {
    move |cells| {
        let first = cells.clone().find(|&unit| full(unit))?;
        let start = (0..first).rev().take_while(|&unit| full(unit)).last().unwrap_or(first);
        let end = (first..).find(|&unit| !full(unit)).unwrap_or(UnitNo::MAX);
        Some(start..end)
    }
}

fn nearest(calendar: &Calendar, earliest: &str, max: usize, full: impl Fn(UnitNo) -> bool) -> Vec<String> {
    let around = calendar.find("2026-11-16T09:00Z").unwrap();
    let found = calendar.nearest_starts(0, around, at(earliest), max, &run_of(full));
    found.iter().map(|start| calendar.key(start.span.unit)).collect()
}

#[test]
fn the_nearest_free_starts_come_first() {
    let calendar = calendar(def());
    let [first, last] = ["2026-11-16T09:00Z", "2026-11-16T09:15Z"].map(|key| calendar.find(key).unwrap());
    let full = |unit| (first..=last).contains(&unit);
    assert_eq!(
        nearest(&calendar, "2026-11-01T00:00:00Z", 4, full),
        ["2026-11-16T09:30Z", "2026-11-16T08:30Z", "2026-11-16T09:45Z", "2026-11-16T08:15Z"]
    );
    assert_eq!(
        nearest(&calendar, "2026-11-16T08:20:00Z", 3, full),
        ["2026-11-16T09:30Z", "2026-11-16T08:30Z", "2026-11-16T09:45Z"],
        "not before the earliest"
    );
}

#[test]
fn a_search_for_free_starts_goes_days_far_and_ends() {
    let calendar = calendar(def());
    let until = calendar.find("2026-12-16T08:00Z").unwrap();
    let from = calendar.find("2026-10-16T08:00Z").unwrap();
    let long_ago = "2026-01-01T00:00:00Z";
    let found = nearest(&calendar, long_ago, 1, |unit| (from..until).contains(&unit));
    assert_eq!(found, ["2026-12-16T08:00Z"]);
    let year = 366 * 24 * 4;
    let found = nearest(&calendar, "2026-11-16T00:00:00Z", 1, |unit| (from..from + year).contains(&unit));
    assert_eq!(found, ["2027-10-17T08:00Z"], "booked out for a year");
    assert!(nearest(&calendar, long_ago, 3, |unit| unit < 5_000_000).is_empty());
}

#[test]
fn leaping_over_full_runs_misses_no_free_start() {
    let calendar = calendar(def());
    let around = calendar.find("2026-11-16T09:00Z").unwrap();
    for holes in 2..12 {
        let full = |unit: UnitNo| !unit.is_multiple_of(holes) && !(unit / 40).is_multiple_of(3);
        let found = calendar.nearest_starts(0, around, Moment::MIN, 200, &run_of(full));
        let days = calendar.days(day("2026-06-16"), day("2027-04-17")).unwrap();
        let mut expected = calendar.starts(0, days);
        expected.retain(|start| !start.span.units().any(full) && start.span.unit != around);
        let away = |start: &Start| start.at.ms_since(calendar.begins(around));
        expected.sort_by_key(|start| (away(start).abs(), away(start) < 0));
        expected.truncate(200);
        assert_eq!(found, expected);
    }
}

#[test]
fn keys_have_one_spelling() {
    let calendar = calendar(def());
    assert!(calendar.find("2026-11-16T08:00Z").is_some());
    for other in [
        "",
        "2026-11-16T08:01Z",
        "2026-11-16T08:00",
        "2026-11-16T08:00:00Z",
        "2026-11-16T24:00Z",
        "2026-02-30T08:00Z",
        "+026-11-16T08:00Z",
        "2026-11-16t08:00Z",
        "1969-12-31T23:45Z",
        "2999-01-01T00:00Z",
        "２026-11-16T08:00Z",
    ] {
        assert_eq!(calendar.find(other), None, "{other}");
    }
}

#[test]
fn a_range_is_bounded() {
    let calendar = calendar(def());
    let days = |from, to| calendar.days(day(from), day(to)).map_err(|fault| fault.field);
    assert!(days("2026-01-01", "2026-12-31").is_ok());
    assert_eq!(days("2026-01-01", "2027-01-02"), Err("to".into()));
    assert_eq!(days("2026-01-02", "2026-01-01"), Err("to".into()));
    assert_eq!(days("1999-12-31", "2000-01-01"), Err("from".into()));
    let fine = super::calendar(CalendarDef { grid_minutes: 1, ..def() });
    assert!(fine.days(day("2026-01-01"), day("2026-01-31")).is_err());
}

#[test]
fn a_definition_is_normalised_and_means_the_same_again() {
    let mut def = CalendarDef {
        timezone: "europe/berlin".into(),
        closed: ["2026-12-26", "2026-12-25", "2026-12-26"].map(String::from).into(),
        ..def()
    };
    let calendar = Calendar::new(&mut def).unwrap();
    assert_eq!(def.timezone, "Europe/Berlin");
    assert_eq!(def.closed, ["2026-12-25", "2026-12-26"]);
    assert_eq!(def.cut, Some(Cut { cell_minutes: 15, anchor_minutes: 0 }));
    let again = def.clone();
    assert_eq!(Calendar::new(&mut def), Ok(calendar));
    assert_eq!(def, again);
}

#[test]
fn a_cut_once_settled_survives_new_rules_of_the_zone() {
    // As if the zone had been a whole hour from UTC when the calendar was made.
    let kept = Some(Cut { cell_minutes: 60, anchor_minutes: 0 });
    let zone = "Asia/Kolkata".into();
    let hours = vec![service("hour", 60)];
    let calendar =
        calendar(CalendarDef { timezone: zone, grid_minutes: 60, cut: kept, services: hours, ..def() });
    let span = calendar.span(0, at("2026-11-16T09:00:00+05:30")).unwrap();
    assert_eq!((calendar.key(span.first), span.cells), ("2026-11-16T03:00Z".into(), 2));
}

#[test]
fn a_fault_is_named_where_it_stands() {
    let fault = |change: &dyn Fn(&mut CalendarDef)| {
        let mut def =
            CalendarDef { hours: [open("09:00", "12:00"), open("13:00", "17:00")].concat(), ..def() };
        change(&mut def);
        Calendar::new(&mut def).expect_err("a fault").field
    };
    assert_eq!(fault(&|def| def.timezone = "Europe/Atlantis".into()), "slots.timezone");
    assert_eq!(fault(&|def| def.timezone = "Etc/Unknown".into()), "slots.timezone");
    assert_eq!(fault(&|def| def.grid_minutes = 0), "slots.grid_minutes");
    assert_eq!(fault(&|def| def.grid_minutes = 7), "slots.grid_minutes");
    assert_eq!(fault(&|def| def.grid_minutes = 2880), "slots.grid_minutes");
    assert_eq!(fault(&|def| def.hours.clear()), "slots.hours");
    assert_eq!(fault(&|def| def.hours[1].to = "25:00".into()), "slots.hours[1].to");
    assert_eq!(fault(&|def| def.hours[1].to = "24:01".into()), "slots.hours[1].to");
    assert_eq!(fault(&|def| def.hours[1].to = "13:00".into()), "slots.hours[1].to");
    assert_eq!(fault(&|def| def.hours[1].from = "24:00".into()), "slots.hours[1].from");
    assert_eq!(fault(&|def| def.hours[1].from = "9:00".into()), "slots.hours[1].from");
    assert_eq!(fault(&|def| def.hours[1].from = "11:59".into()), "slots.hours[1].days[0]");
    assert_eq!(fault(&|def| def.hours[1].days[3] = "funday".into()), "slots.hours[1].days[3]");
    assert_eq!(fault(&|def| def.hours[1].days[3] = "mon".into()), "slots.hours[1].days[3]");
    assert_eq!(fault(&|def| def.hours[1].days.clear()), "slots.hours[1].days");
    assert_eq!(fault(&|def| def.closed.push("2026-02-30".into())), "slots.closed[0]");
    assert_eq!(fault(&|def| def.capacity = 0), "slots.capacity");
    assert_eq!(fault(&|def| def.services.clear()), "slots.services");
    assert_eq!(fault(&|def| def.services[0].minutes = 0), "slots.services[0].minutes");
    assert_eq!(fault(&|def| def.services[0].minutes = u32::MAX), "slots.services[0].minutes");
    assert_eq!(fault(&|def| def.services.push(service("consult", 5))), "slots.services[1].key");
    let buffered = |def: &mut CalendarDef| def.services[0].buffer_after_minutes = u32::MAX;
    assert_eq!(fault(&buffered), "slots.services[0].buffer_after_minutes");
    let long = |def: &mut CalendarDef| (def.grid_minutes, def.services[0].minutes) = (1, 5000);
    assert_eq!(fault(&long), "slots.services[0].minutes");
}
