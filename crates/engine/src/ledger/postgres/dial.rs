//! How a connection to PostgreSQL is made: the one place that knows about TLS. Whoever connects comes by here, pools and
//! looks from outside, the lab and the bench.
//!
//! | `sslmode` | encrypted | whose server it is |
//! |---|---|---|
//! | `disable` | no | not asked |
//! | `prefer`, the default | where the server can | not asked |
//! | `require` | yes | not asked; with `sslrootcert` as `verify-ca` |
//! | `verify-ca` | yes | an authority has signed the certificate |
//! | `verify-full` | yes | and the certificate has the name of the host |
//!
//! The meanings are libpq's. Authorities are those of `sslrootcert`, or else this machine's.

use std::{fmt, path::PathBuf};

use deadpool_postgres::{Connect, Manager, ManagerConfig, RecyclingMethod};
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};
use tokio_postgres::{
    CancelToken, Client, Config, Connection, Error, NoTls, Socket,
    config::{SslMode, SslNegotiation},
    error::SqlState,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tls::{self, Check, Encryption};

/// What an address asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    const ALL: &[(&str, Self)] = &[
        ("disable", Self::Disable),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];

    fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(known, _)| *known).collect();
            format!("there is no sslmode {name:?}; there are {}", known.join(", "))
        })
    }
}

/// Who vouches for the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Authorities {
    #[default]
    Unnamed,
    System,
    File(PathBuf),
}

/// The part of an address that the client library does not understand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Wish {
    mode: Mode,
    authorities: Authorities,
}

/// Takes `sslmode` and `sslrootcert` out of an address. What is left is for the client library.
fn take_wish(url: &str) -> Result<(String, Wish), String> {
    let mut wish = Wish::default();
    let Some((place, options)) = split_options(url) else { return Ok((url.to_owned(), wish)) };
    let mut left = Vec::new();
    for option in options.split('&') {
        match option.split_once('=') {
            Some(("sslmode", name)) => wish.mode = Mode::named(&decoded(name))?,
            Some(("sslrootcert", path)) => wish.authorities = authorities(&decoded(path))?,
            _ => left.push(option),
        }
    }
    must_fit(&wish)?;
    let query = if left.is_empty() { String::new() } else { format!("?{}", left.join("&")) };
    Ok((format!("{place}{query}"), wish))
}

/// A question mark may be part of the password, which ends at the first @.
fn split_options(url: &str) -> Option<(&str, &str)> {
    let login = url.find('@').unwrap_or(0);
    let at = url[login..].find('?').map(|at| login + at).or_else(|| url.find('?'))?;
    Some((&url[..at], &url[at + 1..]))
}

