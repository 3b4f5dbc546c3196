//! Where Redis is: what `--gate` names.
//!
//! `redis://host:port[,redis://host:port…]` for one server, several independent ones or members of a Cluster, which
//! say so themselves; `redis+sentinel://host:port,host:port/name` for a master that Sentinels know by name.

use redis::{ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};

use super::OpenError;

const SENTINEL: &str = "redis+sentinel://";
const SENTINEL_PORT: u16 = 26379;

#[derive(Debug, Clone)]
pub(super) enum Address {
    /// One server, or any members of one Cluster.
    Servers(Vec<ConnectionInfo>),
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        master: String,
        login: RedisConnectionInfo,
    },
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, OpenError> {
        match text.strip_prefix(SENTINEL) {
            Some(rest) => sentinel(text, rest),
            None => servers(text).map(Self::Servers),
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

fn servers(text: &str) -> Result<Vec<ConnectionInfo>, OpenError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let servers: Vec<_> = parts.map(info).collect::<Result<_, _>>()?;
    if servers.is_empty() {
        Err(OpenError::Address { address: text.into(), why: "it is empty".into() })
    } else {
        Ok(servers)
    }
}

fn info(address: &str) -> Result<ConnectionInfo, OpenError> {
    let bad = |why: redis::RedisError| OpenError::Address {
        address: without_password(address),
        why: why.to_string(),
    };
    address.into_connection_info().map_err(bad)
}

fn sentinel(whole: &str, rest: &str) -> Result<Address, OpenError> {
    let bad = |why: &str| OpenError::Address { address: without_password(whole), why: why.into() };
    let (hosts, master) =
        rest.split_once('/').ok_or_else(|| bad("the master's name is missing after a /"))?;
    let (login, hosts) = hosts.rsplit_once('@').map_or(("", hosts), |(login, hosts)| (login, hosts));
    if master.is_empty() {
        return Err(bad("the master's name is missing after a /"));
    }
    let with_port = |host: &str| match host.contains(':') {
        true => format!("redis://{host}"),
        false => format!("redis://{host}:{SENTINEL_PORT}"),
    };
    let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
    let sentinels: Vec<_> = hosts.map(|host| info(&with_port(host))).collect::<Result<_, _>>()?;
    if sentinels.is_empty() {
        return Err(bad("no Sentinel is named"));
    }
    let login = match login {
        "" => RedisConnectionInfo::default(),
        login => info(&format!("redis://{login}@master"))?.redis_settings().clone(),
    };
    Ok(Address::Sentinel { sentinels, master: master.to_owned(), login })
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
        let count = |text: &str| match Address::parse(text).unwrap() {
            Address::Servers(servers) => (servers.len(), String::new()),
            Address::Sentinel { sentinels, master, .. } => (sentinels.len(), master),
        };
        assert_eq!(count("redis://127.0.0.1:6379"), (1, String::new()));
        assert_eq!(count("redis://a:1, redis://b:2,redis://c:3"), (3, String::new()));
        assert_eq!(count("redis+sentinel://a,b:7000/shop"), (2, "shop".to_owned()));
        assert_eq!(count("redis+sentinel://:secret@a/shop"), (1, "shop".to_owned()));
        for bad in
            ["", ",", "http://a", "redis+sentinel://a", "redis+sentinel:///shop", "redis+sentinel://a/"]
        {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_password_stays_out_of_messages() {
        let fault = Address::parse("http://user:secret@host/").unwrap_err().to_string();
        assert!(!fault.contains("secret"), "{fault}");
    }
}
