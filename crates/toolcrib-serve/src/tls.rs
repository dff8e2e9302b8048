//! TLS in front of a connection: the handshake, and the certificate that it shows. Changed files are taken up at the
//! next handshake.

mod client_config;
mod key_files;
mod validity;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustls::ServerConfig as TlsConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub use client_config::{TrustError, TrustedRoots, client_config};
pub(crate) use key_files::TlsError;
use key_files::TlsFileVersions;
pub use key_files::{TlsErrorKind, TlsFiles};

/// The first byte of every TLS handshake.
pub(crate) const HANDSHAKE_BYTE: u8 = 0x16;

/// Tells the operator what a server noticed.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// The TLS of a server.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Mutex<CurrentFiles>,
    notice: Notice,
}

struct CurrentFiles {
    /// The versions that were read last, also if they could not be used.
    versions: TlsFileVersions,
    config: Arc<TlsConfig>,
}

/// How the first bytes of a connection ended.
pub(crate) enum Handshake {
    /// The client speaks TLS.
    Done(Box<TlsStream<TcpStream>>),
    /// The client speaks HTTP without TLS.
    PlainHttp(TcpStream),
    /// The client left, took too long, or does not agree.
    Failed,
}

impl Tls {
    /// Says whether the files can be used.
    pub(crate) fn check(files: &TlsFiles) -> Result<(), TlsError> {
        key_files::read(files).map(drop)
    }

    /// Reads the files. `notice` is told if the certificate has run out, now or when the files change.
    pub(crate) fn open(files: TlsFiles, notice: Notice) -> Result<Self, TlsError> {
        let versions = TlsFileVersions::of(&files);
        let config = load(&files, &notice)?;
        Ok(Self { files, current: Mutex::new(CurrentFiles { versions, config }), notice })
    }

    /// Makes the handshake, within `time`.
    pub(crate) async fn accept(&self, stream: TcpStream, time: Duration) -> Handshake {
        let shaken = timeout(time, async {
            let mut first = [0];
            if stream.peek(&mut first).await? == 0 {
                return Ok(Handshake::Failed);
            }
            if first[0] != HANDSHAKE_BYTE && first[0].is_ascii_alphabetic() {
                return Ok(Handshake::PlainHttp(stream));
            }
            let stream = TlsAcceptor::from(self.config()).accept(stream).await?;
            Ok::<_, io::Error>(Handshake::Done(Box::new(stream)))
        });
        match shaken.await {
            Ok(Ok(handshake)) => handshake,
            Ok(Err(_)) | Err(_) => Handshake::Failed,
        }
    }

    /// Returns what the next handshake uses. If the files have changed and are wrong, the old ones stay in use.
    fn config(&self) -> Arc<TlsConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = TlsFileVersions::of(&self.files);
        if versions != current.versions {
            // Noted before the files are read: if they change again meanwhile, they are read again.
            current.versions = versions;
            match load(&self.files, &self.notice) {
                Ok(config) => {
                    current.config = config;
                    (self.notice)("the changed TLS certificate is in use");
                }
                Err(err) => {
                    (self.notice)(&format!(
                        "the old TLS certificate stays in use, because the new one cannot be: {err}"
                    ));
                }
            }
        }
        Arc::clone(&current.config)
    }
}

fn load(files: &TlsFiles, notice: &Notice) -> Result<Arc<TlsConfig>, TlsError> {
    let read = key_files::read(files)?;
    if let Some(warning) = validity::warning(&read.certificate, Timestamp::now()) {
        notice(&format!("the TLS certificate in `{}` {warning}", files.certificate.display()));
    }
    Ok(read.config)
}
