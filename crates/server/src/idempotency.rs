//! The `Idempotency-Key` of a request: the caller's name for one intention, however often it is sent.
//!
//! This only reads the header and takes the request's fingerprint; keeping the key together with its effect is
//! the ledger's work.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use holdfast_domain::Actor;
use holdfast_engine::ledger::IdempotencyKey;
use sha2::{Digest, Sha256};

use crate::problem::Problem;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const MAX_LEN: usize = 255;

/// The key as it was sent, if one was.
pub(crate) fn of(headers: &HeaderMap) -> Result<Option<HeaderValue>, Problem> {
    let mut values = headers.get_all(KEY).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(key), None) if is_valid(key) => Ok(Some(key.clone())),
        _ => Err(Problem::invalid(format!(
            "Idempotency-Key: must be sent once, with 1 to {MAX_LEN} visible characters"
        ))),
    }
}

fn is_valid(key: &HeaderValue) -> bool {
    (1..=MAX_LEN).contains(&key.len()) && key.as_bytes().iter().all(u8::is_ascii_graphic)
}

/// The key in the ledger's terms: whose it is, and for which request.
pub(crate) fn scoped(
    key: &HeaderValue,
    actor: &Actor,
    method: &Method,
    path: &str,
    body: &[u8],
) -> IdempotencyKey {
    let mut request = Sha256::new();
    for part in [method.as_str(), " ", path, "\n"] {
        request.update(part);
    }
    request.update(body);
    IdempotencyKey {
        scope: actor.to_string(),
        key: String::from_utf8_lossy(key.as_bytes()).into_owned(),
        fingerprint: request.finalize().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Option<HeaderValue>, Problem> {
        let mut headers = HeaderMap::new();
        values
            .iter()
            .for_each(|value| assert!(!headers.append(KEY, value.parse().unwrap()) || values.len() > 1));
        of(&headers)
    }

    #[test]
    fn a_key_is_visible_bounded_and_sent_once() {
        assert!(read(&[]).unwrap().is_none());
        assert_eq!(read(&["k-1"]).unwrap().unwrap(), "k-1");
        assert!(read(&[&"k".repeat(255)]).is_ok());
        for bad in [&[""][..], &["a b"], &[&"k".repeat(256)], &["é"], &["a", "b"]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_fingerprint_tells_requests_apart() {
        let of = |path, body: &str| {
            let key = HeaderValue::from_static("k");
            scoped(&key, &Actor::System, &Method::POST, path, body.as_bytes()).fingerprint
        };
        assert_eq!(of("/v1/holds", "{}"), of("/v1/holds", "{}"));
        assert_ne!(of("/v1/holds", "{}"), of("/v1/holds", "{ }"));
        assert_ne!(of("/v1/holds", "{}"), of("/v1/bookings", "{}"));
    }
}
