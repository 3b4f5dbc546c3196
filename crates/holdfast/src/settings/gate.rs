//! The gate: which Redis refuses before PostgreSQL is asked, how, and within which bounds.

use std::{fmt, path::Path, time::Duration};

use holdfast_engine::{
    gate::redis::{self, Authority, LockSettings, RateSettings, inspect},
    strategy::{GateNeed, Strategy},
};

use super::{
    address::without_password,
    check::{DAY, HOUR, MANY, MS, Reader, SECOND},
};

#[derive(Clone)]
pub struct Gate {
    pub strategy: redis::Strategy,
    /// As `--gate` names them.
    pub addresses: String,
    pub settings: redis::Settings,
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.strategy, without_password(&self.addresses))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may carry a password.
        write!(f, "Gate({self}, {:?})", self.settings)
    }
}

impl Reader<'_> {
    /// The gate of a strategy, where one is named.
    pub(super) fn gate(&mut self, strategy: Strategy) -> Option<Gate> {
        let settings = self.gate_settings();
        let addresses = self.given("gate")?;
        let (GateNeed::Must(name) | GateNeed::May(name)) = strategy.gate() else {
            let rule = format!(
                "{strategy} decides in memory, and a gate in Redis would only slow it; leave --gate out"
            );
            self.fault("gate", rule);
            return None;
        };
        if let Err(rule) = inspect::address(&addresses, settings.authority.as_ref()) {
            self.fault("gate", rule);
        }
        settings.faults().into_iter().for_each(|rule| self.fault("gate", rule));
        match name.parse() {
            Ok(strategy) => {
                // An address that is none has been told of already.
                if let Err(no @ redis::OpenError::TooFew(_)) =
                    redis::enough(strategy, &addresses, settings.authority.as_ref())
                {
                    self.fault("gate", no.to_string());
                }
                Some(Gate { strategy, addresses, settings })
            }
            Err(no) => {
                self.fault("strategy", redis::OpenError::to_string(&no));
                None
            }
        }
    }

    fn authority(&mut self) -> Option<Authority> {
        let path = self.given("gate_ca")?;
        Authority::read(Path::new(&path)).map_err(|rule| self.fault("gate_ca", rule)).ok()
    }

    fn gate_settings(&mut self) -> redis::Settings {
        redis::Settings {
            authority: self.authority(),
            timeout: self.duration("gate_timeout", MS..=SECOND),
            connect_timeout: self.duration("gate_connect_timeout", MS..=HOUR),
            failures_to_open: self.count("gate_failures", 1..=MANY) as u32,
            trials: self.count("gate_trials", 1..=MANY) as u32,
            watch_every: self.duration("gate_watch_every", MS..=SECOND),
            epoch_believed: self.duration("gate_epoch_believed", MS..=HOUR),
            pass_wait: self.duration("gate_pass_wait", Duration::ZERO..=SECOND),
            pass_live: self.duration("gate_pass_live", MS..=HOUR),
            end_remembered: self.duration("gate_end_remembered", MS..=DAY),
            clock_slack: self.duration("gate_clock_slack", Duration::ZERO..=HOUR),
            rebuild_lease: self.duration("gate_rebuild_lease", SECOND..=HOUR),
            rebuilds_at_once: self.count("gate_rebuilds_at_once", 1..=1_000),
            renew_every: self.duration("gate_renew_every", SECOND..=DAY),
            slate_kept: self.duration("gate_slate_kept", SECOND..=365 * DAY),
            check_one_in: self.count("gate_check_one_in", 0..=1_000_000_000) as u64,
            check_gap: self.duration("gate_check_gap", Duration::ZERO..=HOUR),
            offer_believed: self.duration("gate_offer_believed", MS..=HOUR),
            lock: LockSettings {
                live: self.duration("gate_lock_live", MS..=HOUR),
                renewals: self.count("gate_lock_renewals", 0..=1_000) as u32,
                wait: self.duration("gate_lock_wait", Duration::ZERO..=HOUR),
                pause: (
                    self.duration("gate_lock_pause_min", MS..=HOUR),
                    self.duration("gate_lock_pause_max", MS..=HOUR),
                ),
                drift_percent: self.count("gate_lock_drift", 0..=49) as u32,
            },
            rate: RateSettings {
                burst: self.count("gate_rate_burst", 1..=MANY) as u32,
                per_second: self.count("gate_rate_per_second", 1..=MANY) as u32,
                local_holders: self.count("gate_rate_holders", 1..=100_000_000),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::check::tests::check;

    const LEDGER: (&str, &str) = ("ledger", "postgres://h/db");
    const GATE: (&str, &str) = ("gate", "redis://:secret@h:6379");

    #[test]
    fn a_gate_is_the_one_that_the_strategy_names() {
        let gate = check(&[LEDGER, GATE]).unwrap().gate.unwrap();
        assert_eq!(gate.to_string(), "lua at redis://:********@h:6379");
        assert_eq!(format!("{:?}", gate.settings), format!("{:?}", redis::Settings::default()));
        assert!(!format!("{gate:?}").contains("secret"));
        let gate = check(&[LEDGER, GATE, ("strategy", "bitmap")]).unwrap().gate.unwrap();
        assert_eq!(gate.strategy.as_str(), "bitmap");
    }

    #[test]
    fn what_is_no_gate_is_refused() {
        let refused = |given: &[(&'static str, &str)]| check(given).unwrap_err()[0].rule.clone();
        assert!(refused(&[GATE]).contains("leave --gate out"));
        assert!(refused(&[LEDGER, ("gate", "http://:secret@h")]).contains("must be redis://"));
        assert!(refused(&[LEDGER, ("gate", "rediss://:secret@h/#insecure")]).contains("gate_ca"));
        assert!(refused(&[LEDGER, GATE, ("gate_ca", "/nowhere/ca.pem")]).contains("cannot be read"));
        assert!(refused(&[LEDGER, GATE, ("gate_pass_live", "10ms")]).contains("a pass must live"));
        assert!(refused(&[LEDGER, GATE, ("strategy", "redlock")]).contains("a majority needs three"));
    }
}