fn decoded(value: &str) -> String {
    // Only forms write a space as a plus.
    let pair = format!("v={}", value.replace('+', "%2B"));
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn authorities(value: &str) -> Result<Authorities, String> {
    match value {
        "" => Err("sslrootcert must name a file with certificates".to_owned()),
        "system" => Ok(Authorities::System),
        path => Ok(Authorities::File(path.into())),
    }
}

/// An authority that nobody would ask is a misunderstanding, and one that matters.
fn must_fit(wish: &Wish) -> Result<(), String> {
    match (&wish.authorities, wish.mode) {
        (Authorities::File(_), Mode::Disable | Mode::Prefer) => {
            Err("sslrootcert counts with sslmode=verify-full, verify-ca or require; without one of them nothing is \
                 checked"
                .to_owned())
        }
        // Anybody can have a certificate from a public authority, for some name.
        (Authorities::System, mode) if mode != Mode::VerifyFull => {
            Err("sslrootcert=system needs sslmode=verify-full".to_owned())
        }
        _ => Ok(()),
    }
}

/// Why an address cannot be used. Never the address itself, which may carry a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAddress(pub(super) String);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("the address cannot be used: {0}")]
    Address(#[from] BadAddress),
    #[error("{}", told(.0))]
    Postgres(#[from] Error),
}

/// Everything that is needed to connect, as often as one likes.
#[derive(Clone)]
pub struct Dial {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    encryption: Encryption,
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest may carry a password.
        write!(f, "Dial({:?})", self.encryption)
    }
}

impl Dial {
    /// Reads the address, and the file of authorities that it names.
    pub fn to(url: &str) -> Result<Self, BadAddress> {
        let (url, wish) = take_wish(url).map_err(BadAddress)?;
        let mut config: Config = url.parse().map_err(|fault: Error| BadAddress(told(&fault)))?;
        config.ssl_mode(match wish.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        let check = check(&wish).map_err(BadAddress)?;
        let encryption = match &check {
            None => Encryption::None,
            Some(Check::Nothing) => Encryption::Unchecked,
            Some(Check::Signature(_)) => Encryption::Signed,
            Some(Check::SignatureAndName(_)) => Encryption::SignedAndNamed,
        };
        let tls = check.map(|check| {
            let mut client = tls::client(check);
            if config.get_ssl_negotiation() == SslNegotiation::Direct {
                client.alpn_protocols = vec![b"postgresql".to_vec()];
            }
            MakeRustlsConnect::new(client)
        });
        Ok(Self { config, tls, encryption })
    }

    /// For timeouts, names and options.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    pub async fn connect(&self) -> Result<Client, Error> {
        // What carries the connection ends with the client.
        connect(&self.config, self.tls.clone()).await.map(|(client, _)| client)
    }

    /// The same, and how private the connection is. What is only preferred is insisted on first: the client library does
    /// not say which of the two it came to.
    pub(super) async fn connect_knowing(&self) -> Result<(Client, Encryption), Error> {
        let mut insisting = self.clone();
        if self.config.get_ssl_mode() == SslMode::Prefer {
            insisting.config.ssl_mode(SslMode::Require);
        }
        match insisting.connect().await {
            Err(fault) if self.may_do_without(&fault) => Ok((plain(&self.config).await?.0, Encryption::None)),
            other => Ok((other?, self.encryption)),
        }
    }

    /// Asks the server to give up what it does for that connection.
    pub(super) async fn cancel(&self, token: CancelToken) -> Result<(), Error> {
        match &self.tls {
            Some(tls) => token.cancel_query(tls.clone()).await,
            None => token.cancel_query(NoTls).await,
        }
    }

    /// For a pool.
    pub fn manager(&self) -> Manager {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        Manager::from_connect(self.config.clone(), Dialler(self.tls.clone()), recycling)
    }

    fn may_do_without(&self, fault: &Error) -> bool {
        may_do_without(&self.config, fault)
    }
}

fn check(wish: &Wish) -> Result<Option<Check>, String> {
    let roots = || match &wish.authorities {
        Authorities::File(path) => {
            tls::roots_in(path).map(|(roots, _)| roots).map_err(|fault| format!("sslrootcert: {fault}"))
        }
        Authorities::Unnamed | Authorities::System => tls::system_roots(),
    };
    Ok(match (wish.mode, &wish.authorities) {
        (Mode::Disable, _) => None,
        (Mode::VerifyFull, _) => Some(Check::SignatureAndName(roots()?)),
        // Whoever names an authority wants it asked; libpq does so, too.
        (Mode::VerifyCa, _) | (Mode::Require, Authorities::File(_)) => Some(Check::Signature(roots()?)),
        (Mode::Prefer | Mode::Require, _) => Some(Check::Nothing),
    })
}

/// How a pool connects.
struct Dialler(Option<MakeRustlsConnect>);

impl Connect for Dialler {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let config = config.clone();
        Box::pin(async move { connect(&config, self.0.clone()).await })
    }
}

async fn connect(config: &Config, tls: Option<MakeRustlsConnect>) -> Result<(Client, JoinHandle<()>), Error> {
    let Some(tls) = tls else { return plain(config).await };
    match config.connect(tls).await {
        Ok((client, connection)) => Ok((client, carry(connection))),
        Err(fault) if may_do_without(config, &fault) => plain(config).await,
        Err(fault) => Err(fault),
    }
}

async fn plain(config: &Config) -> Result<(Client, JoinHandle<()>), Error> {
    let mut config = config.clone();
    config.ssl_mode(SslMode::Disable);
    let (client, connection) = config.connect(NoTls).await?;
    Ok((client, carry(connection)))
}

