//! Which files a question has to look at.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::index::posting_list::DocId;
use crate::index::tree_index::{FileState, Index, PathKey};
use crate::paths::{Paths, is_below, order};
use crate::plan::Query;
use crate::scan::filter::Filter;
use crate::trigram::Trigram;

/// The files that a question has to look at, in order.
pub(crate) struct CandidateFiles {
    names: Arc<Paths>,
    slots: Vec<u32>,
    /// The paths of those that were added, by slot.
    added: HashMap<u32, Box<[u8]>>,
    /// How many files need not be looked at and count as searched.
    pub(crate) passed_over: usize,
    /// Directories that could not be entered.
    pub(crate) unreadable: Vec<Box<[u8]>>,
    /// Which index the slots are of.
    pub(crate) generation: u64,
}

impl CandidateFiles {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, index: usize) -> u32 {
        self.slots[index]
    }

    pub(crate) fn path(&self, index: usize) -> &[u8] {
        let slot = self.slots[index];
        if (slot as usize) < self.names.len() {
            return self.names.get(slot as usize);
        }
        self.added.get(&slot).map_or(b"", |path| path)
    }
}

impl Index {
    /// Whether a directory is one that the walk entered.
    pub(crate) fn covers(&self, directory: &[u8]) -> bool {
        self.directories.contains_key(&PathKey(directory.into()))
    }

    /// Returns the files below `directory` that pass the filter and may have what `query` asks for.
    pub(crate) fn candidates(
        &self,
        query: &Query,
        directory: &[u8],
        filter: &Filter,
        counts: bool,
    ) -> CandidateFiles {
        let (from, to) = self.listed_below(directory);
        let is_meant = |slot: u32| {
            let (path, is_below) = match (slot as usize).checked_sub(self.names.len()) {
                None => (self.names.get(slot as usize), (from..to).contains(&(slot as usize))),
                Some(added) => {
                    let path = &*self.added_names[added].0;
                    (path, is_below(path, directory))
                }
            };
            is_below && (filter.is_open() || filter.passes(path))
        };
        let mut chosen = if *query == Query::All {
            self.all_of(from, to, filter, &is_meant)
        } else {
            self.chosen(query, &is_meant)
        };
        chosen.sort_unstable();
        let added = chosen.partition_point(|slot| (*slot as usize) < self.names.len());
        let mut added: Vec<(&PathKey, u32)> = chosen
            .split_off(added)
            .into_iter()
            .map(|slot| (&self.added_names[slot as usize - self.names.len()], slot))
            .collect();
        added.sort_unstable_by_key(|(name, _)| *name);
        let is_text =
            |slot: usize| !matches!(self.files[slot].state, FileState::Gone | FileState::Binary);
        let meant = if counts {
            let listed = filter.select(&self.names, from, to).into_iter();
            let more = self.added.values().filter(|slot| is_meant(**slot));
            listed.filter(|slot| is_text(*slot)).count()
                + more.filter(|slot| is_text(**slot as usize)).count()
        } else {
            0
        };
        let mut candidates = self.merge(chosen, added);
        candidates.passed_over = meant.saturating_sub(candidates.len());
        let unreadable = self.unreadable.iter().filter(|name| is_below(&name.0, directory));
        candidates.unreadable = unreadable.map(|name| name.0.clone()).collect();
        candidates
    }

    /// Returns the files below `directory` that pass the filter.
    pub(crate) fn names(&self, directory: &[u8], filter: &Filter) -> CandidateFiles {
        let (from, to) = self.listed_below(directory);
        let is_there = |slot: u32| self.files[slot as usize].state != FileState::Gone;
        let listed = filter.select(&self.names, from, to).into_iter().map(|slot| slot as u32);
        let listed: Vec<u32> = listed.filter(|slot| is_there(*slot)).collect();
        let added = self.added.iter().filter(|(name, slot)| {
            is_there(**slot) && is_below(&name.0, directory) && filter.passes(&name.0)
        });
        let added = added.map(|(name, slot)| (name, *slot)).collect();
        self.merge(listed, added)
    }

    /// All files that are meant and could have a line, in no order.
    fn all_of(
        &self,
        from: usize,
        to: usize,
        filter: &Filter,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> Vec<u32> {
        let is_searched = |slot: u32| {
            !matches!(self.files[slot as usize].state, FileState::Gone | FileState::Binary)
        };
        let added = self.added.values().copied().filter(|slot| is_meant(*slot));
        let listed = if filter.is_open() {
            (from..to).collect()
        } else {
            filter.select(&self.names, from, to)
        };
        let listed = listed.into_iter().map(|slot| slot as u32);
        listed.chain(added).filter(|slot| is_searched(*slot)).collect()
    }

    /// The files that are meant and may have what is asked for, in no order.
    fn chosen(&self, query: &Query, is_meant: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut chosen = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let mut consider = |doc: DocId| {
                let Some(slot) = part.slots.get(usize::from(doc)).copied() else { return };
                let is_current = self
                    .files
                    .get(slot as usize)
                    .is_some_and(|file| file.state == FileState::Packed(number as u16, doc));
                if is_current && is_meant(slot) {
                    chosen.push(slot);
                }
            };
            match part.segment.find(query) {
                Some(docs) => docs.into_iter().for_each(&mut consider),
                None => (0..part.slots.len()).for_each(|doc| consider(doc as DocId)),
            }
        }
        let admits = |grams: &[Trigram]| query.admits(&|gram| grams.binary_search(&gram).is_ok());
        let fresh = self.fresh.iter().filter(|(_, grams)| admits(grams)).map(|(slot, _)| *slot);
        chosen.extend(fresh.chain(self.always_scan.iter().copied()).filter(|slot| is_meant(*slot)));
        chosen
    }

    /// Puts listed and added files in one order.
    fn merge(&self, listed: Vec<u32>, added: Vec<(&PathKey, u32)>) -> CandidateFiles {
        let paths = added.iter().map(|(name, slot)| (*slot, name.0.clone())).collect();
        let slots = if added.is_empty() {
            listed
        } else {
            let mut slots = Vec::with_capacity(listed.len() + added.len());
            let mut added = added.into_iter().peekable();
            for slot in listed {
                let path = self.names.get(slot as usize);
                while let Some((_, other)) =
                    added.next_if(|(name, _)| order(&name.0, path) == Ordering::Less)
                {
                    slots.push(other);
                }
                slots.push(slot);
            }
            slots.extend(added.map(|(_, slot)| slot));
            slots
        };
        let names = Arc::clone(&self.names);
        let generation = self.generation;
        CandidateFiles {
            names,
            slots,
            added: paths,
            passed_over: 0,
            unreadable: Vec::new(),
            generation,
        }
    }

    /// Returns a file's text, if it is kept and the slot is one of this index.
    pub(crate) fn text(&self, generation: u64, slot: u32) -> Option<Arc<[u8]>> {
        if generation != self.generation {
            return None;
        }
        self.files.get(slot as usize)?.text.clone()
    }
}
