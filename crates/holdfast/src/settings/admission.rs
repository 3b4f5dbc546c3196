//! Admission: how often and how much a caller may ask, and which proxies are believed about where a caller is.

use std::{sync::Arc, time::Duration};

use holdfast_engine::{
    admission::{Rate, hoarding, waiting_room},
    clock::Clock,
    gate::redis::{self, OpenError, SharedRedis},
};
use holdfast_server::{RateLimits, TrustedProxies};

use super::{
    Settings,
    check::{DAY, MANY, MS, Reader, SECOND},
};

#[derive(Debug, Clone)]
pub struct Admission {
    pub rates: RateLimits,
    pub proxies: TrustedProxies,
    pub hoarding: hoarding::Settings,
    pub rooms: waiting_room::Settings,
    /// Callers that a node counts by itself.
    pub remembered: usize,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            rates: RateLimits::default(),
            proxies: TrustedProxies::default(),
            hoarding: hoarding::Settings::default(),
            rooms: waiting_room::Settings::default(),
            remembered: 100_000,
        }
    }
}

impl Settings {
    /// The Redis of the gate, shared for counting too.
    pub fn shared_redis(&self, clock: &Arc<dyn Clock>) -> Result<Option<SharedRedis>, OpenError> {
        let Some(gate) = &self.gate else { return Ok(None) };
        let apart = gate.strategy == redis::Strategy::Redlock;
        SharedRedis::keep(&gate.addresses, &gate.settings, apart, Arc::clone(clock)).map(Some)
    }
}

impl Reader<'_> {
    pub(super) fn admission(&mut self) -> Admission {
        let remembered = self.count("callers_remembered", 1..=100_000_000);
        Admission {
            rates: RateLimits {
                per_address: self.rate("rate_per_address"),
                tickets_per_address: self.rate("rate_tickets_per_address"),
                per_holder: self.rate("rate_per_holder"),
                per_key: self.rate("rate_per_key"),
            },
            proxies: self.proxies(),
            hoarding: hoarding::Settings {
                window: self.duration("unconfirmed_window", SECOND..=DAY),
                per_holder: self.count("unconfirmed_per_holder", 0..=MANY) as u32,
                per_address: self.count("unconfirmed_per_address", 0..=MANY) as u32,
                share_per_address: self.count("unconfirmed_share_per_address", 0..=100) as u32,
                remembered,
            },
            rooms: waiting_room::Settings {
                // What nodes tell each other of who waits is believed for four seconds, and told once a turn.
                turn_every: self.duration("room_turn_every", 10 * MS..=SECOND),
                presences: self.count("room_presences", 1..=100_000_000),
                front: self.count("room_front", 1..=100_000),
                tickets: self.count("room_tickets", 1..=100_000_000) as u32,
                queue: self.count("room_queue", 1..=MANY),
            },
            remembered,
        }
    }

    fn rate(&mut self, key: &'static str) -> Option<Rate> {
        self.parsed(key, |text| match text {
            "off" => Ok(None),
            text => match text.parse::<Rate>() {
                Ok(rate) if rate.window >= Duration::from_secs(1) => Ok(Some(rate)),
                _ => Err("must be so many in a while, such as 600/1m or 20/1s, or off".into()),
            },
        })
    }

    fn proxies(&mut self) -> TrustedProxies {
        let hops = self.count("trusted_hops", 0..=16);
        let networks = self.parsed("trusted_proxies", |text| {
            if text == "none" {
                return Ok(Vec::new());
            }
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| part.parse().map_err(str::to_owned)).collect::<Result<Vec<_>, String>>()
        });
        match (hops, networks.is_empty()) {
            (0, true) => TrustedProxies::None,
            (hops, true) => TrustedProxies::Hops(hops),
            (0, false) => TrustedProxies::Within(networks),
            _ => {
                self.fault(
                    "trusted_hops",
                    "says the same as trusted_proxies in another way; set one of them",
                );
                TrustedProxies::None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::check::tests::check;

    #[test]
    fn proxies_are_told_in_one_way() {
        let proxies =
            |given: &[(&'static str, &str)]| check(given).map(|settings| settings.admission.proxies);
        assert_eq!(proxies(&[]).unwrap(), TrustedProxies::None);
        assert_eq!(proxies(&[("trusted_hops", "2")]).unwrap(), TrustedProxies::Hops(2));
        let networks = proxies(&[("trusted_proxies", "10.0.0.0/8, ::1")]).unwrap();
        assert!(matches!(networks, TrustedProxies::Within(networks) if networks.len() == 2));
        assert!(proxies(&[("trusted_proxies", "10.0.0.0/99")]).is_err());
        assert!(proxies(&[("trusted_proxies", "10.0.0.0/8"), ("trusted_hops", "1")]).is_err());
    }

    #[test]
    fn a_room_takes_its_turn_while_what_nodes_told_is_still_believed() {
        assert!(check(&[("room_turn_every", "1s")]).is_ok());
        assert!(check(&[("room_turn_every", "5s")]).is_err());
    }

    #[test]
    fn a_rate_can_be_turned_off() {
        let rates = check(&[("rate_per_holder", "off"), ("rate_per_key", "50/1s")]).unwrap().admission.rates;
        assert_eq!((rates.per_holder, rates.per_key.map(|rate| rate.burst)), (None, Some(50)));
        assert!(check(&[("rate_per_key", "50")]).is_err());
    }
}
