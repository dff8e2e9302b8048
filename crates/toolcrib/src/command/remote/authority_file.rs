//! The authorities whose certificates of servers are accepted: those of the system, or those in a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use toolcrib_serve::{TrustError, TrustedRoots, client_config};

use crate::error::{CliError, CliErrorKind};

/// The variable that names the file if `--ca-file` does not.
pub(super) const CA_VARIABLE: &str = "TOOLCRIB_CA_FILE";

/// The most bytes that are read of a file with certificates. The list of a whole system has a quarter of a mebibyte.
const MOST_AUTHORITY_BYTES: u64 = 4 << 20;

/// The authorities whose certificates are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TrustedAuthorities {
    /// Those that the system trusts.
    OfSystem,
    /// Those in a PEM file, and no others.
    In(PathBuf),
}

impl TrustedAuthorities {
    /// Returns the configuration of a client that trusts them.
    pub(super) fn client_config(&self) -> Result<Arc<ClientConfig>, CliError> {
        match self {
            Self::OfSystem => client_config(TrustedRoots::OfSystem).map_err(|err| {
                CliError::new(CliErrorKind::System, err.to_string()).hint(format!(
                    "install the system's certificates (often the package `ca-certificates`), or add --ca-file PEM or \
                     set {CA_VARIABLE}"
                ))
            }),
            Self::In(path) => {
                let text = read(path)?;
                client_config(TrustedRoots::Pem(&text)).map_err(|err| unusable(path, &text, &err))
            }
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let shown = path.display();
    let unreadable = |err: io::Error| {
        let message = format!("the certificates cannot be read from `{shown}`: {err}");
        CliError::new(CliErrorKind::System, message).hint(EXPECTED)
    };
    // Looked at before it is opened, because a pipe would block.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(CliError::usage(format!("`{shown}` is no file with certificates")));
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST_AUTHORITY_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_AUTHORITY_BYTES {
        let most = MOST_AUTHORITY_BYTES >> 20;
        return Err(CliError::usage(format!("`{shown}` is larger than {most} MiB")).hint(EXPECTED));
    }
    Ok(text)
}

const EXPECTED: &str = "--ca-file names a PEM file with the certificate of the authority, which has a line \
                        `-----BEGIN CERTIFICATE-----`";

fn unusable(path: &Path, text: &[u8], err: &TrustError) -> CliError {
    let shown = path.display();
    let what = match err {
        TrustError::NoCertificate if text.trim_ascii().is_empty() => "it is empty".to_owned(),
        TrustError::NoCertificate if text.windows(11).any(|part| part == b"PRIVATE KEY") => {
            "it has a private key, and no certificate".to_owned()
        }
        TrustError::NoCertificate => "it has no certificate in PEM form".to_owned(),
        other => other.to_string(),
    };
    CliError::usage(format!("`{shown}` cannot be used as --ca-file: {what}")).hint(EXPECTED)
}
