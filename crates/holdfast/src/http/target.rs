//! The server that is spoken to.

use std::{fmt, net::SocketAddr, str::FromStr};

/// `http://host:port`, as given by `--url`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
}

impl Target {
    /// The host and port, for connecting and for the `Host` header.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V4(v4) => v4.ip().to_string(),
            SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
        };
        Self { host, port: address.port() }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        if url.starts_with("https://") {
            return Err(
                "https is not spoken here; give the http address behind the proxy that ends TLS".into()
            );
        }
        let rest =
            url.strip_prefix("http://").ok_or("must begin with http://, as in http://127.0.0.1:8080")?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) || authority.is_empty() {
            return Err("must be a host and port only, as in http://127.0.0.1:8080".into());
        }
        let (host, port) = match authority.rsplit_once(':') {
            // A colon inside brackets belongs to an IPv6 address.
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("{port:?} is no port"))?)
            }
            _ => (authority, 80),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_paste() {
        let shown = |url: &str| url.parse::<Target>().map(|target| target.to_string());
        assert_eq!(shown("http://127.0.0.1:8080/").unwrap(), "http://127.0.0.1:8080");
        assert_eq!(shown("http://shop.example").unwrap(), "http://shop.example:80");
        assert_eq!(shown("http://[::1]:9000").unwrap(), "http://[::1]:9000");
        assert_eq!(shown("http://[::1]").unwrap(), "http://[::1]:80");
        for bad in ["", "127.0.0.1:8080", "https://a", "http://", "http://a/b", "http://a:x", "http://u@h"] {
            assert!(shown(bad).is_err(), "{bad}");
        }
    }
}
