//! The organiser's session: a short-lived signed cookie of the pages under `/admin`, for whoever has shown a key there.
//!
//! The cookie names the key and does not contain it. It is signed with the server's secret and the key's hash, and the
//! key is looked up again each time: a key that is revoked, replaced or no longer an administrator's ends the session.
//! The server keeps nothing.

use axum::http::{HeaderMap, HeaderValue};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use holdfast_domain::{Actor, Moment};
use holdfast_engine::ledger::{LedgerError, Role};
use sha2::Sha256;

use super::{Auth, Sessions, cookie_named};
use crate::settings::KeyHash;

const COOKIE: &str = "holdfast_organiser";
/// A session that nobody uses ends after this time,
const IDLE_MS: i64 = 60 * 60 * 1000;
/// and one that is used all day after this.
const LONGEST_MS: i64 = 12 * 60 * 60 * 1000;

/// Somebody who showed an administrator's key.
#[derive(Debug)]
pub(crate) struct Organiser {
    pub actor: Actor,
    /// The cookie with more time on it, once half of its time is gone.
    pub renewed: Option<HeaderValue>,
}

/// What came of showing a key.
#[derive(Debug)]
pub(crate) enum SignIn {
    Welcome(HeaderValue),
    /// Unknown or revoked.
    WrongKey,
    /// A seller's key opens nothing here.
    NotAnAdmin,
}

/// What the cookie says, once it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    since: Moment,
    until: Moment,
}

impl Times {
    fn begun(since: Moment, now: Moment) -> Self {
        let last = since.plus_ms(LONGEST_MS);
        Self { since, until: now.plus_ms(IDLE_MS).min(last) }
    }

    fn are_half_over(self, now: Moment) -> bool {
        self.until.ms_since(now) < IDLE_MS / 2
    }
}

impl Auth {
    pub(crate) async fn sign_in(&self, key: &str, now: Moment) -> Result<SignIn, LedgerError> {
        let Some(known) = self.keys.recognise(key, now).await? else { return Ok(SignIn::WrongKey) };
        let cookie = || self.sessions.organiser(&known.name, KeyHash::of(key), Times::begun(now, now));
        Ok(match known.role {
            Role::Admin => cookie().map_or(SignIn::WrongKey, SignIn::Welcome),
            Role::Seller => SignIn::NotAnAdmin,
        })
    }

    /// Whoever sent the cookie, if the session lives and so does its key.
    pub(crate) async fn organiser(
        &self,
        headers: &HeaderMap,
        now: Moment,
    ) -> Result<Option<Organiser>, LedgerError> {
        let Some(cookie) = Cookie::sent(headers) else { return Ok(None) };
        let Some((hash, known)) = self.keys.named(cookie.name, now).await? else { return Ok(None) };
        let lives = self.sessions.believes(&cookie, hash) && now < cookie.times.until;
        if !lives || known.role != Role::Admin {
            return Ok(None);
        }
        let times = Times::begun(cookie.times.since, now);
        let renews = cookie.times.are_half_over(now) && times != cookie.times;
        let renewed = renews.then(|| self.sessions.organiser(&known.name, hash, times)).flatten();
        Ok(Some(Organiser { actor: Actor::Key(known.name), renewed }))
    }
}

/// A cookie as it was sent, believed by nobody yet.
struct Cookie<'a> {
    name: &'a str,
    times: Times,
    signature: Vec<u8>,
}

impl<'a> Cookie<'a> {
    fn sent(headers: &'a HeaderMap) -> Option<Self> {
        let value = cookie_named(headers, COOKIE)?;
        let mut parts = value.split('.');
        let name = parts.next()?;
        let mut time = || parts.next()?.parse().ok().map(Moment::from_ms);
        let times = Times { since: time()?, until: time()? };
        let signature = BASE64_URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        parts.next().is_none().then_some(Self { name, times, signature })
    }
}

impl Sessions {
    /// The cookie of a session; `None` for a key whose name cannot stand in one.
    fn organiser(&self, name: &str, key: KeyHash, times: Times) -> Option<HeaderValue> {
        let signature = self.organisers_mac(name, key, times).finalize().into_bytes();
        let Times { since, until } = times;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
        let value = format!("{name}.{}.{}.{signature}", since.ms(), until.ms());
        self.strict_cookie(&value, LONGEST_MS / 1000)
    }

    /// The cookie that takes the session's place when somebody signs out.
    pub(crate) fn signed_out(&self) -> Option<HeaderValue> {
        self.strict_cookie("", 0)
    }

    /// Goes nowhere but to the organiser's pages, and only from pages of ours.
    fn strict_cookie(&self, value: &str, max_age_s: i64) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let rest = format!("Path=/admin; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::try_from(format!("{COOKIE}={value}; {rest}")).ok()
    }

    fn believes(&self, cookie: &Cookie<'_>, key: KeyHash) -> bool {
        self.organisers_mac(cookie.name, key, cookie.times).verify_slice(&cookie.signature).is_ok()
    }

    fn organisers_mac(&self, name: &str, key: KeyHash, times: Times) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret.0).expect("any length of key will do");
        mac.update(format!("organiser:{name}:{}:{}:", times.since.ms(), times.until.ms()).as_bytes());
        mac.update(&key.0);
        mac
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;
    use crate::settings::Secret;

    fn sent_back(cookie: &HeaderValue) -> HeaderMap {
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        HeaderMap::from_iter([(header::COOKIE, format!("theme=dark; {pair}").parse().unwrap())])
    }

    #[test]
    fn a_cookie_is_believed_with_its_own_key_and_secret_only() {
        let (sessions, key) = (Sessions::new(Secret([1; 32]), true), KeyHash::of("hf_x"));
        let times = Times::begun(Moment::from_s(10), Moment::from_s(10));
        let cookie = sessions.organiser("abcabcabcabc", key, times).unwrap();
        let text = cookie.to_str().unwrap();
        for part in ["; HttpOnly", "; SameSite=Strict", "; Secure", "; Path=/admin;"] {
            assert!(text.contains(part), "{text}");
        }
        let headers = sent_back(&cookie);
        let read = Cookie::sent(&headers).unwrap();
        assert_eq!((read.name, read.times), ("abcabcabcabc", times));
        assert!(sessions.believes(&read, key));
        assert!(!sessions.believes(&read, KeyHash::of("hf_y")), "the key was replaced");
        assert!(!Sessions::new(Secret([2; 32]), true).believes(&read, key), "another server's");
        let later = Times { until: times.until.plus_ms(1), ..times };
        assert!(!sessions.believes(&Cookie { times: later, ..read }, key), "more time than was given");
    }

    #[test]
    fn a_session_in_use_goes_on_and_ends_all_the_same() {
        let (begun, hour) = (Moment::from_s(0), IDLE_MS);
        let times = Times::begun(begun, begun);
        assert!(!times.are_half_over(begun) && times.are_half_over(begun.plus_ms(hour / 2 + 1)));
        assert_eq!(Times::begun(begun, begun.plus_ms(hour / 2)).until, begun.plus_ms(hour + hour / 2));
        assert_eq!(Times::begun(begun, begun.plus_ms(LONGEST_MS - 1)).until, begun.plus_ms(LONGEST_MS));
    }

    #[test]
    fn other_text_is_no_cookie() {
        for text in ["", "a", "a.1.2", "a.1.2.x.y", "a.x.2.AA", "a.1.2.!"] {
            let value = format!("{COOKIE}={text}").parse().unwrap();
            let headers = HeaderMap::from_iter([(header::COOKIE, value)]);
            assert!(Cookie::sent(&headers).is_none(), "{text}");
        }
    }
}
