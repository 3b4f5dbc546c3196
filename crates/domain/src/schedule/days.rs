//! Days as numbers since 1970-01-01 and clock times as seconds of a day, with their texts.

use std::fmt;

use jiff::civil::{Date, date};

use crate::time::Moment;

pub(super) const DAY_S: i64 = 24 * 3600;

pub(super) fn day_number(day: Date) -> i32 {
    let hours = day.duration_since(date(1970, 1, 1)).as_hours();
    (hours / 24) as i32
}

/// 0 is Monday.
pub(super) fn weekday(day: i32) -> usize {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(7) as usize
}

pub(super) const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Reads `YYYY-MM-DD`, and only that.
pub fn parse_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = number(&bytes[..4])? as i16;
    let (month, day) = (number(&bytes[5..7])? as i8, number(&bytes[8..])? as i8);
    Date::new(year, month, day).ok()
}

/// Reads `HH:MM` as minutes of the day; `24:00` is its end.
pub(super) fn parse_clock(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    if bytes.len() != 5 || bytes[2] != b':' {
        return None;
    }
    match (number(&bytes[..2])?, number(&bytes[3..])?) {
        (hour @ 0..=23, minute @ 0..=59) => Some(hour * 60 + minute),
        (24, 0) => Some(24 * 60),
        _ => None,
    }
}

/// Reads `YYYY-MM-DDTHH:MMZ` as minutes since 1970.
pub(super) fn parse_minute(text: &str) -> Option<i64> {
    let (day, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let minute = parse_clock(clock).filter(|&minute| minute < 24 * 60)?;
    Some(i64::from(day_number(parse_date(day)?)) * 24 * 60 + i64::from(minute))
}

/// Digits and nothing else: no sign, no space.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))
}

/// An instant as the clocks of a place show it: `2026-11-16T09:00:00+01:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    pub at: Moment,
    pub offset_s: i32,
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = jiff::tz::Offset::from_seconds(self.offset_s)
            .ok()
            .zip(jiff::Timestamp::from_millisecond(self.at.ms()).ok())
            .map(|(offset, instant)| offset.to_datetime(instant));
        let Some(local) = local else { return fmt::Display::fmt(&self.at, f) };
        let sign = if self.offset_s < 0 { '-' } else { '+' };
        let minutes = self.offset_s.abs() / 60;
        write!(f, "{}T{}", local.date(), local.time())?;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}
