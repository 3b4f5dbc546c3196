//! Whether a browser's unsafe request comes from our own pages. A cookie travels with every request to us,
//! whoever's page causes it, so the cookie alone proves nothing.

use axum::http::{HeaderMap, HeaderName, header};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Browsers say where a request comes from, and pages cannot lie about it: `Sec-Fetch-Site` in all current ones,
/// `Origin` in older. What says neither is no browser, and has no visitor's cookie to abuse.
pub(crate) fn is_our_own(headers: &HeaderMap, allowed: &[String]) -> bool {
    let origin = headers.get(header::ORIGIN);
    if origin.is_some_and(|origin| allowed.iter().any(|allowed| origin == allowed.as_str())) {
        return true;
    }
    if let Some(site) = headers.get(FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    match (origin.map(|origin| origin.to_str()), headers.get(header::HOST).map(|host| host.to_str())) {
        (None, _) => true,
        (Some(Ok(origin)), Some(Ok(host))) => {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(headers: &[(&'static str, &'static str)]) -> bool {
        let headers =
            headers.iter().map(|&(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        is_our_own(&headers.collect(), &["https://tickets.example".into()])
    }

    #[test]
    fn our_pages_and_programs_may_post() {
        assert!(own(&[]));
        assert!(own(&[("sec-fetch-site", "same-origin"), ("origin", "http://shop.example")]));
        assert!(own(&[("origin", "http://shop.example"), ("host", "shop.example")]));
        assert!(own(&[("origin", "https://tickets.example"), ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn other_pages_may_not() {
        assert!(!own(&[("sec-fetch-site", "cross-site")]));
        assert!(!own(&[("sec-fetch-site", "same-site")]));
        assert!(!own(&[("origin", "http://evil.example"), ("host", "shop.example")]));
        assert!(!own(&[("origin", "null"), ("host", "shop.example")]));
        assert!(!own(&[("origin", "http://shop.example")]));
    }
}
