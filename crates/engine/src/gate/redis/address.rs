//! Where Redis is: what `--gate` names.
//!
//! `redis://host:port[,redis://host:port…]` for one server, several independent ones or members of a Cluster, which
//! say so themselves; `redis+sentinel://host:port,host:port/name` for a master that Sentinels know by name. `rediss` instead
//! of `redis` encrypts.

use redis::{ConnectionInfo, RedisConnectionInfo};

use super::{
    OpenError,
    dial::{self, Authority},
};
use crate::tls::Encryption;

/// How an address of Sentinels begins, and how that of one of them and of the master.
const SENTINELS: [(&str, &str); 2] = [("redis+sentinel://", "redis://"), ("rediss+sentinel://", "rediss://")];
const SENTINEL_PORT: u16 = 26379;

#[derive(Debug, Clone)]
pub(super) enum Address {
    /// One server, or any members of one Cluster.
    Servers(Vec<ConnectionInfo>),
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        master: String,
        login: RedisConnectionInfo,
        /// `redis://` or `rediss://`, which the master is spoken to by as well.
        scheme: &'static str,
    },
}

impl Address {
    pub(super) fn parse(text: &str, authority: Option<&Authority>) -> Result<Self, OpenError> {
        let named = |(prefix, scheme): &(_, &'static str)| Some((text.strip_prefix(*prefix)?, *scheme));
        match SENTINELS.iter().find_map(named) {
            Some((rest, scheme)) => sentinel(text, rest, scheme, authority),
            None => servers(text, authority).map(Self::Servers),
        }
    }

    /// Whether all of it is.
    pub(super) fn is_encrypted(&self) -> bool {
        let (Self::Servers(servers) | Self::Sentinel { sentinels: servers, .. }) = self;
        servers.iter().all(|server| dial::encryption(server) != Encryption::None)
    }

    /// What it is called in logs and metrics.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Servers(servers) => {
                servers.iter().map(|server| server.addr().to_string()).collect::<Vec<_>>().join(",")
            }
            Self::Sentinel { master, .. } => master.clone(),
        }
    }

    /// Each server by itself, for a majority of them.
    pub(super) fn apart(self) -> Vec<Self> {
        match self {
            Self::Servers(servers) => servers.into_iter().map(|one| Self::Servers(vec![one])).collect(),
            Self::Sentinel { .. } => vec![self],
        }
    }
}

fn servers(text: &str, authority: Option<&Authority>) -> Result<Vec<ConnectionInfo>, OpenError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let servers: Vec<_> = parts.map(|part| info(part, authority)).collect::<Result<_, _>>()?;
    if servers.is_empty() {
        Err(OpenError::Address { address: text.into(), why: "it is empty".into() })
    } else {
        Ok(servers)
    }
}

fn info(address: &str, authority: Option<&Authority>) -> Result<ConnectionInfo, OpenError> {
    let bad = |why: redis::RedisError| OpenError::Address {
        address: without_password(address),
        why: why.to_string(),
    };
    dial::server(address, authority).map_err(bad)
}

fn sentinel(
    whole: &str,
    rest: &str,
    scheme: &'static str,
    authority: Option<&Authority>,
) -> Result<Address, OpenError> {
    let bad = |why: &str| OpenError::Address { address: without_password(whole), why: why.into() };
    let (hosts, master) =
        rest.split_once('/').ok_or_else(|| bad("the master's name is missing after a /"))?;
    let (login, hosts) = hosts.rsplit_once('@').map_or(("", hosts), |(login, hosts)| (login, hosts));
    if master.is_empty() {
        return Err(bad("the master's name is missing after a /"));
    }
    let with_port = |host: &str| match host.contains(':') {
        true => format!("{scheme}{host}"),
        false => format!("{scheme}{host}:{SENTINEL_PORT}"),
    };
    let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
    let sentinels: Vec<_> = hosts.map(|host| info(&with_port(host), authority)).collect::<Result<_, _>>()?;
    if sentinels.is_empty() {
        return Err(bad("no Sentinel is named"));
    }
    let login = match login {
        "" => RedisConnectionInfo::default(),
        login => info(&format!("redis://{login}@master"), None)?.redis_settings().clone(),
    };
    Ok(Address::Sentinel { sentinels, master: master.to_owned(), login, scheme })
}

/// For messages: what stands before the @ stays out of logs.
fn without_password(address: &str) -> String {
    match (address.find("://"), address.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 < at => {
            format!("{}…{}", &address[..scheme + 3], &address[at..])
        }
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let count = |text: &str| match Address::parse(text, None).unwrap() {
            Address::Servers(servers) => (servers.len(), String::new()),
            Address::Sentinel { sentinels, master, .. } => (sentinels.len(), master),
        };
        assert_eq!(count("redis://127.0.0.1:6379"), (1, String::new()));
        assert_eq!(count("redis://a:1, redis://b:2,redis://c:3"), (3, String::new()));
        assert_eq!(count("redis+sentinel://a,b:7000/shop"), (2, "shop".to_owned()));
        assert_eq!(count("redis+sentinel://:secret@a/shop"), (1, "shop".to_owned()));
        assert_eq!(count("rediss+sentinel://a,b/shop"), (2, "shop".to_owned()));
        for bad in
            ["", ",", "http://a", "redis+sentinel://a", "redis+sentinel:///shop", "redis+sentinel://a/"]
        {
            assert!(Address::parse(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_has_no_password() {
        let name = |text: &str| Address::parse(text, None).unwrap().name();
        assert_eq!(name("redis://user:secret@a:1,redis://b:2"), "a:1,b:2");
        assert_eq!(name("redis+sentinel://:secret@a,b/shop"), "shop");
    }

    #[test]
    fn what_is_encrypted_is_encrypted_all_the_way() {
        let encrypted = |text: &str| Address::parse(text, None).unwrap().is_encrypted();
        assert!(encrypted("rediss://a,rediss://b"));
        assert!(!encrypted("rediss://a,redis://b"));
        assert!(encrypted("rediss+sentinel://a,b/shop"));
        assert!(!encrypted("redis+sentinel://a/shop"));
    }

    #[test]
    fn a_password_stays_out_of_messages() {
        let fault = Address::parse("http://user:secret@host/", None).unwrap_err().to_string();
        assert!(!fault.contains("secret"), "{fault}");
    }
}
