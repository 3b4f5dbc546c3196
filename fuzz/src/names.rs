//! Names, identifiers and versions: each has exactly one spelling.

use holdfast_domain::{BookingId, Currency, HoldId, HolderId, OfferId, Version, schedule::parse_date, text};

use crate::as_text;

/// Everything that is a name of something: one that is accepted is shown as it was read.
pub(crate) fn names(data: &[u8]) {
    let Some(name) = as_text(data) else { return };
    if let Ok(id) = OfferId::new(name) {
        assert_eq!(id.as_str(), name);
    }
    if let Ok(id) = name.parse::<HoldId>() {
        assert_eq!(id.to_string(), name);
    }
    if let Ok(id) = name.parse::<BookingId>() {
        assert_eq!(id.to_string(), name);
    }
    if let Ok(version) = name.parse::<Version>() {
        assert_eq!(version.to_string(), name);
    }
    if let Ok(currency) = Currency::new(name) {
        assert_eq!(currency.code(), name);
    }
    if let Some(date) = parse_date(name) {
        assert_eq!(date.to_string(), name);
    }
}

/// Free text: what is accepted is bounded, composed, and accepted again unchanged.
pub(crate) fn text(data: &[u8]) {
    const MAX: usize = 20;
    let Some(raw) = as_text(data) else { return };
    for parse in [text::line, text::visible] {
        if let Ok(accepted) = parse("name", raw, MAX) {
            assert!((1..=MAX).contains(&accepted.chars().count()));
            assert!(!accepted.chars().any(char::is_control));
            assert_eq!(parse("name", &accepted, MAX), Ok(accepted));
        }
    }
    if let Ok(holder) = HolderId::new(raw) {
        assert!(!holder.as_str().contains(char::is_whitespace));
        assert_eq!(HolderId::new(holder.as_str()), Ok(holder));
    }
}
