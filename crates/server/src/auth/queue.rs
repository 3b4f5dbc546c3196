//! Tickets and passes of waiting rooms, as they travel: in a cookie for each offer, or in the `Queue-Token` header.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use holdfast_domain::OfferId;

const HEADER: HeaderName = HeaderName::from_static("queue-token");
const TICKET: &str = "holdfast_ticket_";
const PASS: &str = "holdfast_pass_";
/// A queue lasts a day at most.
const MAX_AGE_S: i64 = 24 * 3600;
/// More than anybody needs who queues for everything at once.
const MAX_TOKENS: usize = 64;

/// Whatever came with the request that may be a ticket or a pass. Whether it is one is for the room to say.
pub(crate) fn tokens(headers: &HeaderMap) -> Vec<Box<str>> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let mut tokens: Vec<Box<str>> = Vec::new();
    for line in headers.get_all(HEADER).iter().map(text) {
        tokens.extend(line.split(',').map(|token| token.trim().into()));
    }
    for line in headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()) {
        let pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        let ours = pairs.filter(|(name, _)| name.starts_with(TICKET) || name.starts_with(PASS));
        tokens.extend(ours.map(|(_, value)| value.into()));
    }
    tokens.truncate(MAX_TOKENS);
    tokens
}

/// What a browser is to keep.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kept {
    Ticket,
    Pass,
}

impl Kept {
    /// The cookie that keeps the token; one without a token ends it.
    pub(crate) fn cookie(self, offer: &OfferId, token: Option<&str>, secure: bool) -> Option<HeaderValue> {
        let name = match self {
            Self::Ticket => TICKET,
            Self::Pass => PASS,
        };
        let secure = if secure { "; Secure" } else { "" };
        let age = if token.is_some() { MAX_AGE_S } else { 0 };
        let token = token.unwrap_or_default();
        let text = format!("{name}{offer}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_in_cookies_and_in_a_header() {
        let mut headers = HeaderMap::new();
        headers.append(HEADER, "t.a, p.b".parse().unwrap());
        headers.append(
            header::COOKIE,
            "theme=dark; holdfast_ticket_hall=t.c; holdfast_pass_hall=p.d".parse().unwrap(),
        );
        assert_eq!(
            tokens(&headers).iter().map(|token| &**token).collect::<Vec<_>>(),
            ["t.a", "p.b", "t.c", "p.d"]
        );
        assert!(tokens(&HeaderMap::new()).is_empty());
    }
}
