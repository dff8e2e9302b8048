//! Reads the certificate and the key, and says what is wrong with them.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig as TlsConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The permissions of others than the owner.
const OF_OTHERS: u32 = 0o077;

/// The same, but the group may read. Some systems give keys of root to a group of servers.
const OF_OTHERS_BUT_GROUP_READS: u32 = 0o037;

/// The only protocol that the server speaks over TLS.
const ALPN: &[u8] = b"http/1.1";

/// The files that TLS needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, and those that link it to one that clients trust, as PEM.
    pub certificate: PathBuf,
    /// The private key, as PEM. Only its owner may read it.
    pub key: PathBuf,
}

/// Why the files cannot be used.
#[derive(Debug)]
pub(crate) struct TlsError {
    /// What kind of error it is.
    pub(crate) kind: TlsErrorKind,
    /// What went wrong.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: String,
}

/// Kinds of errors of TLS files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsErrorKind {
    /// A file cannot be read.
    Unreadable,
    /// Others can read the key.
    Exposed,
    /// There is no certificate in the file.
    NoCertificate,
    /// There is no private key in the file.
    NoKey,
    /// The key is encrypted with a password.
    Encrypted,
    /// The key is not that of the certificate, or is of a kind that is not known.
    Unfit,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

/// What was read from the files.
pub(super) struct ReadFiles {
    pub(super) config: Arc<TlsConfig>,
    /// The certificate of the server itself.
    pub(super) certificate: CertificateDer<'static>,
}

/// Which versions of the files there are. A file that is missing has no version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TlsFileVersions([Option<TlsFileVersion>; 2]);

#[derive(Debug, PartialEq, Eq)]
struct TlsFileVersion {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl TlsFileVersions {
    pub(super) fn of(files: &TlsFiles) -> Self {
        Self([&files.certificate, &files.key].map(|path| {
            let of = |it: Metadata| TlsFileVersion {
                device: it.dev(),
                inode: it.ino(),
                bytes: it.len(),
                // Not the time of the content: a `chmod` that mends the key must be noticed too.
                changed: (it.ctime(), it.ctime_nsec()),
            };
            fs::metadata(path).ok().map(of)
        }))
    }
}

/// Reads the files and checks that they fit.
pub(super) fn read(files: &TlsFiles) -> Result<ReadFiles, TlsError> {
    let chain = read_chain(&files.certificate)?;
    let key = read_key(&files.key)?;
    let Some(certificate) = chain.first().cloned() else {
        return Err(no_certificate(&files.certificate));
    };
    let unfit = |err: rustls::Error| {
        TlsError {
        kind: TlsErrorKind::Unfit,
        message: match err {
            rustls::Error::InconsistentKeys(_) => format!(
                "the key in `{}` is not that of the certificate in `{}`",
                files.key.display(),
                files.certificate.display()
            ),
            err => format!("TLS cannot use `{}`: {err}", files.certificate.display()),
        },
        hint: "set `serve.tls_certificate` and `serve.tls_key` to files that belong together, the server's own \
               certificate first"
            .to_owned(),
    }
    };
    let builder = TlsConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(rustls::DEFAULT_VERSIONS).map_err(unfit)?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(unfit)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(ReadFiles { config: Arc::new(config), certificate })
}

/// Reads a file. A pipe could hold up whoever reads it for ever.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    fs::read(path)
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read_regular(path).map_err(|err| unreadable("serve.tls_certificate", path, &err))?;
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    chain.ok().filter(|it| !it.is_empty()).ok_or_else(|| no_certificate(path))
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let unreadable = |err: io::Error| unreadable("serve.tls_key", path, &err);
    let shown = path.display();
    let found = fs::metadata(path).map_err(unreadable)?;
    let forbidden = if found.uid() == 0 { OF_OTHERS_BUT_GROUP_READS } else { OF_OTHERS };
    if found.mode() & forbidden != 0 {
        return Err(TlsError {
            kind: TlsErrorKind::Exposed,
            message: format!("other users of this machine can use the TLS key `{shown}`"),
            hint: format!("run `chmod 600 {shown}`"),
        });
    }
    let text = read_regular(path).map_err(unreadable)?;
    if let Ok(key) = PrivateKeyDer::from_pem_slice(&text)
        && !is_encrypted(&text)
    {
        return Ok(key);
    }
    Err(if is_encrypted(&text) {
        TlsError {
            kind: TlsErrorKind::Encrypted,
            message: format!("the TLS key `{shown}` is encrypted with a password"),
            hint: format!(
                "decrypt it: `openssl pkey -in {shown} -out NEW_KEY`, then `chmod 600 NEW_KEY`"
            ),
        }
    } else {
        TlsError {
            kind: TlsErrorKind::NoKey,
            message: format!("there is no private key in `{shown}`"),
            hint: "set `serve.tls_key` to a PEM file with a line such as `-----BEGIN PRIVATE KEY-----`"
                .to_owned(),
        }
    })
}

fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

fn no_certificate(path: &Path) -> TlsError {
    TlsError {
        kind: TlsErrorKind::NoCertificate,
        message: format!("there is no certificate in `{}`", path.display()),
        hint: "set `serve.tls_certificate` to a PEM file with a line `-----BEGIN CERTIFICATE-----`"
            .to_owned(),
    }
}

fn unreadable(setting: &str, path: &Path, err: &io::Error) -> TlsError {
    TlsError {
        kind: TlsErrorKind::Unreadable,
        message: format!("`{}` cannot be read: {err}", path.display()),
        hint: format!("set `{setting}` to a file that the server's user can read"),
    }
}
