//! The names of an index: the path of every file that it knows, by slot. A file keeps its slot as long as the index
//! lives, also when it is removed and comes back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::policy::DeniedPaths;

use crate::paths::{PathKey, Paths, is_below};
use crate::scan::filter::DeniedBelow;

/// Paths by slot, and slots by path.
pub(crate) struct SlotNames {
    /// The files of the last walk, in order; a file's place here is its slot.
    listed: Arc<Paths>,
    /// Files that came since, by path; their slots follow those of the walk.
    added: BTreeMap<PathKey, u32>,
    /// The same files, in order of their slots.
    added_paths: Vec<PathKey>,
    /// The slots of the walk that policy denies, found once for each choice of rules, because it takes a look at
    /// every name.
    denied: Mutex<Option<(DeniedPaths, Arc<[u32]>)>>,
}

impl SlotNames {
    pub(crate) fn new(listed: Paths) -> Self {
        Self {
            listed: Arc::new(listed),
            added: BTreeMap::new(),
            added_paths: Vec::new(),
            denied: Mutex::default(),
        }
    }

    /// Returns the slots of the walk that policy denies, in order.
    pub(crate) fn denied_slots(&self, below: &DeniedBelow) -> Arc<[u32]> {
        let mut known = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((denied, slots)) = &*known
            && denied.is_same(&below.denied)
        {
            return Arc::clone(slots);
        }
        let slots = (0..self.listed.len()).filter(|slot| below.has(self.listed.get(*slot)));
        let slots: Arc<[u32]> = slots.map(|slot| slot as u32).collect();
        *known = Some((below.denied.clone(), Arc::clone(&slots)));
        slots
    }

    /// How many slots there are, those of removed files included.
    pub(crate) fn len(&self) -> usize {
        self.listed.len() + self.added_paths.len()
    }

    /// The files of the last walk.
    pub(crate) fn listed(&self) -> &Arc<Paths> {
        &self.listed
    }

    /// The files that came since the last walk, in order of their paths.
    pub(crate) fn added(&self) -> impl Iterator<Item = (&PathKey, u32)> {
        self.added.iter().map(|(path, slot)| (path, *slot))
    }

    /// The files that came since the last walk and are at or below `directory`.
    pub(crate) fn added_below(&self, directory: &[u8]) -> impl Iterator<Item = &[u8]> {
        let from = PathKey::new(directory);
        let paths = self.added.range(from..).map(|(path, _)| path.bytes());
        paths.take_while(move |path| is_below(path, directory))
    }

    pub(crate) fn added_len(&self) -> usize {
        self.added.len()
    }

    /// Returns the path of a slot that came since the last walk; nothing for a slot of the walk.
    pub(crate) fn added_path(&self, slot: u32) -> Option<&PathKey> {
        Some(&self.added_paths[(slot as usize).checked_sub(self.listed.len())?])
    }

    /// Returns the path of a slot.
    pub(crate) fn path(&self, slot: u32) -> &[u8] {
        match self.added_path(slot) {
            None => self.listed.get(slot as usize),
            Some(added) => added.bytes(),
        }
    }

    /// Returns the slot of a path, if it has one.
    pub(crate) fn slot(&self, path: &[u8]) -> Option<u32> {
        match self.listed.find(path) {
            Ok(slot) => Some(slot as u32),
            Err(_) => self.added.get(&PathKey::new(path)).copied(),
        }
    }

    /// Adds a path that has no slot yet; returns its slot.
    pub(crate) fn add(&mut self, path: &[u8]) -> u32 {
        let slot = self.len() as u32;
        self.added.insert(PathKey::new(path), slot);
        self.added_paths.push(PathKey::new(path));
        slot
    }

    /// All paths with their slots, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let listed = (0..self.listed.len()).map(|slot| (self.listed.get(slot), slot as u32));
        listed.chain(self.added().map(|(path, slot)| (path.bytes(), slot)))
    }

    /// Returns the first slot of the walk's files below a directory, and the slot after the last.
    pub(crate) fn listed_below(&self, directory: &[u8]) -> (usize, usize) {
        if directory.is_empty() {
            return (0, self.listed.len());
        }
        let start = self.listed.find(directory).unwrap_or_else(|at| at);
        let (mut low, mut high) = (start, self.listed.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_below(self.listed.get(middle), directory) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (start, low)
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.listed.bytes() + self.added.len() * 200
    }
}
