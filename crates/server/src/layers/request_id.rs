//! Request ids: in every answer and every log line, so that one finds the other.

use std::sync::{
    LazyLock,
    atomic::{AtomicU64, Ordering},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use holdfast_engine::mint;

pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Ours, or the caller's own where it sent a fit one: a proxy's id is then ours too.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(HeaderValue);

const MAX_LEN: usize = 64;

impl RequestId {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let fit = |id: &&HeaderValue| {
            (1..=MAX_LEN).contains(&id.len())
                && id.as_bytes().iter().all(|c| c.is_ascii_alphanumeric() || b"-_.:".contains(c))
        };
        headers.get(HEADER).filter(fit).map_or_else(Self::fresh, |id| Self(id.clone()))
    }

    /// Unique across processes by the random half, within one by counting: a request id is a name, not a secret.
    pub(crate) fn fresh() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| mint::random_bits() as u64);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = *b"req_0000000000000000";
        let mut bits = PROCESS.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed));
        for digit in text[4..].iter_mut().rev() {
            *digit = DIGITS[(bits & 15) as usize];
            bits >>= 4;
        }
        Self(HeaderValue::from_bytes(&text).expect("hexadecimal is visible"))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_a_fit_one_is_kept() {
        assert_ne!(RequestId::fresh().as_str(), RequestId::fresh().as_str());
        let of = |id: &'static str| {
            RequestId::of(&HeaderMap::from_iter([(HEADER, HeaderValue::from_static(id))])).as_str().to_owned()
        };
        assert_eq!(of("trace-1.2"), "trace-1.2");
        assert!(of("<script>").starts_with("req_"));
    }
}
