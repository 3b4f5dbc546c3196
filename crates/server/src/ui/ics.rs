//! The appointments of a booking as a calendar file (RFC 5545): times are in UTC, so that every calendar shows them on its
//! owner's clocks.

use std::fmt::Write as _;

use holdfast_domain::{Inventory, Moment};
use holdfast_engine::ledger::BookingView;
use jiff::Timestamp;

use super::words;

/// A line of the file has no more bytes than this before it is folded.
const LONGEST_LINE: usize = 73;

/// `None` where nothing of it has a time.
pub(super) fn file(view: &BookingView) -> Option<String> {
    let booking = &view.booking;
    let mut events = String::new();
    for (at, line) in booking.lines.iter().enumerate() {
        let offer = view.offer_of(line);
        let Inventory::Slots(calendar) = offer.inventory() else { continue };
        let Some(service) = line.service.and_then(|at| calendar.services().get(usize::from(at))) else {
            continue;
        };
        let begins = calendar.begins(line.unit);
        let ends = begins.plus_ms(i64::from(service.minutes) * 60_000);
        let summary = format!("{}: {}", offer.def().name, words::capital(&service.key));
        for (name, value) in [
            ("BEGIN", "VEVENT".to_owned()),
            ("UID", format!("{}-{at}@holdfast", booking.id)),
            ("DTSTAMP", stamp(booking.created_at)),
            ("DTSTART", stamp(begins)),
            ("DTEND", stamp(ends)),
            ("SUMMARY", escaped(&summary)),
            ("DESCRIPTION", escaped(&format!("Booking {}", booking.id))),
            ("END", "VEVENT".to_owned()),
        ] {
            write_line(&mut events, &format!("{name}:{value}"));
        }
    }
    let head = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Holdfast//Bookings//EN\r\n";
    (!events.is_empty()).then(|| format!("{head}{events}END:VCALENDAR\r\n"))
}

/// `20261116T080000Z`.
fn stamp(at: Moment) -> String {
    let instant = Timestamp::from_millisecond(at.ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        if matches!(letter, '\\' | ';' | ',') {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

/// A long line goes on in the next, which begins with a space; no letter is cut in two.
fn write_line(file: &mut String, line: &str) {
    let mut bytes = 0;
    for letter in line.chars() {
        if bytes + letter.len_utf8() > LONGEST_LINE {
            file.push_str("\r\n ");
            bytes = 1;
        }
        bytes += letter.len_utf8();
        let _ = file.write_char(letter);
    }
    file.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_long_lines_are_folded() {
        assert_eq!(escaped("Dr. Lee; consult, 30\r\nmin"), "Dr. Lee\\; consult\\, 30min");
        let mut file = String::new();
        write_line(&mut file, &"ä".repeat(60));
        let lines: Vec<&str> = file.split_terminator("\r\n").collect();
        assert_eq!((lines.len(), lines[1].starts_with(' ')), (2, true));
        assert!(lines.iter().all(|line| line.len() <= 75), "{lines:?}");
        assert_eq!(file.replace("\r\n ", "").trim_end(), "ä".repeat(60));
    }
}
