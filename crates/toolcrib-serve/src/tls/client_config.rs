//! TLS of a client: the authorities whose certificates it accepts. Everything in Toolcrib that connects over TLS takes
//! its configuration from here, because two providers of cryptography in one process panic at the first use.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The authorities whose certificates a client accepts.
#[derive(Clone, Copy, Debug)]
pub enum TrustedRoots<'a> {
    /// Those that the system trusts.
    OfSystem,
    /// Those in the text of a PEM file, and no others.
    Pem(&'a [u8]),
}

/// Why there are no authorities to trust.
#[derive(Debug)]
pub enum TrustError {
    /// The system has none, or they cannot be read.
    NoneOfSystem(String),
    /// The PEM text has no certificate.
    NoCertificate,
    /// A certificate in the PEM text cannot be read.
    BadCertificate(String),
    /// The provider of cryptography does not do what TLS needs.
    Provider(rustls::Error),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneOfSystem(why) => {
                write!(f, "the certificates that the system trusts cannot be read: {why}")
            }
            Self::NoCertificate => f.write_str("there is no certificate in it"),
            Self::BadCertificate(why) => write!(f, "a certificate in it cannot be read: {why}"),
            Self::Provider(err) => write!(f, "TLS cannot be used: {err}"),
        }
    }
}

impl std::error::Error for TrustError {}

/// Returns the configuration of a client that trusts these authorities.
pub fn client_config(trusted: TrustedRoots<'_>) -> Result<Arc<ClientConfig>, TrustError> {
    let roots = match trusted {
        TrustedRoots::OfSystem => roots_of_system()?,
        TrustedRoots::Pem(text) => roots_in(text)?,
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(TrustError::Provider)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

fn roots_of_system() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = found.errors.first().map_or("there are none".to_owned(), ToString::to_string);
    Err(TrustError::NoneOfSystem(why))
}

fn roots_in(text: &[u8]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text) {
        let bad = |err: &dyn fmt::Display| TrustError::BadCertificate(err.to_string());
        let certificate = certificate.map_err(|err| bad(&err))?;
        roots.add(certificate).map_err(|err| bad(&err))?;
    }
    if roots.is_empty() { Err(TrustError::NoCertificate) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_come_from_certificates_alone() {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["crib.example".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let read = |text: &str| client_config(TrustedRoots::Pem(text.as_bytes())).map(|_| ());
        assert!(read(&certificate).is_ok());
        assert!(read(&format!("{}{certificate}", key.serialize_pem())).is_ok());
        for text in ["", "hello", &key.serialize_pem()] {
            assert!(matches!(read(text), Err(TrustError::NoCertificate)), "{text}");
        }
        let torn = &certificate[..certificate.len() / 2];
        let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
        for text in [torn, &garbled, &format!("{certificate}{garbled}")] {
            assert!(matches!(read(text), Err(TrustError::BadCertificate(_))), "{text}");
        }
    }
}
