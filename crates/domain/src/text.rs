//! Text from outside: composed (NFC), bounded, and free of characters that hide or reorder what is read.

use std::fmt;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A value that cannot be part of the domain, with the field it came from and the rule it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub field: String,
    pub rule: String,
}

impl Invalid {
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }

    /// The same fault, seen from the structure around it: `price` becomes `lines[2].price`.
    #[must_use]
    pub fn within(self, outer: impl fmt::Display) -> Self {
        Self { field: format!("{outer}.{}", self.field), ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.rule)
    }
}

impl std::error::Error for Invalid {}

/// A human name: 1 to `max` characters, no control or direction-changing ones, no blank ends. Joiners may follow
/// other characters: Persian and Malayalam are written with them, and families of emoji.
pub fn line(field: &str, raw: &str, max: usize) -> Result<String, Invalid> {
    let text = bounded(field, raw, max, |c| hides_or_reorders(c) && !is_joiner(c))?;
    if text.trim() != text || text.starts_with(is_joiner) {
        return Err(Invalid::new(field, "must not begin or end with a space"));
    }
    Ok(text)
}

/// A token: like [`line()`], and with no spaces or joiners inside either, so that two that look alike are alike.
pub fn visible(field: &str, raw: &str, max: usize) -> Result<String, Invalid> {
    let text = bounded(field, raw, max, hides_or_reorders)?;
    if text.chars().any(char::is_whitespace) {
        return Err(Invalid::new(field, "must not contain spaces"));
    }
    Ok(text)
}

fn bounded(field: &str, raw: &str, max: usize, is_refused: impl Fn(char) -> bool) -> Result<String, Invalid> {
    // Bytes first: normalising is only worth its cost for text that can still fit.
    if raw.is_empty() || raw.len() > max * 4 {
        return Err(wrong_length(field, max));
    }
    let text = match is_nfc_quick(raw.chars()) {
        IsNormalized::Yes => raw.to_owned(),
        _ => raw.nfc().collect(),
    };
    if text.chars().count() > max {
        return Err(wrong_length(field, max));
    }
    if text.chars().any(is_refused) {
        return Err(Invalid::new(field, "must not contain control or direction-changing characters"));
    }
    Ok(text)
}

fn wrong_length(field: &str, max: usize) -> Invalid {
    Invalid::new(field, format!("must be 1 to {max} characters"))
}

/// Control characters, and the format characters that make text read other than it is: bidirectional
/// overrides and isolates, zero-width joiners and spaces, line separators, tags.
pub(crate) fn hides_or_reorders(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Joins two characters that would stand apart, or keeps apart two that would join.
const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_their_languages_are() {
        for name in
            ["می\u{200c}خواهم", "അവന\u{d4d}\u{200d}", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} day"]
        {
            assert_eq!(line("name", name, 20).as_deref(), Ok(name));
        }
        for hidden in ["\u{200d}", "\u{200c}a"] {
            assert!(line("name", hidden, 9).is_err(), "{hidden:?}");
        }
        assert!(visible("key", "a\u{200d}b", 9).is_err());
    }

    #[test]
    fn composes_and_bounds() {
        assert_eq!(line("name", "Cafe\u{301}", 4).unwrap(), "Café");
        assert!(line("name", "abcde", 4).is_err());
        assert!(line("name", " a", 4).is_err());
        assert!(visible("holder", "a b", 4).is_err());
        for bad in ["a\u{0}", "a\u{202e}b", "a\u{200b}b", "a\u{7f}", "\u{feff}a"] {
            assert!(line("name", bad, 9).is_err(), "{bad:?}");
        }
    }
}
