//! The JSON of the API. The domain knows no serde: what arrives is parsed here once into domain types, and what
//! leaves is written here from domain views. Unknown fields are refused everywhere.

pub(crate) mod availability;
pub(crate) mod booking;
pub(crate) mod hold;
pub(crate) mod journal;
pub(crate) mod map;
pub(crate) mod offer;
mod offer_file;
pub(crate) mod offer_in;
mod problem;
pub(crate) mod query;
mod render;
pub(crate) mod room;
pub(crate) mod schema;
mod sheet;
pub(crate) mod time;

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use holdfast_domain::text;
pub use offer_file::{OfferFault, check_offers};
pub(crate) use problem::{ProblemShape, problem_json};
pub use render::render;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub(crate) use sheet::minor_units;
pub use sheet::{Sheet, SheetFault, parse_sheet};
use utoipa::ToSchema;

use crate::problem::Problem;

/// Reads a body. The fault's words name the place and the rule, cut short: they may quote what was sent.
pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    if body.is_empty() {
        return Err(Problem::invalid("The body is empty; this request needs one of JSON."));
    }
    serde_json::from_slice(body)
        .map_err(|fault| Problem::invalid(fault.to_string().chars().take(300).collect::<String>()))
}

/// A text of the body, borrowed from it unless it has escapes. A newtype, because serde borrows a `Cow` within an
/// `Option` only where it is told to by one.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// The longest key of a unit or a service.
const MAX_KEY: usize = 64;

/// The key of a unit or a service as it is stored, where what was sent can be one. What cannot is the key of nothing, and
/// the ledger says so in its turn: it stays as it was sent, cut short, with a space that no key has where it was cut.
fn key(sent: &str) -> String {
    text::visible("key", sent, MAX_KEY).unwrap_or_else(|_| match sent.char_indices().nth(MAX_KEY) {
        Some((end, _)) => format!("{} …", &sent[..end]),
        None => sent.to_owned(),
    })
}

/// Tells a field that is null from one that is not there; where null is no value of the field, it is refused.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Writes what cannot fail to be JSON: our own shapes, with text keys only.
pub(crate) fn json(shape: &impl Serialize) -> Bytes {
    let mut text = Vec::with_capacity(512);
    serde_json::to_writer(&mut text, shape).expect("shapes have text keys and write to memory");
    text.into()
}

/// A value that is its own text on the wire: ids, moments, versions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<T>(pub T);

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct List<T> {
    pub data: Vec<T>,
    /// Pass as `after` to go on; null at the end.
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_however_it_is_composed_and_nothing_is_found_by_half_of_it() {
        assert_eq!(key("cafe\u{301}"), "caf\u{e9}");
        let half = key(&"x".repeat(65));
        assert!(half.starts_with(&"x".repeat(64)) && text::visible("key", &half, 100).is_err());
        for none in ["", "a b", "a\u{0}", &"é".repeat(60_000)] {
            assert!(text::visible("key", &key(none), 100).is_err() && key(none).len() < 300);
        }
    }
}
