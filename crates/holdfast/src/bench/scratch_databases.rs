//! Databases for the occasion, on a server that belongs to somebody else: made under names nobody has, and dropped.

use std::{io, str::FromStr};

use holdfast_engine::mint;
use tokio_postgres::{Client, Config, NoTls};

use super::interrupted;
use crate::failure::Failure;

pub(super) struct Databases {
    server: Client,
    url: String,
    made: Vec<String>,
}

impl Databases {
    pub(super) async fn on(url: &str) -> Result<Self, Failure> {
        Ok(Self { server: connect(url).await?, url: url.to_owned(), made: Vec::new() })
    }

    /// The address of a new, empty database.
    pub(super) async fn fresh(&mut self) -> Result<String, Failure> {
        let name = format!("holdfast_bench_{:08x}", mint::random_bits() as u32);
        let made = self.server.batch_execute(&format!("CREATE DATABASE {name}")).await;
        made.map_err(io::Error::other).map_err(interrupted)?;
        let url = with_database(&self.url, &name);
        self.made.push(name);
        Ok(url)
    }

    /// Whoever is still connected is sent away.
    pub(super) async fn drop_all(&mut self) {
        for name in self.made.drain(..) {
            // A database left behind is a nuisance and no reason to hide the figures.
            let _ = self.server.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }
}

pub(super) async fn connect(url: &str) -> Result<Client, Failure> {
    let unusable = |fault: tokio_postgres::Error| {
        Failure::usage(
            "the PostgreSQL of --ledger cannot be used",
            "check the address, and that it may make databases",
        )
        .because(fault)
    };
    let (client, connection) =
        Config::from_str(url).map_err(unusable)?.connect(NoTls).await.map_err(unusable)?;
    tokio::spawn(connection);
    Ok(client)
}

/// The address with another database in its path.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(address, query)| (address, Some(query)));
    let host_at = address.find("://").map_or(0, |at| at + 3);
    let host_end = address[host_at..].find('/').map_or(address.len(), |at| host_at + at);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/{name}{query}", &address[..host_end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_changes() {
        assert_eq!(
            with_database("postgres://a:b@h:1/x?sslmode=disable", "y"),
            "postgres://a:b@h:1/y?sslmode=disable"
        );
        assert_eq!(with_database("postgres://h", "y"), "postgres://h/y");
    }
}
