//! Moments. The domain never asks what time it is: `now` arrives as an argument.

use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl Moment {
    pub const MIN: Self = Self(i64::MIN);
    pub const MAX: Self = Self(i64::MAX);

    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    pub const fn from_s(s: i64) -> Self {
        Self(s * 1000)
    }

    pub const fn ms(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    #[must_use]
    pub const fn plus_s(self, s: u32) -> Self {
        self.plus_ms(s as i64 * 1000)
    }

    /// How long after `earlier` this is; negative when it lies before.
    pub const fn ms_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// RFC 3339 in UTC with milliseconds: `2026-11-15T18:00:00.000Z`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
