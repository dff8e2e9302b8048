//! A net that answers from earlier replies, as their headers allow, and asks hosts whether what was stored still holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolcrib_core::net::{FetchMethod, FetchReply, FetchRequest, Net, ReplyOrigin, Reuse};
use toolcrib_core::{Cancel, Clock, ToolError};

use super::cache_terms::{freshness, validators};
use super::reply_store::{ReplyKey, ReplyStore, StoredReply};
use super::target::{AllowedPorts, FetchTarget};

/// The headers that a request may have and still be answered from earlier replies. All others may carry credentials, or
/// mean that an earlier reply is not wanted.
const NEUTRAL_HEADERS: [&str; 4] = ["accept", "accept-encoding", "accept-language", "user-agent"];

/// The headers of a stored reply that a host renews when it says that the reply still holds.
const RENEWED_HEADERS: [&str; 6] =
    ["age", "cache-control", "date", "etag", "expires", "last-modified"];

/// A net with a cache in memory. Only requests with [`Reuse::Cached`] use it.
pub struct CachedNet {
    net: Arc<dyn Net>,
    clock: Arc<dyn Clock>,
    store: Mutex<ReplyStore>,
}

impl CachedNet {
    /// Makes a cache of at most `most_bytes` bytes.
    pub fn new(net: Arc<dyn Net>, most_bytes: u64, clock: Arc<dyn Clock>) -> Self {
        Self { net, clock, store: Mutex::new(ReplyStore::new(most_bytes)) }
    }

    fn store(&self) -> MutexGuard<'_, ReplyStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the host whether a stored reply still holds, and returns that one or the new one.
    fn revalidate(
        &self,
        (key, request): (ReplyKey, &FetchRequest),
        stored: &StoredReply,
        cancel: &Cancel,
    ) -> Result<FetchReply, ToolError> {
        let mut asking = request.clone();
        asking.headers.extend(validators(&stored.reply.headers));
        let asked = self.net.fetch(&asking, cancel)?;
        if asked.status != 304 || asked.url != stored.reply.url {
            return Ok(self.keep(key, asked));
        }
        let mut reply = stored.reply.clone();
        for name in RENEWED_HEADERS {
            if let Some(value) = asked.header(name) {
                reply.headers.retain(|(it, _)| it != name);
                reply.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        let attempts = asked.attempts;
        let reply = self.keep(key, reply);
        Ok(FetchReply { attempts, origin: ReplyOrigin::Revalidated, ..served(&reply, request) })
    }

    /// Stores a reply if its headers allow it, and returns it.
    fn keep(&self, key: ReplyKey, reply: FetchReply) -> FetchReply {
        let fresh = freshness(&reply.headers, self.clock.now());
        // A reply after a redirect would answer for the URL that redirects, whose own terms are not known.
        let is_storable = reply.status == 200 && !reply.is_cut && reply.url == key.url;
        match fresh.filter(|_| is_storable) {
            Some(fresh) => {
                let since = self.clock.elapsed();
                self.store().put(key, StoredReply { reply: reply.clone(), since, fresh });
            }
            // What a host could not say now says nothing about what was stored.
            None if reply.status < 500 && reply.status != 429 => self.store().remove(&key),
            None => {}
        }
        reply
    }

    fn is_fresh(&self, stored: &StoredReply) -> bool {
        let age: Duration = self.clock.elapsed().saturating_sub(stored.since);
        age < stored.fresh
    }
}

/// Returns the key of a request, if an earlier reply may answer it.
fn key_of(request: &FetchRequest) -> Option<ReplyKey> {
    let Reuse::Cached { partition } = &request.reuse else { return None };
    if request.method != FetchMethod::Get || request.body.is_some() {
        return None;
    }
    let lower = |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone());
    let headers: Vec<_> = request.headers.iter().map(lower).collect();
    if headers.iter().any(|(name, _)| !NEUTRAL_HEADERS.contains(&name.as_str())) {
        return None;
    }
    // A URL that would be refused must not find what a plain one has stored.
    let target = FetchTarget::parse(&request.url, AllowedPorts::Every).ok()?;
    Some(ReplyKey {
        partition: partition.clone(),
        url: target.as_str().to_owned(),
        headers,
        politeness: request.politeness,
        addresses: request.addresses,
    })
}

/// Returns a stored reply within the bound of a request.
fn served(reply: &FetchReply, request: &FetchRequest) -> FetchReply {
    let mut reply = reply.clone();
    reply.is_cut = reply.body.len() > request.most_bytes;
    reply.body.truncate(request.most_bytes);
    FetchReply { encoded_bytes: 0, attempts: 0, origin: ReplyOrigin::Stored, ..reply }
}

impl Net for CachedNet {
    fn fetch(&self, request: &FetchRequest, cancel: &Cancel) -> Result<FetchReply, ToolError> {
        let Some(key) = key_of(request) else { return self.net.fetch(request, cancel) };
        cancel.check()?;
        let stored = self.store().find(&key);
        match stored {
            Some(stored) if self.is_fresh(&stored) => Ok(served(&stored.reply, request)),
            Some(stored) if !validators(&stored.reply.headers).is_empty() => {
                self.revalidate((key, request), &stored, cancel)
            }
            _ => self.net.fetch(request, cancel).map(|reply| self.keep(key, reply)),
        }
    }
}
