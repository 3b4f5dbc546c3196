//! Checking a calendar's definition, field by field, so that a fault is named where it stands.

use std::collections::HashSet;

use super::{
    Calendar, CalendarDef, Cut, Hours, HoursDef, Service, WEEKDAYS,
    days::{day_number, parse_clock, parse_date},
    zone::Zone,
};
use crate::text::{self, Invalid};

const DAY_MINUTES: u32 = 24 * 60;
const MAX_HOURS: usize = 100;
const MAX_CLOSED: usize = 5_000;
const MAX_SERVICES: usize = 1_000;
const MAX_MINUTES: u32 = 7 * DAY_MINUTES;
const MAX_CAPACITY: u32 = 1_000_000;
/// The most cells one claim may cover: every claim is made and freed cell by cell.
const MAX_CELLS: u32 = 2_048;

pub(super) fn calendar(def: &mut CalendarDef) -> Result<Calendar, Invalid> {
    let unknown = || Invalid::new("timezone", "must be an IANA time zone such as Europe/Berlin");
    let zone = Zone::named(&def.timezone).ok_or_else(unknown)?;
    zone.name().clone_into(&mut def.timezone);
    grid(def.grid_minutes)?;
    let hours = hours(&def.hours)?;
    let closed = closed(&mut def.closed)?;
    between("capacity", def.capacity, 1, MAX_CAPACITY)?;
    let cut = match def.cut {
        Some(cut) => kept_cut(cut, def.grid_minutes)?,
        None => cut(&zone, def.grid_minutes),
    };
    def.cut = Some(cut);
    services(&mut def.services, def.grid_minutes, cut)?;
    Ok(Calendar {
        zone,
        grid_s: i64::from(def.grid_minutes) * 60,
        cut,
        hours,
        closed,
        capacity: def.capacity,
        services: def.services.clone().into(),
    })
}

fn between(field: &str, value: u32, least: u32, most: u32) -> Result<(), Invalid> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(Invalid::new(field, format!("must be {least} to {most}"))),
    }
}

fn listed(field: &str, len: usize, least: usize, most: usize) -> Result<(), Invalid> {
    match (least..=most).contains(&len) {
        true => Ok(()),
        false => Err(Invalid::new(field, format!("must have {least} to {most} entries"))),
    }
}

fn grid(minutes: u32) -> Result<(), Invalid> {
    if minutes == 0 || !DAY_MINUTES.is_multiple_of(minutes) {
        return Err(Invalid::new("grid_minutes", "must divide a day of 1440 minutes, such as 15"));
    }
    Ok(())
}

/// The longest cells that fit the grid at every offset the zone has.
fn cut(zone: &Zone, grid_minutes: u32) -> Cut {
    let offsets: Vec<i32> = zone.offsets_s().map(|offset| offset.div_euclid(60)).collect();
    let apart = offsets.iter().map(|offset| offset.abs_diff(offsets[0]));
    let cell_minutes = apart.fold(grid_minutes, gcd);
    // Local midnight is on the grid, so a cell begins at every instant that is midnight less the offset.
    let anchor_minutes = (-offsets[0]).rem_euclid(cell_minutes as i32) as u32;
    Cut { cell_minutes, anchor_minutes }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A cut settled earlier stays, even if the zone has since been given an offset that it does not fit: claims
/// then cover every cell they touch, which is wider than need be and never too narrow.
fn kept_cut(cut: Cut, grid_minutes: u32) -> Result<Cut, Invalid> {
    let fits = cut.cell_minutes > 0
        && grid_minutes.is_multiple_of(cut.cell_minutes)
        && cut.anchor_minutes < cut.cell_minutes;
    fits.then_some(cut).ok_or_else(|| Invalid::new("cut", "must divide the grid"))
}

fn hours(defs: &[HoursDef]) -> Result<[Box<[Hours]>; 7], Invalid> {
    listed("hours", defs.len(), 1, MAX_HOURS)?;
    let mut week: [Vec<Hours>; 7] = Default::default();
    for (at, def) in defs.iter().enumerate() {
        open(&mut week, def).map_err(|fault| fault.within(format_args!("hours[{at}]")))?;
    }
    Ok(week.map(|mut day| {
        day.sort_unstable_by_key(|hours| hours.from);
        day.into()
    }))
}

fn open(week: &mut [Vec<Hours>; 7], def: &HoursDef) -> Result<(), Invalid> {
    let clock = |field: &str, text: &str, latest: u32| {
        let minute = parse_clock(text).filter(|&minute| minute <= latest);
        minute.ok_or_else(|| Invalid::new(field, "must be a time of day such as 09:00"))
    };
    let from = clock("from", &def.from, DAY_MINUTES - 1)?;
    let to = clock("to", &def.to, DAY_MINUTES)?;
    if to <= from {
        return Err(Invalid::new("to", "must be after from; hours past midnight are two entries"));
    }
    listed("days", def.days.len(), 1, WEEKDAYS.len())?;
    for (at, name) in def.days.iter().enumerate() {
        let within = |rule: &str| Invalid::new(format!("days[{at}]"), rule);
        let weekday = WEEKDAYS.iter().position(|known| known == name);
        let weekday = weekday.ok_or_else(|| within("must be mon, tue, wed, thu, fri, sat or sun"))?;
        let hours = Hours { from: i64::from(from) * 60, to: i64::from(to) * 60 };
        if week[weekday].iter().any(|other| other.from < hours.to && hours.from < other.to) {
            return Err(within("is open at this time already"));
        }
        week[weekday].push(hours);
    }
    Ok(())
}

fn closed(dates: &mut Vec<String>) -> Result<Box<[i32]>, Invalid> {
    listed("closed", dates.len(), 0, MAX_CLOSED)?;
    for (at, date) in dates.iter().enumerate() {
        if parse_date(date).is_none() {
            return Err(Invalid::new(format!("closed[{at}]"), "must be a date such as 2026-12-25"));
        }
    }
    // Their texts sort as the dates do.
    dates.sort_unstable();
    dates.dedup();
    Ok(dates.iter().filter_map(|date| parse_date(date)).map(day_number).collect())
}

fn services(services: &mut [Service], grid_minutes: u32, cut: Cut) -> Result<(), Invalid> {
    listed("services", services.len(), 1, MAX_SERVICES)?;
    let mut seen = HashSet::new();
    for (at, service) in services.iter_mut().enumerate() {
        let within = |fault: Invalid| fault.within(format_args!("services[{at}]"));
        self::service(service, grid_minutes, cut).map_err(within)?;
        if !seen.insert(service.key.clone()) {
            return Err(within(Invalid::new("key", "stands twice in this offer")));
        }
    }
    Ok(())
}

fn service(service: &mut Service, grid_minutes: u32, cut: Cut) -> Result<(), Invalid> {
    service.key = text::visible("key", &service.key, 64)?;
    between("minutes", service.minutes, 1, MAX_MINUTES)?;
    between("buffer_before_minutes", service.buffer_before_minutes, 0, MAX_MINUTES)?;
    between("buffer_after_minutes", service.buffer_after_minutes, 0, MAX_MINUTES)?;
    let after = service.minutes + service.buffer_after_minutes;
    let steps = service.buffer_before_minutes.div_ceil(grid_minutes) + after.div_ceil(grid_minutes);
    if steps * (grid_minutes / cut.cell_minutes) > MAX_CELLS {
        let rule = format!("with its buffers covers more than {MAX_CELLS} cells: take a coarser grid");
        return Err(Invalid::new("minutes", rule));
    }
    Ok(())
}
