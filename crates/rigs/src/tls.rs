//! What a server needs in order to speak TLS. Whoever starts it makes the certificates: a rig knows no cryptography.

use crate::{Result, account::Account, folder::Folder};

/// Each as PEM.
#[derive(Clone)]
pub struct Tls {
    pub certificate: String,
    pub key: String,
    /// Who signed the certificate, for servers that check each other.
    pub authority: String,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

pub(crate) const CERTIFICATE: &str = "server.crt";
pub(crate) const KEY: &str = "server.key";
pub(crate) const AUTHORITY: &str = "ca.crt";

impl Tls {
    pub(crate) fn write(&self, folder: &Folder, account: Account) -> Result<()> {
        folder.write(CERTIFICATE, &self.certificate, account)?;
        folder.write(AUTHORITY, &self.authority, account)?;
        // PostgreSQL refuses a key that others may read.
        folder.write_secret(KEY, &self.key, account).map(drop)
    }
}
