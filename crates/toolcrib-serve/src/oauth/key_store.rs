//! Keeps the public keys of an authorization server, and loads them again when a token names another one.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::header::ACCEPT;
use axum::http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use tokio::sync::Mutex;
use tokio::time::sleep;
use toolcrib_core::{Clock, escape};

use super::issuer_key::{KeySet, KeySetError, SigningAlgorithm};
use crate::http_client::{ExchangeError, HttpTarget};

/// The most bytes that a set of keys may have.
const MOST_KEY_BYTES: usize = 256 << 10;

/// How long a request for the keys may take.
const FETCH_TIME: Duration = Duration::from_secs(5);

/// How much time lies between two tries, so that forged tokens cannot make us flood the authorization server.
const LEAST_INTERVAL: Duration = Duration::from_secs(10);

/// The bits of a file's mode by which others than its owner can change it.
const WRITE_OF_OTHERS: u32 = 0o022;

/// Where the keys come from.
pub(super) enum KeySource {
    Url(HttpTarget),
    File(PathBuf),
}

/// Why there are no new keys.
#[derive(Debug)]
pub enum KeyLoadError {
    /// The authorization server cannot be reached, or does not answer.
    Exchange(ExchangeError),
    /// The authorization server did not answer with 200.
    Status(StatusCode),
    /// The reply is too long, or broke off.
    Body,
    /// The file cannot be read.
    File(io::Error),
    /// Other users can change the file.
    Untrusted,
    /// It is no set of keys.
    Set(KeySetError),
}

impl fmt::Display for KeyLoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange(err) => write!(f, "{err}"),
            Self::Status(status) if status.is_redirection() => {
                write!(f, "the answer is {status}, and redirects are not followed")
            }
            Self::Status(status) => write!(f, "the answer is {status}"),
            Self::Body => {
                let most = MOST_KEY_BYTES >> 10;
                write!(f, "the answer broke off, or has more than {most} KiB")
            }
            Self::File(err) => write!(f, "{err}"),
            Self::Untrusted => f.write_str("other users can write the file; run `chmod 644` on it"),
            Self::Set(err) => write!(f, "{err}"),
        }
    }
}

impl std::error::Error for KeyLoadError {}

/// The keys as they were loaded last.
pub(super) struct KeyStore {
    source: KeySource,
    clock: Arc<dyn Clock>,
    /// `None` until they were loaded once.
    known: RwLock<Option<Arc<KeySet>>>,
    /// When the last try began, by the clock. Whoever holds it loads.
    last_try: Mutex<Option<Duration>>,
}

impl KeyStore {
    pub(super) fn new(source: KeySource, clock: Arc<dyn Clock>) -> Self {
        Self { source, clock, known: RwLock::default(), last_try: Mutex::default() }
    }

    /// Returns the keys, with the one that a token names if the authorization server has it. Returns `None` if no keys
    /// could be loaded so far.
    pub(super) async fn keys_for(
        &self,
        algorithm: SigningAlgorithm,
        id: Option<&str>,
    ) -> Option<Arc<KeySet>> {
        let before = self.known();
        if let Some(keys) = &before
            && keys.find(algorithm, id).is_some()
        {
            return before;
        }
        let mut last_try = self.last_try.lock().await;
        let is_same = match (&before, &self.known()) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        // Another request may have loaded them while this one waited.
        let now = self.clock.elapsed();
        let may_try = last_try.is_none_or(|last| now.saturating_sub(last) >= LEAST_INTERVAL);
        if is_same && may_try {
            *last_try = Some(now);
            self.load().await;
        }
        self.known()
    }

    /// Loads the keys at once, and then again and again, so that a key that is withdrawn does not count for long.
    pub(super) async fn keep_fresh(&self, interval: Duration) {
        loop {
            let mut last_try = self.last_try.lock().await;
            *last_try = Some(self.clock.elapsed());
            self.load().await;
            drop(last_try);
            sleep(interval).await;
        }
    }

    /// Loads the keys. If that fails, the old ones stay.
    async fn load(&self) {
        match self.source.load().await {
            Ok(keys) => {
                if keys.len() == 0 {
                    tracing::warn!("none of the keys of the authorization server can be used here");
                }
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(keys));
            }
            Err(err) => {
                let text = err.to_string();
                let (error, source) = (escape::line(&text), self.source.shown());
                tracing::warn!(%error, source, "the keys of the authorization server cannot be loaded");
            }
        }
    }

    fn known(&self) -> Option<Arc<KeySet>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl KeySource {
    async fn load(&self) -> Result<KeySet, KeyLoadError> {
        let bytes = match self {
            Self::Url(target) => fetch(target).await?,
            Self::File(path) => read_key_file(path)?,
        };
        KeySet::parse(&bytes).map_err(KeyLoadError::Set)
    }

    /// Returns where the keys come from, for the log. A path or a query may hold secrets.
    fn shown(&self) -> String {
        match self {
            Self::Url(target) => target.authority().to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Says whether keys can be loaded, as far as that shows without asking another server.
    pub(super) fn check(&self) -> Result<(), KeyLoadError> {
        match self {
            Self::Url(_) => Ok(()),
            Self::File(path) => {
                KeySet::parse(&read_key_file(path)?).map(drop).map_err(KeyLoadError::Set)
            }
        }
    }
}

async fn fetch(target: &HttpTarget) -> Result<Bytes, KeyLoadError> {
    let mut request = Request::new(Full::new(Bytes::new()));
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let reply = target.send(request, MOST_KEY_BYTES, FETCH_TIME).await;
    let reply = reply.map_err(KeyLoadError::Exchange)?;
    if reply.status != StatusCode::OK {
        return Err(KeyLoadError::Status(reply.status));
    }
    reply.body.ok_or(KeyLoadError::Body)
}

fn read_key_file(path: &Path) -> Result<Bytes, KeyLoadError> {
    let file = File::open(path).map_err(KeyLoadError::File)?;
    // Whoever can change the keys can be anybody.
    if file.metadata().map_err(KeyLoadError::File)?.mode() & WRITE_OF_OTHERS != 0 {
        return Err(KeyLoadError::Untrusted);
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_KEY_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(KeyLoadError::File)?;
    if bytes.len() > MOST_KEY_BYTES { Err(KeyLoadError::Body) } else { Ok(bytes.into()) }
}
