//! The doors: where a request comes from, and whether that caller asks too often.
//!
//! Only what may change something is counted; reads are bounded by the server's other limits. A key is counted by its
//! name, and not at all unless the operator sets a limit for keys; a browser by its session and by its address.
//!
//! The address is the connection's own unless the operator says which proxies stand before this server: whatever else
//! `X-Forwarded-For` says was written by somebody we know nothing about.

use std::{
    net::IpAddr,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use holdfast_domain::Actor;
use holdfast_engine::admission::{ClientNet, Rate, RateLimiter};

use crate::problem::Problem;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How often each sort of caller may change something; `None` for as often as it likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimits {
    pub per_address: Option<Rate>,
    /// Of those, new tickets of waiting rooms.
    pub tickets_per_address: Option<Rate>,
    pub per_holder: Option<Rate>,
    pub per_key: Option<Rate>,
}

impl Default for RateLimits {
    /// An address may be a whole campus, so it gets much; a session is one browser. A ticket is a lot in a draw, and a
    /// campus of browsers asks for them in minutes, where one who collects lots would in seconds.
    fn default() -> Self {
        let rate = |burst, s| Some(Rate { burst, window: std::time::Duration::from_secs(s) });
        Self {
            per_address: rate(1_000, 10),
            tickets_per_address: rate(60, 10),
            per_holder: rate(60, 10),
            per_key: None,
        }
    }
}

/// The proxies before this server, in one of two ways of telling them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TrustedProxies {
    /// None: the connection's address is the client's.
    #[default]
    None,
    /// So many of them, one behind the other.
    Hops(usize),
    /// Those that speak from these networks.
    Within(Vec<Network>),
}

/// An address, or all addresses that begin alike: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    bits: u8,
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RULE: &str = "must be a network, such as 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32";
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits.parse::<u8>().map_err(|_| RULE)?)),
            None => (text, None),
        };
        let base: IpAddr = base.trim().parse().map_err(|_| RULE)?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(RULE);
        }
        Ok(Self { base, bits })
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        // Shifting by the whole width is not a number: no bits in common is always true.
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                self.bits == 0 || (base.to_bits() ^ address.to_bits()) >> (32 - self.bits) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                self.bits == 0 || (base.to_bits() ^ address.to_bits()) >> (128 - self.bits) == 0
            }
            _ => false,
        }
    }
}

/// Where the connection of a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub IpAddr);

#[derive(Debug)]
pub(crate) struct Doors {
    pub limiter: Arc<RateLimiter>,
    pub limits: RateLimits,
    pub proxies: TrustedProxies,
    warned: AtomicBool,
}

impl Doors {
    pub(crate) fn new(limiter: Arc<RateLimiter>, limits: RateLimits, proxies: TrustedProxies) -> Self {
        Self { limiter, limits, proxies, warned: AtomicBool::new(false) }
    }

    /// Lets a request that may change something in, or says when to come back.
    pub(crate) async fn knock(&self, actor: &Actor, address: Option<ClientNet>) -> Result<(), Problem> {
        let RateLimits { per_address, per_holder, per_key, .. } = &self.limits;
        match actor {
            Actor::Key(name) => self.count("key", per_key.as_ref(), || name.to_string()).await,
            Actor::Session(holder) => {
                if let Some(address) = address {
                    self.count("address", per_address.as_ref(), || address.to_string()).await?;
                }
                self.count("holder", per_holder.as_ref(), || holder.to_string()).await
            }
            Actor::System => Ok(()),
        }
    }

    /// Lets somebody have a new ticket of a waiting room: sessions are cheap, and each of them has one.
    pub(crate) async fn admit_ticket(&self, address: Option<ClientNet>) -> Result<(), Problem> {
        let Some(address) = address else { return Ok(()) };
        self.count("tickets", self.limits.tickets_per_address.as_ref(), || address.to_string()).await
    }

    async fn count(
        &self,
        policy: &'static str,
        rate: Option<&Rate>,
        who: impl FnOnce() -> String,
    ) -> Result<(), Problem> {
        let Some(rate) = rate else { return Ok(()) };
        self.limiter.admit(policy, rate, &who()).await.map_err(Problem::too_many)
    }

