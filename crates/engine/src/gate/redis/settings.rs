//! Every bound of the Redis gates, with its default.

use std::time::Duration;

use super::dial::Authority;
use crate::admission::Rate;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Who vouches for servers that are spoken to by TLS, where it is none of those that this machine trusts.
    pub authority: Option<Authority>,
    /// How long one command may take before the gate steps aside.
    pub timeout: Duration,
    /// How long making a connection may take. Nobody waits for it: it happens behind the sale.
    pub connect_timeout: Duration,
    /// Failures in a row after which Redis is left alone.
    pub failures_to_open: u32,
    /// Requests that may try at once when Redis seems to be back.
    pub trials: u32,
    /// How often the servers and the epoch are looked at, and how soon a broken connection is made again.
    pub watch_every: Duration,
    /// How long the epoch last read may be believed.
    pub epoch_believed: Duration,
    /// How long a request may wait for others that are on their way to the ledger with what it wants.
    pub pass_wait: Duration,
    /// How long a pass is remembered that nobody settles.
    pub pass_live: Duration,
    /// How long the end of a claim is remembered against late news of its beginning.
    pub end_remembered: Duration,
    /// The most that the clocks of the nodes and of the ledger may differ: a claim this near to its end is in nobody's
    /// way.
    pub clock_slack: Duration,
    /// How long one node may take for the rebuild of one offer before another may begin.
    pub rebuild_lease: Duration,
    /// Offers that one node rebuilds at the same time.
    pub rebuilds_at_once: usize,
    /// How often a slate in use is read anew from the books, so that nothing wrong in it lasts.
    pub renew_every: Duration,
    /// How long an unused slate is kept.
    pub slate_kept: Duration,
    /// One refusal in so many is put to the ledger all the same, to see whether it was right; 0 for none.
    pub check_one_in: u64,
    /// And no two of them nearer to each other than this: a crowd that is refused must not meet at the ledger after all.
    pub check_gap: Duration,
    /// How long what is known of an offer's shape is believed.
    pub offer_believed: Duration,
    pub lock: LockSettings,
    pub rate: RateSettings,
}

/// For `lock` and `redlock`.
#[derive(Debug, Clone)]
pub struct LockSettings {
    /// How long a lock lives unless it is renewed.
    pub live: Duration,
    /// How often a holder that is still busy may renew it; afterwards it runs out.
    pub renewals: u32,
    /// How long to try for busy locks.
    pub wait: Duration,
    /// The shortest and the longest pause between two tries.
    pub pause: (Duration, Duration),
    /// How much of a lock's life the servers' clocks may be apart by, in parts of a hundred (`redlock`).
    pub drift_percent: u32,
}

/// For `layered`: requests per holder.
#[derive(Debug, Clone)]
pub struct RateSettings {
    /// Requests in a row after a quiet time.
    pub burst: u32,
    /// Requests a second in the long run.
    pub per_second: u32,
    /// Holders that a node remembers by itself while Redis is away.
    pub local_holders: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            authority: None,
            timeout: Duration::from_millis(50),
            connect_timeout: Duration::from_millis(500),
            failures_to_open: 3,
            trials: 8,
            watch_every: Duration::from_millis(250),
            epoch_believed: Duration::from_secs(3),
            pass_wait: Duration::from_millis(40),
            pass_live: Duration::from_secs(2),
            end_remembered: Duration::from_secs(60),
            clock_slack: Duration::from_millis(100),
            rebuild_lease: Duration::from_secs(10),
            rebuilds_at_once: 2,
            renew_every: Duration::from_secs(20),
            slate_kept: Duration::from_secs(24 * 3600),
            check_one_in: 256,
            check_gap: Duration::from_millis(20),
            offer_believed: Duration::from_secs(1),
            lock: LockSettings::default(),
            rate: RateSettings::default(),
        }
    }
}

impl Default for LockSettings {
    fn default() -> Self {
        Self {
            live: Duration::from_secs(2),
            renewals: 5,
            wait: Duration::from_millis(500),
            pause: (Duration::from_millis(2), Duration::from_millis(20)),
            drift_percent: 1,
        }
    }
}

impl RateSettings {
    pub(super) fn rate(&self) -> Rate {
        Rate { burst: self.burst, window: Duration::from_secs(1) * self.burst / self.per_second }
    }
}

impl Default for RateSettings {
    fn default() -> Self {
        Self { burst: 40, per_second: 20, local_holders: 100_000 }
    }
}

impl Settings {
    /// What cannot work, all of it, in words.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut must = |holds: bool, fault: &str| {
            if !holds {
                faults.push(fault.to_owned());
            }
        };
        let second = Duration::from_secs(1);
        must(
            !self.timeout.is_zero() && self.timeout <= second,
            "the gate's timeout must be over 0 and at most 1 s",
        );
        must(!self.connect_timeout.is_zero(), "the gate's connect timeout must be over 0");
        must(self.failures_to_open > 0, "the gate must be allowed one failure");
        must(self.trials > 0, "the gate must be allowed one trial");
        must(
            !self.watch_every.is_zero() && self.watch_every <= second,
            "the gate's servers must be looked at at least once a second",
        );
        must(
            self.epoch_believed >= 2 * self.watch_every,
            "an epoch must be believed for at least two looks at the servers",
        );
        must(self.pass_wait <= second, "the wait for others must be at most 1 s");
        must(self.pass_live >= 4 * self.timeout, "a pass must live for at least four timeouts");
        must(self.rebuilds_at_once > 0, "the gate must be allowed one rebuild");
        must(self.rebuild_lease >= second, "a rebuild must be allowed 1 s");
        must(self.renew_every >= second, "a slate must be believed for at least 1 s");
        must(self.lock.live >= 4 * self.timeout, "a lock must live for at least four timeouts");
        must(self.lock.pause.0 <= self.lock.pause.1, "the pause between tries must not end before it begins");
        must(self.lock.drift_percent < 50, "the drift must be under 50 percent");
        must(self.rate.burst > 0 && self.rate.per_second > 0, "the rate limit must let one request through");
        must(self.rate.local_holders > 0, "the rate limit must remember one holder");
        faults
    }
}
