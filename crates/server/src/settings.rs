//! What an operator can set, with a default for everything. Checked by whoever reads it from the outside.

use std::{fmt, time::Duration};

use sha2::{Digest, Sha256};

use crate::doors::{RateLimits, TrustedProxies};

#[derive(Debug, Clone)]
pub struct Settings {
    /// The key that is an administrator without being in the ledger: how the first keys come to be.
    pub admin_key: Option<KeyHash>,
    /// Signs browser sessions. Must outlive a restart, or every visitor loses what they hold.
    pub session_secret: Secret,
    /// Whether session cookies are marked `Secure`: they then travel over HTTPS only.
    pub secure_cookies: bool,
    /// Origins, such as `https://tickets.example`, whose pages may post besides our own.
    pub allowed_origins: Vec<String>,
    pub limits: Limits,
    /// How often a caller may change something.
    pub rates: RateLimits,
    /// Who stands between us and the clients.
    pub proxies: TrustedProxies,
    /// How long a hold is kept for a buyer whose page has gone away; zero for as long as any other.
    pub leave_keep: Duration,
}

impl Settings {
    /// Everything at its default, with sessions signed by `session_secret`.
    pub fn new(session_secret: [u8; 32]) -> Self {
        Self {
            admin_key: None,
            session_secret: Secret(session_secret),
            secure_cookies: false,
            allowed_origins: Vec::new(),
            limits: Limits::default(),
            rates: RateLimits::default(),
            proxies: TrustedProxies::default(),
            leave_keep: Duration::from_secs(60),
        }
    }

    #[must_use]
    pub fn with_admin_key(self, key: &str) -> Self {
        Self { admin_key: Some(KeyHash::of(key)), ..self }
    }
}

/// Bounds on what clients can make the server do at once.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections; one more is told to come back.
    pub max_connections: usize,
    /// Requests worked on: from their head to their answer's head, but for the time in which a body is awaited. Beyond
    /// them there are a few places for bookings alone.
    pub max_requests: usize,
    /// Open event streams.
    pub max_streams: usize,
    /// Headers and body must be complete this long after the first byte.
    pub request_timeout: Duration,
    /// A connection on which nothing is asked is closed after this time.
    pub idle_timeout: Duration,
    /// How long a connection that was told to come back should wait. One that does not is heard one to four times as late;
    /// those who wait as told never notice.
    pub shed_pause: Duration,
    /// How long answers under way may take once the server is told to stop.
    pub shutdown_grace: Duration,
    /// The longest body of a caller's request.
    pub max_body_bytes: usize,
    /// The longest body of an administrator's request: a seat plan may be large.
    pub max_admin_body_bytes: usize,
    /// How often an event stream that has nothing to say shows that it is alive.
    pub stream_keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 16_384,
            max_requests: 8_192,
            max_streams: 10_000,
            request_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            shed_pause: Duration::from_secs(1),
            shutdown_grace: Duration::from_secs(10),
            max_body_bytes: 64 * 1024,
            max_admin_body_bytes: 8 * 1024 * 1024,
            stream_keep_alive: Duration::from_secs(15),
        }
    }
}

/// Bytes that never show themselves.
#[derive(Clone)]
pub struct Secret(pub(crate) [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The SHA-256 of an API key. Keys have 128 random bits, so a fast hash is enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(pub(crate) [u8; 32]);

impl KeyHash {
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash")
    }
}