    /// Whose address the request comes from; `None` where nobody can tell.
    pub(crate) fn client(&self, peer: Option<Peer>, headers: &HeaderMap) -> Option<ClientNet> {
        let Peer(peer) = peer?;
        let client = match &self.proxies {
            TrustedProxies::None => {
                self.warn_of_proxy(peer, headers);
                peer
            }
            TrustedProxies::Hops(hops) => behind_hops(peer, *hops, headers)?,
            TrustedProxies::Within(networks) => behind_networks(peer, networks, headers),
        };
        Some(ClientNet::of(client))
    }

    /// Whether this peer passes on what others ask: what one of them is told does not concern the rest. A private one is
    /// believed about that without being named: whoever claims it gains no more than by another connection.
    pub(crate) fn is_proxy(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        headers.contains_key(FORWARDED_FOR)
            && match &self.proxies {
                TrustedProxies::None => is_private(peer),
                TrustedProxies::Hops(_) => true,
                TrustedProxies::Within(networks) => networks.iter().any(|network| network.contains(peer)),
            }
    }

    /// Perhaps a proxy that nobody told us about: then all its clients count as one, and one of them can use up what is for
    /// all. Perhaps a client that came by address translation, where every peer is private, and writes the header itself:
    /// were it not counted for that, it would choose whether it is. The two look alike, so the safe one is assumed, and
    /// the operator told.
    fn warn_of_proxy(&self, peer: IpAddr, headers: &HeaderMap) {
        let is_suspect = is_private(peer) && headers.contains_key(FORWARDED_FOR);
        if is_suspect && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(%peer, "a private peer sends X-Forwarded-For: if a proxy stands before this server, name it in \
                trusted_proxies or trusted_hops, or else all its clients are limited as one address");
        }
    }
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// The addresses that were forwarded, the nearest first. What is no address ends the list: nothing before it counts.
fn forwarded(headers: &HeaderMap) -> Vec<IpAddr> {
    // Byte by byte: what a client wrote on the left may be no text, and must not hide what a proxy wrote behind it.
    let lines = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes);
    let entries: Vec<&[u8]> = lines.flat_map(|line| line.split(|byte| *byte == b',')).collect();
    let address = |entry: &&[u8]| address_in(str::from_utf8(entry).ok()?.trim());
    entries.iter().rev().map_while(address).collect()
}

/// `203.0.113.7`, and the forms with a port that some proxies write.
fn address_in(text: &str) -> Option<IpAddr> {
    let plain =
        text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(text, |(inside, _)| inside);
    plain.parse().ok().or_else(|| text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip()))
}

/// The nearest proxy is the peer, and each wrote down whom it heard from: with one proxy the last entry is the client.
/// Whoever comes by fewer proxies than that did not come through them.
fn behind_hops(peer: IpAddr, hops: usize, headers: &HeaderMap) -> Option<IpAddr> {
    if hops == 0 {
        return Some(peer);
    }
    Some(forwarded(headers).get(hops - 1).copied().unwrap_or(peer))
}

