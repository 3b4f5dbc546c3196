//! Browser sessions: a signed cookie that says who the holder is. The server keeps nothing; whoever has the
//! cookie is the holder, and only this server can make one.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use holdfast_domain::HolderId;
use holdfast_engine::mint;
use sha2::Sha256;

use crate::settings::Secret;

const COOKIE: &str = "holdfast_session";
/// The longest that browsers keep a cookie. A booking belongs to whoever has the cookie, so it should outlive the day of
/// the show; [`Caller::renew`](super::Caller::renew) begins the time anew.
const MAX_AGE_S: u32 = 400 * 24 * 3600;

#[derive(Debug)]
pub(crate) struct Sessions {
    pub(super) secret: Secret,
    pub(super) secure: bool,
}

impl Sessions {
    pub(crate) fn new(secret: Secret, secure: bool) -> Self {
        Self { secret, secure }
    }

    /// Whether cookies travel over HTTPS only.
    pub(crate) const fn secure(&self) -> bool {
        self.secure
    }

    /// A holder that nobody was before.
    pub(crate) fn fresh() -> HolderId {
        let random = mint::hold_id().to_string().replace("hold_", "session_");
        HolderId::new(&random).expect("an id is visible text")
    }

    /// The holder whose cookie came with the request, if the cookie is ours.
    pub(crate) fn read(&self, headers: &HeaderMap) -> Option<HolderId> {
        let (holder, signature) = cookie_named(headers, COOKIE)?.split_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.mac(holder).verify_slice(&signature).ok()?;
        HolderId::new(holder).ok()
    }

    pub(crate) fn cookie(&self, holder: &HolderId) -> HeaderValue {
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.mac(holder.as_str()).finalize().into_bytes());
        let cookie = self.plain_cookie(COOKIE, &format!("{holder}.{signature}"), MAX_AGE_S);
        cookie.expect("holders of sessions are ASCII")
    }

    /// A cookie that goes wherever the session's goes, unsigned: whoever reads it must not believe it.
    pub(crate) fn plain_cookie(&self, name: &str, value: &str, max_age_s: u32) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let cookie = format!("{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(cookie).ok()
    }

    fn mac(&self, holder: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret.0).expect("any length of key will do");
        // Named, so that the secret can sign other things without one passing for another.
        mac.update(b"session:");
        mac.update(holder.as_bytes());
        mac
    }
}

/// The value of the cookie of that name.
pub(crate) fn cookie_named<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(secret: u8) -> Sessions {
        Sessions::new(Secret([secret; 32]), false)
    }

    fn sent_back(cookie: &HeaderValue) -> HeaderMap {
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("theme=dark; {pair}").parse().unwrap());
        headers
    }

    #[test]
    fn a_cookie_of_ours_names_its_holder() {
        let holder = Sessions::fresh();
        let headers = sent_back(&sessions(1).cookie(&holder));
        assert_eq!(sessions(1).read(&headers), Some(holder));
    }

    #[test]
    fn a_forged_or_foreign_cookie_names_nobody() {
        let headers = sent_back(&sessions(2).cookie(&Sessions::fresh()));
        assert_eq!(sessions(1).read(&headers), None);
        for forged in ["holdfast_session=session_1", "holdfast_session=session_1.", "holdfast_session=."] {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, forged.parse().unwrap());
            assert_eq!(sessions(1).read(&headers), None, "{forged}");
        }
    }
}
