//! The certificate by which the server shows who it is.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::exchange::Binding;
use crate::kept::kept;

/// File in the database directory with the certificate and key that were made at the first start.
const SELF_SIGNED: &str = "server.pem";

/// Why there is no TLS: a text that names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

type Result<T> = std::result::Result<T, TlsError>;

/// A certificate with its key, ready to be used.
#[derive(Clone, Debug)]
pub struct Identity {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl Identity {
    /// Takes a certificate, with those between it and a known one behind it, and its key.
    ///
    /// # Errors
    /// Files that cannot be read or are none of that kind, a key that others may read or that is
    /// another certificate's.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self> {
        check_private(key)?;
        let read = |path: &Path| fs::read(path).map_err(|error| at(path, error));
        Self::new(&read(certificate)?, &read(key)?, certificate, key)
    }

    /// Takes the certificate of a database directory, or makes one that signs itself.
    ///
    /// # Errors
    /// As [`Identity::load`]; the file cannot be written.
    pub fn self_signed(directory: &Path) -> Result<Self> {
        let path: PathBuf = directory.join(SELF_SIGNED);
        let pem = kept(&path, make).map_err(|error| at(&path, error))?;
        check_private(&path)?;
        Self::new(&pem, &pem, &path, &path)
    }

    fn new(certificates: &[u8], key: &[u8], from: &Path, key_from: &Path) -> Result<Self> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| at(from, error))?;
        let certificate = chain.first().cloned().ok_or_else(|| at(from, "holds no certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| at(key_from, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| at(from, error))?;
        // What newer clients of PostgreSQL ask for.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self { config: Arc::new(config), certificate })
    }

    /// Returns what connections are taken by.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Returns the SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` writes it.
    pub fn fingerprint(&self) -> String {
        let bytes = Sha256::digest(&self.certificate);
        bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// Returns what a proof is bound to.
    pub fn binding(&self) -> Binding {
        certificate_hash(&self.certificate).map_or(Binding::None, Binding::Certificate)
    }
}

/// Returns the hash of a certificate, DER, by the function that its signature uses, RFC 5929; none
/// for signatures that have none.
pub fn certificate_hash(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match signature_algorithm(certificate) {
        // RSA with MD5, SHA-1 and SHA-256; ECDSA with SHA-1 and SHA-256.
        Some(
            b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04"
            | b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05"
            | b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"
            | b"\x2a\x86\x48\xce\x3d\x04\x01"
            | b"\x2a\x86\x48\xce\x3d\x04\x03\x02",
        ) => Sha256::digest(certificate).to_vec(),
        Some(b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c" | b"\x2a\x86\x48\xce\x3d\x04\x03\x03") => {
            Sha384::digest(certificate).to_vec()
        }
        Some(b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d" | b"\x2a\x86\x48\xce\x3d\x04\x03\x04") => {
            Sha512::digest(certificate).to_vec()
        }
        _ => return None,
    })
}

/// Makes a certificate that signs itself, and its key, in one text.
fn make() -> io::Result<Vec<u8>> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut parameters = rcgen::CertificateParams::new(names).map_err(io::Error::other)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "nacre");
    let key = rcgen::KeyPair::generate().map_err(io::Error::other)?;
    let certificate = parameters.self_signed(&key).map_err(io::Error::other)?;
    Ok(format!("{}{}", certificate.pem(), key.serialize_pem()).into_bytes())
}

/// Refuses a key that others than its owner may read, as PostgreSQL does.
fn check_private(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).map_err(|error| at(path, error))?;
    let allowed = if metadata.uid() == 0 { 0o640 } else { 0o600 };
    match metadata.mode() & 0o777 & !allowed {
        0 => Ok(()),
        _ => Err(TlsError(format!(
            "private key file \"{}\" has group or world access: it must have permissions 0600, or \
             0640 if root owns it",
            path.display()
        ))),
    }
}

fn at(path: &Path, error: impl std::fmt::Display) -> TlsError {
    TlsError(format!("\"{}\": {error}", path.display()))
}

/// Returns the identifier of the algorithm that a certificate is signed by:
/// `SEQUENCE { SEQUENCE tbs, SEQUENCE { OBJECT IDENTIFIER, .. }, .. }`.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    element(algorithm, OBJECT_IDENTIFIER).map(|(identifier, _)| identifier)
}

/// Cuts the contents of a DER element of this kind from what is behind it.
fn element(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (header, rest) = bytes.split_at_checked(2)?;
    if header[0] != kind {
        return None;
    }
    match header[1] {
        length @ 0..=0x7f => rest.split_at_checked(usize::from(length)),
        // The length is in the next one to four bytes.
        digits @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(digits & 0x7f))?;
            let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest.split_at_checked(length)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn certificate_is_made_once_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let made = Identity::self_signed(directory.path()).unwrap();
        let again = Identity::self_signed(directory.path()).unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
        assert_eq!(made.fingerprint().len(), 95);
        let hash = Sha256::digest(&made.certificate).to_vec();
        assert_eq!(made.binding(), Binding::Certificate(hash));
        let path = directory.path().join(SELF_SIGNED);
        assert!(Identity::load(&path, &path).is_ok());
    }

    #[test]
    fn key_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        Identity::self_signed(directory.path()).unwrap();
        let path = directory.path().join(SELF_SIGNED);
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        let error = Identity::load(&path, &path).unwrap_err().to_string();
        assert!(error.contains("group or world access") && error.contains(SELF_SIGNED), "{error}");
        assert!(Identity::self_signed(directory.path()).is_err());
    }

    #[test]
    fn files_that_hold_something_else_are_named() {
        let directory = tempfile::tempdir().unwrap();
        Identity::self_signed(directory.path()).unwrap();
        let good = directory.path().join(SELF_SIGNED);
        let other = directory.path().join("other.pem");
        fs::write(&other, b"no pem").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
        for (certificate, key) in [(&good, &other), (&other, &good)] {
            let error = Identity::load(certificate, key).unwrap_err().to_string();
            assert!(error.contains("other.pem"), "{error}");
        }
        let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
        fs::write(&other, key).unwrap();
        assert!(Identity::load(&good, &other).is_err(), "the key of another certificate");
    }

    #[test]
    fn cut_certificates_have_no_algorithm() {
        let directory = tempfile::tempdir().unwrap();
        let identity = Identity::self_signed(directory.path()).unwrap();
        let whole = identity.certificate.as_ref();
        assert!(signature_algorithm(whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(signature_algorithm(&whole[..end]), None, "{end}");
        }
    }
}
