//! Figures, money and times as people read them.

use holdfast_domain::{
    Currency, Kind, Moment, Money, UnitNo,
    schedule::{Calendar, LocalTime},
    seat_plan::SeatPlan,
};
use jiff::{Timestamp, civil::DateTime, tz::Offset};

/// A price: `€45.00`, and `Free` for nothing.
pub(super) fn money(amount: Money, currency: Currency) -> String {
    if amount == Money::ZERO { "Free".to_owned() } else { sum(amount, currency) }
}

/// What something came to: `€1,045.00`, `¥4,500`, `45.00 CHF`; `€0.00` for nothing.
pub(super) fn sum(amount: Money, currency: Currency) -> String {
    let shown = currency.show(amount);
    let figure = shown.split(' ').next().unwrap_or_default();
    let (whole, part) = figure.find('.').map_or((figure, ""), |point| figure.split_at(point));
    let figure = format!("{}{part}", whole.parse().map_or_else(|_| whole.to_owned(), count));
    match currency.code() {
        "EUR" => format!("€{figure}"),
        "USD" => format!("${figure}"),
        "GBP" => format!("£{figure}"),
        "JPY" => format!("¥{figure}"),
        code => format!("{figure} {code}"),
    }
}

/// `20,480`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `10 minutes`, `90 seconds`, `2 hours`.
pub(super) fn seconds(seconds: u32) -> String {
    let (figure, unit) = match seconds {
        s if s.is_multiple_of(3600) => (s / 3600, "hour"),
        s if s.is_multiple_of(60) => (s / 60, "minute"),
        s => (s, "second"),
    };
    plural(figure.into(), unit)
}

/// `5 seconds`, `3 minutes`, `2 hours`: never less than it is, and no more exact than one needs to wait.
pub(super) fn about(seconds: u64) -> String {
    match seconds {
        0..100 => plural(seconds.max(1), "second"),
        100..6_000 => plural(seconds.div_ceil(60), "minute"),
        _ => plural(seconds.div_ceil(3600), "hour"),
    }
}

/// `1 seat`, `2 seats`.
pub(super) fn plural(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// `Row A, seat 12`.
pub(super) fn seat(plan: &SeatPlan, unit: UnitNo) -> String {
    let row = plan.row_of(unit);
    format!("Row {}, seat {}", row.name, unit - row.first + 1)
}

/// `Row A, seats 12 and 13` where all stand in one row, else each by its key.
pub(super) fn seats(plan: &SeatPlan, keys: &[String]) -> String {
    let units: Vec<UnitNo> = keys.iter().filter_map(|key| plan.find(key)).collect();
    let [first, .., last] = units[..] else {
        return units.first().map_or_else(|| keys.join(", "), |&unit| seat(plan, unit));
    };
    let row = plan.row_of(first);
    if units.len() < keys.len() || units.iter().any(|&unit| plan.row_of(unit).first != row.first) {
        return keys.join(", ");
    }
    let number = |unit: UnitNo| (unit - row.first + 1).to_string();
    let before: Vec<String> = units[..units.len() - 1].iter().map(|&unit| number(unit)).collect();
    format!("Row {}, seats {} and {}", row.name, before.join(", "), number(last))
}

/// With a capital letter: `Consult`.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", letters.as_str())
}

/// Words that stood within others, as a sentence of their own.
pub(super) fn sentence(words: &str) -> String {
    let words = capital(words.trim());
    let end = if words.ends_with(['.', '!', '?']) { "" } else { "." };
    words + end
}

/// Text that names code between backticks, as HTML: everything else in it stays what it is.
pub(crate) fn with_code(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    let parts: Vec<&str> = text.split('`').collect();
    for (at, part) in parts.iter().enumerate() {
        // A backtick that has no partner is a backtick.
        let is_code = at % 2 == 1 && at + 1 < parts.len();
        let stray = if at % 2 == 1 && !is_code { "`" } else { "" };
        html.push_str(if is_code { "<code>" } else { stray });
        for letter in part.chars() {
            match letter {
                '&' => html.push_str("&amp;"),
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '"' => html.push_str("&quot;"),
                letter => html.push(letter),
            }
        }
        html.push_str(if is_code { "</code>" } else { "" });
    }
    html
}

