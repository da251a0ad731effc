//! Which certificates of servers are believed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::target::{Target, TlsUse};

/// What is asked of a certificate beside that its holder has its key.
#[derive(Debug)]
struct Trust {
    provider: Arc<CryptoProvider>,
    /// Who has to vouch for it; `None` asks nothing.
    roots: Option<Arc<WebPkiServerVerifier>>,
    asks_for_name: bool,
}

/// Returns how TLS is spoken with a target.
///
/// # Errors
/// A text that names the file of root certificates that is missing or none.
pub(super) fn config(target: &Target) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let roots = match target.tls {
        TlsUse::VerifyCa | TlsUse::VerifyFull => Some(roots(target, &provider)?),
        TlsUse::Disable | TlsUse::Prefer | TlsUse::Require => None,
    };
    let asks_for_name = target.tls == TlsUse::VerifyFull;
    let trust = Trust { provider: Arc::clone(&provider), roots, asks_for_name };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(Arc::new(config))
}

fn roots(
    target: &Target,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".postgresql/root.crt"));
    let path = target.root_certificates.clone().or_else(home);
    let path = path.ok_or("sslmode verify-* needs sslrootcert, a file of root certificates")?;
    let store = read(&path).map_err(|error| {
        format!("cannot use the root certificates of {} (sslrootcert): {error}", path.display())
    })?;
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<RootCertStore, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        store.add(certificate).map_err(|error| error.to_string())?;
    }
    if store.is_empty() { Err("there are none in it".to_owned()) } else { Ok(store) }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match roots.verify_server_cert(certificate, between, name, status, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.asks_for_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
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
