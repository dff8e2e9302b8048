//! The trees of a revision that were read, as far as they fit into memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::object_id::ObjectId;
use crate::tree_object::TreeObject;

/// The most memory for the trees of one revision.
const MOST_CACHED_BYTES: usize = 64 << 20;

/// Trees by id. Directories with the same content are one tree.
#[derive(Default)]
pub(crate) struct TreeCache(Mutex<CachedTrees>);

#[derive(Default)]
struct CachedTrees {
    trees: HashMap<ObjectId, Arc<TreeObject>>,
    bytes: usize,
}

impl TreeCache {
    /// Returns a tree, if it is cached.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<Arc<TreeObject>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).trees.get(id).cloned()
    }

    /// Adds a tree. If the cache is full, it starts anew: a directory in use is soon read again.
    pub(crate) fn add(&self, id: ObjectId, tree: &Arc<TreeObject>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.bytes + tree.bytes() > MOST_CACHED_BYTES {
            *cached = CachedTrees::default();
        }
        if cached.trees.insert(id, Arc::clone(tree)).is_none() {
            cached.bytes += tree.bytes();
        }
    }
}