/// A name of ours as HTML that may go on in the next line after a part of it, `unknown_` and `offer`.
pub(crate) fn breakable(name: &str) -> String {
    name.replace('_', "_<wbr>")
}

/// `One is`, `12 are`.
pub(super) fn are(number: u64) -> String {
    if number == 1 { "One is".to_owned() } else { format!("{} are", count(number)) }
}

/// `16 Nov 2026, 10:00 UTC`, for pages without a script that knows the visitor's clock.
pub(super) fn in_utc(at: Moment) -> String {
    let instant = Timestamp::from_millisecond(at.ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.strftime("%-d %b %Y, %H:%M UTC").to_string()
}

/// `10:23:45 UTC`, likewise.
pub(super) fn time_in_utc(at: Moment) -> String {
    let instant = Timestamp::from_millisecond(at.ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.strftime("%H:%M:%S UTC").to_string()
}

/// What the clocks of the place show.
pub(super) fn clock(local: LocalTime) -> DateTime {
    let offset = Offset::from_seconds(local.offset_s).unwrap_or(Offset::UTC);
    offset.to_datetime(Timestamp::from_millisecond(local.at.ms()).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// `Mon 16 Nov 2026, 09:00`; with the offset, `Sun 31 Oct 2027, 02:30 UTC+02:00`, where the clocks show that twice.
pub(super) fn day_and_time(calendar: &Calendar, at: Moment) -> String {
    let local = calendar.local(at);
    let shown = clock(local).strftime("%a %-d %b %Y, %H:%M").to_string();
    match calendar.twin(at) {
        Some(_) => format!("{shown} {}", offset(local.offset_s)),
        None => shown,
    }
}

/// `UTC+01:00`.
pub(super) fn offset(seconds: i32) -> String {
    let (sign, minutes) = (if seconds < 0 { '−' } else { '+' }, seconds.abs() / 60);
    format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// `9:58`, what is left of a hold.
pub(super) fn minutes_and_seconds(ms: i64) -> String {
    let s = ms.max(0).div_euclid(1000);
    format!("{}:{:02}", s / 60, s % 60)
}

/// `16 Nov 2026, 10:00:07 UTC`, where seconds matter.
pub(super) fn to_the_second(at: Moment) -> String {
    let instant = Timestamp::from_millisecond(at.ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.strftime("%-d %b %Y, %H:%M:%S UTC").to_string()
}

pub(super) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Seats => "Reserved seats",
        Kind::Slots => "Appointments",
        Kind::Stock => "While stock lasts",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_the_sign_its_people_write() {
        let shown = |minor, code| money(Money::new(minor).unwrap(), Currency::new(code).unwrap());
        assert_eq!(shown(4500, "EUR"), "€45.00");
        assert_eq!(shown(4500, "JPY"), "¥4,500");
        assert_eq!(shown(123_456_789, "EUR"), "€1,234,567.89");
        assert_eq!(shown(4500, "CHF"), "45.00 CHF");
        assert_eq!(shown(0, "USD"), "Free");
        assert_eq!(sum(Money::ZERO, Currency::new("USD").unwrap()), "$0.00");
    }

    #[test]
    fn code_stands_between_backticks() {
        assert_eq!(with_code("ask `me` & <you>"), "ask <code>me</code> &amp; &lt;you&gt;");
        assert_eq!(with_code("`a` and `<b>`"), "<code>a</code> and <code>&lt;b&gt;</code>");
        assert_eq!(with_code("a ` alone"), "a ` alone");
    }

    #[test]
    fn figures_are_grouped_and_counted() {
        assert_eq!([count(7), count(999), count(20_480)], ["7", "999", "20,480"]);
        assert_eq!([seconds(600), seconds(90), seconds(3600)], ["10 minutes", "90 seconds", "1 hour"]);
        assert_eq!([about(1), about(121), about(7_201)], ["1 second", "3 minutes", "3 hours"]);
        assert_eq!(
            [sentence("it was called off"), sentence("No. Never!")],
            ["It was called off.", "No. Never!"]
        );
    }
}
