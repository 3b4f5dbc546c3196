//! Times on the wire: RFC 3339, always with an offset, so that an instant is meant and never a wall clock.

use holdfast_domain::Moment;
use jiff::Timestamp;

/// Why a text is not an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAnInstant {
    NoOffset,
    NotATime,
}

impl NotAnInstant {
    pub(crate) const fn rule(self) -> &'static str {
        match self {
            Self::NoOffset => "must carry an offset, such as Z or +01:00",
            Self::NotATime => "must be an RFC 3339 time, such as 2026-11-16T09:00:00+01:00",
        }
    }
}

/// Stricter than the parser beneath it, which also knows other spellings and zone annotations.
pub(crate) fn instant(text: &str) -> Result<Moment, NotAnInstant> {
    let (date_time, rest) = text.split_at_checked(19).ok_or(NotAnInstant::NotATime)?;
    let shape = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    if !date_time.bytes().map(shape).eq(*b"0000-00-00T00:00:00") {
        return Err(NotAnInstant::NotATime);
    }
    match after_fraction(rest)? {
        "" => Err(NotAnInstant::NoOffset),
        offset if offset == "Z" || offset.bytes().map(shape).eq(*b"+00:00") => parsed(text),
        offset if offset.bytes().map(shape).eq(*b"-00:00") => parsed(text),
        _ => Err(NotAnInstant::NotATime),
    }
}

fn after_fraction(rest: &str) -> Result<&str, NotAnInstant> {
    let Some(fraction) = rest.strip_prefix('.') else { return Ok(rest) };
    let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    match fraction.len() - after.len() {
        1..=9 => Ok(after),
        _ => Err(NotAnInstant::NotATime),
    }
}

fn parsed(text: &str) -> Result<Moment, NotAnInstant> {
    /// Before it, a time has no text in RFC 3339, and what was accepted could not be shown.
    const YEAR_0_MS: i64 = -62_167_219_200_000;
    let instant: Timestamp = text.parse().map_err(|_| NotAnInstant::NotATime)?;
    match instant.as_millisecond() {
        ms @ YEAR_0_MS.. => Ok(Moment::from_ms(ms)),
        _ => Err(NotAnInstant::NotATime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_carry_an_offset() {
        let at = |ms| Ok(Moment::from_ms(ms));
        assert_eq!(instant("1970-01-01T00:00:01Z"), at(1000));
        assert_eq!(instant("1970-01-01T01:00:00.250+01:00"), at(250));
        assert_eq!(instant("1970-01-01T00:00:00-00:30"), at(1_800_000));
        for wall in ["2026-11-16T09:00:00", "2026-11-16T09:00:00.5"] {
            assert_eq!(instant(wall), Err(NotAnInstant::NoOffset), "{wall}");
        }
        for text in [
            "",
            "tomorrow",
            "2026-11-16",
            "2026-11-16T09:00Z",
            "2026-11-16 09:00:00Z",
            "2026-13-16T09:00:00Z",
            "2026-02-30T09:00:00Z",
            "2026-11-16T25:00:00Z",
            "2026-11-16T09:00:00.Z",
            "2026-11-16T09:00:00Z[Europe/Berlin]",
            "2026-11-16T09:00:00+1:00",
            "0000-01-01T00:00:00+01:00",
            "٢٠٢٦-11-16T09:00:00Z",
        ] {
            assert_eq!(instant(text), Err(NotAnInstant::NotATime), "{text}");
        }
    }
}
