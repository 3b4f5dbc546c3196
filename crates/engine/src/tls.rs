//! TLS towards the servers that hold the books, the gate and the money: whom to trust, and how much is checked.
//!
//! ```text
//! postgres://…?sslmode=…&sslrootcert=…  ─ ledger/postgres/dial ─┐
//! rediss://… with gate_ca               ─ gate/redis/dial ──────┼─ tls ─ rustls, ring
//! https://api.stripe.com                ─ payments/stripe ──────┘
//! ```
//! Owns the cryptography's provider and the authorities. Never decides whether to encrypt: that is in the addresses.

use std::{fmt, fs, path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor,
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// What is known of a connection's privacy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    None,
    /// Nobody can listen, but nobody has shown who is at the other end.
    Unchecked,
    /// An authority that is trusted has signed the certificate, whatever name is on it.
    Signed,
    /// And the name is the one that was asked for.
    SignedAndNamed,
}

impl fmt::Display for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Unchecked => "TLS; the certificate is not checked",
            Self::Signed => "TLS; the certificate is checked, the name on it is not",
            Self::SignedAndNamed => "TLS; certificate and name are checked",
        })
    }
}

/// How much of a server's certificate is looked at.
#[derive(Debug)]
pub(crate) enum Check {
    Nothing,
    Signature(RootCertStore),
    SignatureAndName(RootCertStore),
}

/// For libraries that ask the process and cannot be handed a provider.
pub(crate) fn install_provider() {
    // Another part of the process may have chosen one already: theirs is as good.
    let _ = ring::default_provider().install_default();
}

/// A client that shows no certificate of its own.
pub(crate) fn client(check: Check) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring speaks every version that is safe");
    let roots = match check {
        Check::SignatureAndName(roots) => {
            return builder.with_root_certificates(roots).with_no_client_auth();
        }
        Check::Signature(roots) => Some(roots),
        Check::Nothing => None,
    };
    let lenient = Arc::new(Lenient { roots, provider });
    builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth()
}

/// The authorities that this machine trusts.
pub(crate) fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // One that cannot be read leaves the others as good as they are.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    match (added, found.errors.first()) {
        (0, Some(fault)) => Err(format!("this machine's authorities cannot be read: {fault}")),
        (0, None) => {
            Err("this machine trusts no authorities: install ca-certificates, or name one".to_owned())
        }
        _ => Ok(roots),
    }
}

/// The authorities in a file, and the file's text.
pub(crate) fn roots_in(path: &Path) -> Result<(RootCertStore, Vec<u8>), String> {
    let text = fs::read(path).map_err(|fault| format!("{} cannot be read: {fault}", path.display()))?;
    let unusable =
        |fault: &dyn fmt::Display| format!("{} holds no usable certificate: {fault}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|fault| unusable(&fault))?;
        roots.add(certificate).map_err(|fault| unusable(&fault))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"a PEM file with BEGIN CERTIFICATE is wanted"));
    }
    Ok((roots, text))
}

/// Looks at less than it could, because it was told to. That the other end has the key of the certificate it shows is
/// seen to in any case.
#[derive(Debug)]
struct Lenient {
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
