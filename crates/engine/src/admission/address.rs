//! Whose address it is: a whole IPv4 address, or the first half of an IPv6 one.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

/// What one customer of an access provider speaks from. An IPv6 customer has a /64 or more to choose addresses from, so
/// one of those counts as one; an IPv4 address may hide many people, so limits on it must be generous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNet(IpAddr);

impl ClientNet {
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            v4 => v4,
        })
    }
}

impl fmt::Display for ClientNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_customer_is_one_whatever_address_they_pick() {
        let net = |text: &str| ClientNet::of(text.parse().unwrap()).to_string();
        assert_eq!(net("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!(net("2001:db8:1:2::1"), "2001:db8:1:2::/64");
        assert_eq!(net("203.0.113.9"), "203.0.113.9");
        assert_eq!(net("::ffff:203.0.113.9"), "203.0.113.9", "IPv4 in disguise");
    }
}
