//! How often somebody may ask: a bucket for each of them that leaks at a steady pace (GCRA). The same bucket for all
//! nodes in Redis, and one of the node's own where there is no Redis, or none that answers.

use std::{fmt, str::FromStr, sync::LazyLock, time::Duration};

use parking_lot::Mutex;
use redis::Script;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::fading::Fading;
use crate::gate::{
    Quota,
    redis::{Aside, SharedRedis},
};

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("rate_limit.lua")));

/// So many in a row after a quiet time; a used-up burst has grown back after the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub window: Duration,
}

impl Rate {
    /// The time in which one request leaks out of the bucket.
    fn each(&self) -> Duration {
        (self.window / self.burst.max(1)).max(Duration::from_micros(1))
    }

    fn quota(&self, policy: &'static str, retry_after: Duration) -> Quota {
        Quota { policy, burst: self.burst, window: self.window, retry_after }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:?}", self.burst, self.window)
    }
}

/// A bucket's name, short and without anybody's text in it.
type Name = [u8; 12];

fn name_of(policy: &str, who: &str) -> Name {
    let mut hash = Sha256::new();
    hash.update(policy);
    hash.update([0]);
    hash.update(who);
    hash.finalize()[..12].try_into().expect("a digest is longer")
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |text, byte| text + &format!("{byte:02x}"))
}

#[derive(Debug)]
pub struct RateLimiter {
    shared: Option<SharedRedis>,
    /// The node's own buckets, each until it will be empty.
    local: Mutex<Fading<Name, Instant, ()>>,
}

impl RateLimiter {
    /// Counts together with all nodes that share `redis`; a node by itself remembers `most_local` buckets.
    pub fn new(redis: Option<SharedRedis>, most_local: usize) -> Self {
        Self { shared: redis, local: Mutex::new(Fading::new(most_local)) }
    }

    /// Counts a request of `who` under this policy, or says when it may come again.
    pub async fn admit(&self, policy: &'static str, rate: &Rate, who: &str) -> Result<(), Quota> {
        let name = name_of(policy, who);
        let wait = match self.take_shared(rate, name).await {
            Ok(wait) => wait,
            Err(_) => self.take_locally(rate, name, Instant::now()),
        };
        if wait.is_zero() {
            return Ok(());
        }
        metrics::counter!("holdfast_rate_limited_total", "policy" => policy).increment(1);
        Err(rate.quota(policy, wait))
    }

    async fn take_shared(&self, rate: &Rate, name: Name) -> Result<Duration, Aside> {
        let redis = self.shared.as_ref().ok_or(Aside::OutOfReach)?;
        let mut take = TAKE.prepare_invoke();
        take.key(format!("hf:rate:{{{}}}", hex(&name))).arg(rate.each().as_micros() as u64).arg(rate.burst);
        // Boxed with its timer: every request carries room for this walk, and few take it.
        Box::pin(redis.invoke::<u64>(&take)).await.map(Duration::from_micros)
    }

    fn take_locally(&self, rate: &Rate, name: Name, now: Instant) -> Duration {
        let each = rate.each();
        let mut local = self.local.lock();
        let known = local.end_of(&name);
        let empty_at = known.unwrap_or(now).max(now) + each;
        let wait = empty_at.saturating_duration_since(now + each * rate.burst);
        // With more busy callers than a node may remember, the rest is let through: the ledger bounds itself.
        if wait.is_zero() && (known.is_some() || local.has_room(now)) {
            local.keep(name, empty_at, ());
        }
        wait
    }
}

/// What is wrong with the text of a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be so many in a while, such as 600/1m or 20/1s")]
pub struct NoRate;

impl FromStr for Rate {
    type Err = NoRate;

    /// `600/1m`: six hundred in a row, and as many again after a minute.
    fn from_str(text: &str) -> Result<Self, NoRate> {
        let (burst, window) = text.split_once('/').ok_or(NoRate)?;
        let burst =
            burst.trim().parse().ok().filter(|burst| (1..=1_000_000).contains(burst)).ok_or(NoRate)?;
        let window = window.trim();
        let unit = window.find(|c: char| !c.is_ascii_digit()).ok_or(NoRate)?;
        let number: u64 =
            window[..unit].parse().ok().filter(|number| (1..=86_400).contains(number)).ok_or(NoRate)?;
        let seconds = match &window[unit..] {
            "s" => number,
            "m" => number * 60,
            "h" => number * 3600,
            _ => return Err(NoRate),
        };
        Ok(Self { burst, window: Duration::from_secs(seconds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        let rate = |burst, s| Ok(Rate { burst, window: Duration::from_secs(s) });
        assert_eq!("600/1m".parse(), rate(600, 60));
        assert_eq!("20/1s".parse(), rate(20, 1));
        for bad in ["", "20", "0/1s", "20/s", "20/0s", "20/1d", "-1/1s", "1/99999999999999999999s"] {
            assert_eq!(bad.parse::<Rate>(), Err(NoRate), "{bad}");
        }
    }

    #[test]
    fn a_burst_then_the_steady_pace() {
        let limiter = RateLimiter::new(None, 10);
        let rate = Rate { burst: 3, window: Duration::from_secs(3) };
        let begin = Instant::now();
        let ask =
            |ms| limiter.take_locally(&rate, name_of("test", "alice"), begin + Duration::from_millis(ms));
        for _ in 0..3 {
            assert_eq!(ask(0), Duration::ZERO);
        }
        assert_eq!(ask(0), Duration::from_secs(1));
        assert_eq!(ask(999), Duration::from_millis(1), "a refused request costs nothing");
        assert_eq!(ask(1000), Duration::ZERO);
        assert_eq!(ask(1000), Duration::from_secs(1));
    }

    #[tokio::test]
    async fn it_remembers_no_more_than_it_may() {
        let limiter = RateLimiter::new(None, 2);
        let rate = Rate { burst: 1, window: Duration::from_secs(3600) };
        for who in 0..1000 {
            assert_eq!(limiter.admit("test", &rate, &who.to_string()).await, Ok(()));
        }
        assert!(limiter.local.lock().len() <= 2);
    }
}
