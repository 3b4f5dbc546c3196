//! How a connection to Redis is made: the one place that knows about TLS. Gates, looks from outside, the lab and the
//! bench come by here.
//!
//! `rediss://` encrypts and checks both certificate and name, against `gate_ca` or else this machine's authorities;
//! `redis://` does neither. There is nothing in between.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo,
    RedisResult, TlsCertificates, TlsMode,
    aio::MultiplexedConnection,
    cluster::ClusterClientBuilder,
    cluster_async::ClusterConnection,
    sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType},
};

use crate::tls::{self, Encryption};

/// The authority that vouches for the servers, instead of those that this machine trusts.
#[derive(Clone, PartialEq, Eq)]
pub struct Authority(Arc<[u8]>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// One or more certificates in a PEM file.
    pub fn read(path: &Path) -> Result<Self, String> {
        tls::roots_in(path).map(|(_, text)| Self(text.into()))
    }

    fn certificates(&self) -> TlsCertificates {
        TlsCertificates { client_tls: None, root_cert: Some(self.0.to_vec()) }
    }
}

/// One server: `redis://` or `rediss://`.
pub(super) fn server(address: &str, authority: Option<&Authority>) -> RedisResult<ConnectionInfo> {
    let info = address.into_connection_info()?;
    match (info.addr(), authority) {
        (ConnectionAddr::TcpTls { insecure: true, .. }, _) => Err(redis::RedisError::from((
            redis::ErrorKind::InvalidClientConfig,
            "#insecure would trust anybody, which is not offered here; name the authority with gate_ca",
        ))),
        (ConnectionAddr::TcpTls { .. }, Some(authority)) => {
            let client = Client::build_with_tls(info, authority.certificates())?;
            Ok(client.get_connection_info().clone())
        }
        _ => Ok(info),
    }
}

pub(super) fn encryption(server: &ConnectionInfo) -> Encryption {
    match server.addr() {
        ConnectionAddr::TcpTls { .. } => Encryption::SignedAndNamed,
        _ => Encryption::None,
    }
}

/// Bounds for one connection.
pub(super) fn bounds(patience: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(patience)).set_response_timeout(Some(patience))
}

pub(super) async fn to_one(
    server: &ConnectionInfo,
    bounds: &AsyncConnectionConfig,
) -> RedisResult<MultiplexedConnection> {
    // The client library cannot be handed a provider.
    tls::install_provider();
    Client::open(server.clone())?.get_multiplexed_async_connection_with_config(bounds).await
}

/// A Cluster whose first member says whether all of it is encrypted.
pub(super) async fn to_cluster(
    members: &[ConnectionInfo],
    authority: Option<&Authority>,
    patience: Duration,
) -> RedisResult<ClusterConnection> {
    tls::install_provider();
    let mut builder = ClusterClientBuilder::new(members.to_vec())
        .connection_timeout(patience)
        .response_timeout(patience)
        .retries(1);
    let encrypted = members.first().is_some_and(|member| encryption(member) != Encryption::None);
    if let (true, Some(authority)) = (encrypted, authority) {
        builder = builder.certs(authority.certificates());
    }
    builder.build()?.get_async_connection().await
}

/// Sentinels, and the login of the master that they name. Where they are encrypted, so is the master.
pub(super) fn by_name(
    sentinels: &[ConnectionInfo],
    master: &str,
    login: &RedisConnectionInfo,
    authority: Option<&Authority>,
) -> RedisResult<SentinelClient> {
    tls::install_provider();
    let places = sentinels.iter().map(|sentinel| sentinel.addr().clone());
    let mut builder = SentinelClientBuilder::new(places, master, SentinelServerType::Master)?
        .set_client_to_redis_db(login.db())
        .set_client_to_redis_protocol(login.protocol());
    if let Some(user) = login.username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = login.password() {
        builder = builder.set_client_to_redis_password(password);
    }
    if sentinels.first().is_some_and(|sentinel| encryption(sentinel) != Encryption::None) {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        if let Some(authority) = authority {
            builder = builder.set_client_to_redis_certificates(authority.certificates());
        }
    }
    builder.build()
}

/// Where the master of that name is, for this Sentinel.
pub(super) async fn master_named_by(
    sentinel: &mut MultiplexedConnection,
    name: &str,
) -> RedisResult<Option<String>> {
    let mut question = redis::cmd("SENTINEL");
    question.arg("get-master-addr-by-name").arg(name);
    let place = question.query_async::<Option<(String, u16)>>(sentinel).await?;
    Ok(place.map(|(host, port)| format!("{host}:{port}")))
}

/// A connection of one's own to a single server, for whoever is no gate.
pub async fn connect(address: &str, authority: Option<&Authority>) -> RedisResult<MultiplexedConnection> {
    to_one(&server(address, authority)?, &AsyncConnectionConfig::new()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_whether_it_is_encrypted() {
        let of = |address: &str| server(address, None).map(|info| encryption(&info));
        assert_eq!(of("redis://h:1").unwrap(), Encryption::None);
        assert_eq!(of("rediss://h:1").unwrap(), Encryption::SignedAndNamed);
        assert!(of("rediss://h:1/#insecure").unwrap_err().to_string().contains("gate_ca"));
    }

    #[test]
    fn an_authority_is_read_at_once() {
        let read = |path: &str| Authority::read(Path::new(path));
        assert!(read("/nowhere/ca.pem").unwrap_err().contains("cannot be read"));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Authority::read(file.path()).unwrap_err().contains("no usable certificate"));
    }
}
