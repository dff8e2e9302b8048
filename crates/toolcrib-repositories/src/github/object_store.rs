//! Objects that were read. An object never changes, so nothing here grows old; files go when there is no room.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::object_id::ObjectId;

/// The most bytes of trees. Trees beyond are asked for again.
const MOST_TREE_STORE_BYTES: usize = 256 << 20;

/// Files larger than this part of the room are not kept.
const LARGEST_SHARE: usize = 8;

/// Objects that were read.
pub(super) struct ObjectStore {
    room: usize,
    state: Mutex<StoredObjects>,
}

#[derive(Default)]
struct StoredObjects {
    /// Trees, as git stores them.
    trees: HashMap<ObjectId, Arc<[u8]>>,
    tree_bytes: usize,
    /// The sizes of files, which trees tell.
    sizes: HashMap<ObjectId, u64>,
    blobs: HashMap<ObjectId, Arc<[u8]>>,
    blob_bytes: usize,
    /// The files, oldest first.
    order: VecDeque<ObjectId>,
}

impl ObjectStore {
    /// Makes a store with room for so many bytes of files.
    pub(super) fn new(room: usize) -> Self {
        Self { room, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, StoredObjects> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tree(&self, id: &ObjectId) -> Option<Arc<[u8]>> {
        self.state().trees.get(id).cloned()
    }

    pub(super) fn add_tree(&self, id: ObjectId, raw: &Arc<[u8]>) {
        let mut state = self.state();
        let bytes = state.tree_bytes + raw.len();
        if bytes <= MOST_TREE_STORE_BYTES && state.trees.insert(id, Arc::clone(raw)).is_none() {
            state.tree_bytes = bytes;
        }
    }

    pub(super) fn size(&self, id: &ObjectId) -> Option<u64> {
        self.state().sizes.get(id).copied()
    }

    pub(super) fn add_sizes(&self, sizes: impl IntoIterator<Item = (ObjectId, u64)>) {
        self.state().sizes.extend(sizes);
    }

    /// Returns how many files are known to exist.
    pub(super) fn known_files(&self) -> usize {
        self.state().sizes.len()
    }

    pub(super) fn blob(&self, id: &ObjectId) -> Option<Arc<[u8]>> {
        self.state().blobs.get(id).cloned()
    }

    /// Keeps a file. The oldest ones make room for it.
    pub(super) fn add_blob(&self, id: ObjectId, content: &Arc<[u8]>) {
        if content.len() > self.room / LARGEST_SHARE {
            return;
        }
        let mut state = self.state();
        if state.blobs.insert(id, Arc::clone(content)).is_some() {
            return;
        }
        state.blob_bytes += content.len();
        state.order.push_back(id);
        while state.blob_bytes > self.room {
            let Some(oldest) = state.order.pop_front() else { return };
            if let Some(gone) = state.blobs.remove(&oldest) {
                state.blob_bytes -= gone.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_make_room() {
        let store = ObjectStore::new(80);
        let id = |number: u8| ObjectId::from_bytes(&[number; 20]).unwrap();
        let content: Arc<[u8]> = [0; 10].as_slice().into();
        for number in 0..20 {
            store.add_blob(id(number), &content);
            store.add_blob(id(number), &content);
        }
        let kept: Vec<u8> = (0..20).filter(|number| store.blob(&id(*number)).is_some()).collect();
        assert_eq!(kept, [12, 13, 14, 15, 16, 17, 18, 19]);
        store.add_blob(id(99), &[0; 11].as_slice().into());
        assert!(store.blob(&id(99)).is_none(), "a file that is too large is not kept");
    }
}
