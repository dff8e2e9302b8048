//! Stored replies, bounded in bytes and in number. The one that was not used for longest goes first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::net::{AllowedAddresses, FetchReply, Politeness};

/// The most replies that are stored.
const MOST_STORED_REPLIES: usize = 1024;

/// One reply may take this part of the room, so that it does not drive all others out.
const LARGEST_SHARE: u64 = 4;

/// What a reply costs beside its texts.
const ENTRY_BYTES: usize = 512;

/// What a request and a stored reply must have in common. Everything counts that could have made another reply, or that a
/// request may do and another may not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReplyKey {
    pub(super) partition: String,
    pub(super) url: String,
    /// By name in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) politeness: Politeness,
    pub(super) addresses: AllowedAddresses,
}

/// A stored reply.
#[derive(Debug)]
pub(super) struct StoredReply {
    pub(super) reply: FetchReply,
    /// When it was stored or last found to hold, by the monotonic clock, and how long it answers from then on.
    pub(super) since: Duration,
    pub(super) fresh: Duration,
}

/// A reply and its place in the order of use.
struct ReplySlot {
    stored: Arc<StoredReply>,
    bytes: u64,
    used: u64,
}

/// Stored replies.
pub(super) struct ReplyStore {
    slots: HashMap<ReplyKey, ReplySlot>,
    most_bytes: u64,
    bytes: u64,
    /// Grows with each use.
    turn: u64,
}

impl ReplyStore {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self { slots: HashMap::new(), most_bytes, bytes: 0, turn: 0 }
    }

    /// Returns the reply that was stored for a request.
    pub(super) fn find(&mut self, key: &ReplyKey) -> Option<Arc<StoredReply>> {
        self.turn += 1;
        let slot = self.slots.get_mut(key)?;
        slot.used = self.turn;
        Some(Arc::clone(&slot.stored))
    }

    /// Stores a reply, if it is not too large.
    pub(super) fn put(&mut self, key: ReplyKey, stored: StoredReply) {
        self.remove(&key);
        let bytes = size_of_entry(&key, &stored.reply);
        if bytes > self.most_bytes / LARGEST_SHARE {
            return;
        }
        while self.bytes + bytes > self.most_bytes || self.slots.len() >= MOST_STORED_REPLIES {
            let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            self.remove(&oldest);
        }
        self.turn += 1;
        self.bytes += bytes;
        let slot = ReplySlot { stored: Arc::new(stored), bytes, used: self.turn };
        self.slots.insert(key, slot);
    }

    /// Forgets the reply to a request.
    pub(super) fn remove(&mut self, key: &ReplyKey) {
        if let Some(slot) = self.slots.remove(key) {
            self.bytes -= slot.bytes;
        }
    }
}

fn size_of_entry(key: &ReplyKey, reply: &FetchReply) -> u64 {
    let texts = |headers: &[(String, String)]| -> usize {
        headers.iter().map(|(name, value)| name.len() + value.len() + 48).sum()
    };
    let key_bytes = key.partition.len() + key.url.len() + texts(&key.headers);
    let reply_bytes = reply.url.len() + texts(&reply.headers) + reply.body.len();
    (ENTRY_BYTES + key_bytes + reply_bytes) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(url: &str) -> ReplyKey {
        ReplyKey {
            partition: "p".to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            politeness: Politeness::Page,
            addresses: AllowedAddresses::OpenInternet,
        }
    }

    fn reply(bytes: usize) -> StoredReply {
        let reply = FetchReply { body: vec![0; bytes], ..FetchReply::default() };
        StoredReply { reply, since: Duration::ZERO, fresh: Duration::ZERO }
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut store = ReplyStore::new(10_000);
        for url in ["a", "b", "c", "d"] {
            store.put(key(url), reply(1900));
        }
        assert!(store.find(&key("a")).is_some());
        store.put(key("e"), reply(1900));
        assert!(store.find(&key("b")).is_none());
        for url in ["a", "c", "d", "e"] {
            assert!(store.find(&key(url)).is_some(), "{url}");
        }
        store.put(key("a"), reply(10));
        assert!(store.bytes < 10_000 && store.slots.len() == 4);
        store.put(key("huge"), reply(3000));
        assert!(store.find(&key("huge")).is_none() && store.slots.len() == 4);
        for url in ["a", "c", "d", "e"] {
            store.remove(&key(url));
        }
        assert_eq!((store.bytes, store.slots.len()), (0, 0));
    }

    #[test]
    fn the_number_of_replies_is_bounded() {
        let mut store = ReplyStore::new(1 << 30);
        for number in 0..=MOST_STORED_REPLIES {
            store.put(key(&number.to_string()), reply(0));
        }
        assert_eq!(store.slots.len(), MOST_STORED_REPLIES);
        assert!(store.find(&key("0")).is_none() && store.find(&key("1")).is_some());
    }
}
