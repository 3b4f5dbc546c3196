//! Authorities for the occasion, and certificates that they sign.

use std::{fs, path::PathBuf};

use holdfast_rigs::Tls;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// What a private server is called.
pub(crate) const OURS: [&str; 2] = ["localhost", "127.0.0.1"];

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    pub(crate) fn called(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("ca.pem"), issuer.pem()).expect("a file");
        Self { issuer, folder }
    }

    /// Where its certificate lies.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// For a server that is called so.
    pub(crate) fn vouches_for(&self, names: &[&str]) -> Tls {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("names");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Tls { certificate: certificate.pem(), key: key.serialize_pem(), authority: self.issuer.pem() }
    }
}