/// From the peer outwards, the first that is no proxy of ours.
fn behind_networks(peer: IpAddr, networks: &[Network], headers: &HeaderMap) -> IpAddr {
    let ours = |address: &IpAddr| networks.iter().any(|network| network.contains(*address));
    if !ours(&peer) {
        return peer;
    }
    let chain = forwarded(headers);
    chain.iter().copied().find(|address| !ours(address)).or_else(|| chain.last().copied()).unwrap_or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: TrustedProxies, peer: &str, forwarded: &[&str]) -> Option<String> {
        let doors = Doors::new(Arc::new(RateLimiter::new(None, 1)), RateLimits::default(), proxies);
        let line = |line: &&str| (FORWARDED_FOR, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        let headers = forwarded.iter().map(line).collect();
        doors.client(Some(Peer(peer.parse().unwrap())), &headers).map(|client| client.to_string())
    }

    fn within(networks: &str) -> TrustedProxies {
        TrustedProxies::Within(networks.split(',').map(|text| text.parse().unwrap()).collect())
    }

    #[test]
    fn without_proxies_the_header_is_anybodys_word() {
        let seen = client(TrustedProxies::None, "203.0.113.7", &["198.51.100.1"]);
        assert_eq!(seen.as_deref(), Some("203.0.113.7"));
    }

    /// Behind address translation every peer is private, and the header is the client's own.
    #[test]
    fn nobody_writes_themselves_out_of_the_count() {
        for peer in ["127.0.0.1", "172.17.0.1"] {
            for forwarded in [&["198.51.100.1"][..], &["no address"], &[]] {
                assert_eq!(client(TrustedProxies::None, peer, forwarded).as_deref(), Some(peer));
            }
        }
    }

    #[test]
    fn a_proxy_is_one_that_forwards_and_is_believed() {
        let is_proxy = |proxies, peer: &str, forwarded: &[&str]| {
            let doors = Doors::new(Arc::new(RateLimiter::new(None, 1)), RateLimits::default(), proxies);
            let headers = forwarded.iter().map(|line| (FORWARDED_FOR, line.parse().unwrap())).collect();
            doors.is_proxy(peer.parse().unwrap(), &headers)
        };
        let forwarded = ["198.51.100.1"];
        assert!(is_proxy(within("10.0.0.0/8"), "10.0.0.1", &forwarded));
        assert!(is_proxy(TrustedProxies::None, "127.0.0.1", &forwarded));
        assert!(!is_proxy(TrustedProxies::None, "127.0.0.1", &[]));
        assert!(!is_proxy(TrustedProxies::None, "203.0.113.7", &forwarded), "anybody can write a header");
        assert!(!is_proxy(within("10.0.0.0/8"), "203.0.113.7", &forwarded));
    }

    #[test]
    fn the_leftmost_address_is_never_believed() {
        let forged = ["1.1.1.1, 203.0.113.7"];
        assert_eq!(client(TrustedProxies::Hops(1), "10.0.0.1", &forged).as_deref(), Some("203.0.113.7"));
        assert_eq!(client(within("10.0.0.0/8"), "10.0.0.1", &forged).as_deref(), Some("203.0.113.7"));
    }

    #[test]
    fn proxies_one_behind_the_other_are_seen_through() {
        let lines = ["1.1.1.1, 203.0.113.7", "10.0.0.2"];
        assert_eq!(client(TrustedProxies::Hops(2), "10.0.0.1", &lines).as_deref(), Some("203.0.113.7"));
        assert_eq!(client(within("10.0.0.0/8"), "10.0.0.1", &lines).as_deref(), Some("203.0.113.7"));
        let bypassed = client(TrustedProxies::Hops(2), "203.0.113.9", &["1.1.1.1"]);
        assert_eq!(bypassed.as_deref(), Some("203.0.113.9"), "fewer proxies than there are");
        let stranger = client(within("10.0.0.0/8"), "203.0.113.9", &["1.1.1.1"]);
        assert_eq!(stranger.as_deref(), Some("203.0.113.9"), "no proxy of ours");
    }

    #[test]
    fn nonsense_in_the_header_ends_it() {
        let seen = client(within("10.0.0.0/8"), "10.0.0.1", &["203.0.113.7, unknown, 10.0.0.2"]);
        assert_eq!(seen.as_deref(), Some("10.0.0.2"));
        assert_eq!(
            client(TrustedProxies::Hops(1), "10.0.0.1", &["[2001:db8::1]:443"]).as_deref(),
            Some("2001:db8::/64")
        );
        assert_eq!(
            client(TrustedProxies::Hops(1), "10.0.0.1", &["203.0.113.7:99"]).as_deref(),
            Some("203.0.113.7")
        );
    }

    #[test]
    fn what_is_no_text_hides_nothing_that_a_proxy_wrote_behind_it() {
        let forged = ["1.1.1.\u{fc}, 203.0.113.7"];
        assert_eq!(client(TrustedProxies::Hops(1), "10.0.0.1", &forged).as_deref(), Some("203.0.113.7"));
        assert_eq!(client(within("10.0.0.0/8"), "10.0.0.1", &forged).as_deref(), Some("203.0.113.7"));
    }

    #[test]
    fn networks_are_told_by_their_first_bits() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.1.1") && !contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("0.0.0.0/0", "203.0.113.7") && contains("192.0.2.7", "192.0.2.7"));
        assert!(contains("2001:db8::/32", "2001:db8:9::1") && !contains("2001:db8::/32", "2001:db9::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.1.1"), "IPv4 in disguise");
        for bad in ["", "10.0.0.0/33", "10.0.0/8", "a/8", "10.0.0.0/x"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
