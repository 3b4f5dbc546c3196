//! Databases and folders for the occasion: made under names nobody has, and removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use holdfast_engine::{
    ledger::postgres::{Dial, DialError},
    mint,
};
use tokio_postgres::{Client, Error};

/// Databases on a server that may belong to somebody else.
pub struct Databases {
    server: Client,
    url: String,
    made: Vec<String>,
}

impl std::fmt::Debug for Databases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may carry a password.
        f.debug_struct("Databases").field("made", &self.made).finish_non_exhaustive()
    }
}

impl Databases {
    pub async fn on(url: &str) -> Result<Self, DialError> {
        Ok(Self { server: connect(url).await?, url: url.to_owned(), made: Vec::new() })
    }

    /// The address of a new, empty database.
    pub async fn fresh(&mut self) -> Result<String, Error> {
        let name = format!("holdfast_scratch_{:08x}", mint::random_bits() as u32);
        self.server.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        let url = with_database(&self.url, &name);
        self.made.push(name);
        Ok(url)
    }

    /// A client of the server itself, for questions about it.
    pub fn server(&self) -> &Client {
        &self.server
    }

    /// Whoever is still connected is sent away.
    pub async fn drop_all(&mut self) {
        for name in self.made.drain(..) {
            // A database left behind is a nuisance and no reason to hide the figures.
            let _ = self.server.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }
}

pub async fn connect(url: &str) -> Result<Client, DialError> {
    Ok(Dial::to(url)?.connect().await?)
}

/// The address with another database in its path.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(address, query)| (address, Some(query)));
    let host_at = address.find("://").map_or(0, |at| at + 3);
    let host_end = address[host_at..].find('/').map_or(address.len(), |at| host_at + at);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/{name}{query}", &address[..host_end])
}

/// What everything in one run is named after, so that it can be found on somebody else's server and removed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark(u32);

impl Mark {
    pub(crate) fn new() -> Self {
        Self(mint::random_bits() as u32)
    }

    /// For a name that nobody had before; in sixteen digits it begins with the mark.
    pub(crate) fn nonce(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(mint::random_bits() as u32)
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// A folder, removed with this value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn make() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("holdfast-lab-{:x}", mint::random_bits()));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_the_mark() {
        let mark = Mark::new();
        assert!(format!("{:016x}", mark.nonce()).starts_with(&mark.to_string()));
    }

    #[test]
    fn only_the_database_changes() {
        assert_eq!(
            with_database("postgres://a:b@h:1/x?sslmode=disable", "y"),
            "postgres://a:b@h:1/y?sslmode=disable"
        );
        assert_eq!(with_database("postgres://h", "y"), "postgres://h/y");
    }
}
