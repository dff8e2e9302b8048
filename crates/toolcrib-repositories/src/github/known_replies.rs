//! Replies of GitHub that may have changed since: each is asked for again with its entity tag, and costs nothing of the rate
//! limit if it still holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::github::api_answer::ApiAnswer;

/// The most replies that are kept, and the most bytes of each.
const MOST_KNOWN_REPLIES: usize = 64;
const MOST_KNOWN_REPLY_BYTES: usize = 1 << 20;

/// A reply, and the entity tag it came with.
#[derive(Clone)]
pub(super) struct KnownReply {
    pub(super) etag: String,
    pub(super) answer: Arc<ApiAnswer>,
}

/// Replies by what was asked.
#[derive(Default)]
pub(super) struct KnownReplies(Mutex<HashMap<String, KnownReply>>);

impl KnownReplies {
    pub(super) fn get(&self, key: &str) -> Option<KnownReply> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps a reply. If there is no room, all others go.
    pub(super) fn keep(&self, key: String, etag: &str, answer: &Arc<ApiAnswer>) {
        if answer.body.len() > MOST_KNOWN_REPLY_BYTES {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN_REPLIES && !known.contains_key(&key) {
            known.clear();
        }
        known.insert(key, KnownReply { etag: etag.to_owned(), answer: Arc::clone(answer) });
    }
}