fn carry<S>(connection: Connection<Socket, S>) -> JoinHandle<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(fault) = connection.await {
            tracing::warn!(fault = told(&fault), "a connection to PostgreSQL broke");
        }
    })
}

/// Where encryption is only preferred, a server that offers it and cannot keep it up, or lets us in only without, is
/// spoken to in the open, as libpq does and as everybody did before.
fn may_do_without(config: &Config, fault: &Error) -> bool {
    let only_without = fault.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    config.get_ssl_mode() == SslMode::Prefer && (is_tls(fault) || only_without)
}

/// Whether it was about TLS. The client library keeps the kinds of its errors to itself and says them only in words.
pub(super) fn is_tls(fault: &Error) -> bool {
    fault.to_string() == "error performing TLS handshake"
}

/// What really happened, which the client's errors keep to themselves.
pub(super) fn told(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    match std::error::Error::source(error) {
        Some(cause) if !error.to_string().contains(&cause.to_string()) => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(url: &str) -> (String, Mode, Authorities) {
        let (left, wish) = take_wish(url).unwrap();
        (left, wish.mode, wish.authorities)
    }

    #[test]
    fn the_client_library_sees_nothing_of_tls() {
        let file = |path: &str| Authorities::File(path.into());
        let of = |left: &str, mode, authorities| (left.to_owned(), mode, authorities);
        assert_eq!(taken("postgres://h/d"), of("postgres://h/d", Mode::Prefer, Authorities::Unnamed));
        assert_eq!(
            taken(
                "postgres://u:p@h/d?connect_timeout=3&sslmode=verify-full&sslrootcert=/a%20b/c+d.pem&user=x"
            ),
            of("postgres://u:p@h/d?connect_timeout=3&user=x", Mode::VerifyFull, file("/a b/c+d.pem")),
        );
        assert_eq!(
            taken("postgres://h/d?sslmode=disable"),
            of("postgres://h/d", Mode::Disable, Authorities::Unnamed)
        );
        assert_eq!(
            taken("postgres://u:p?w@h/d?sslmode=verify-ca&sslrootcert=a@b"),
            of("postgres://u:p?w@h/d", Mode::VerifyCa, file("a@b")),
        );
        assert_eq!(
            taken("postgres://h/d?sslmode=require&sslrootcert=a@b"),
            of("postgres://h/d", Mode::Require, file("a@b")),
        );
        assert_eq!(taken("postgres://u:p?w@h/d").0, "postgres://u:p?w@h/d");
        let system = taken("postgres://h?sslrootcert=system&sslmode=verify-full");
        assert_eq!(system, of("postgres://h", Mode::VerifyFull, Authorities::System));
    }

    #[test]
    fn what_would_check_nothing_is_refused() {
        let refused = |url: &str| take_wish(url).unwrap_err();
        assert!(refused("postgres://h/d?sslmode=verify_full").contains("there are disable, prefer, require"));
        assert!(refused("postgres://h/d?sslmode=allow").contains("no sslmode \"allow\""));
        assert!(refused("postgres://h/d?sslrootcert=ca.pem").contains("nothing is checked"));
        assert!(refused("postgres://h/d?sslmode=prefer&sslrootcert=ca.pem").contains("nothing is checked"));
        assert!(refused("postgres://h/d?sslmode=require&sslrootcert=").contains("must name a file"));
        assert!(refused("postgres://h/d?sslmode=require&sslrootcert=system").contains("verify-full"));
    }

    #[test]
    fn an_authority_that_cannot_be_read_is_no_address() {
        let fault = Dial::to("postgres://u:secret@h/d?sslmode=verify-full&sslrootcert=/nowhere/ca.pem");
        let fault = fault.unwrap_err().to_string();
        assert!(fault.contains("sslrootcert: /nowhere/ca.pem cannot be read"), "{fault}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no certificate").unwrap();
        let url = format!("postgres://h/d?sslmode=verify-ca&sslrootcert={}", file.path().display());
        assert!(Dial::to(&url).unwrap_err().to_string().contains("no usable certificate"));
    }
}
