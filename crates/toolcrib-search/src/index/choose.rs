//! Which files a question has to look at.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::{Index, Name, State};
use crate::filter::Filter;
use crate::paths::{Paths, is_below, order};
use crate::plan::Query;
use crate::segment::Doc;

/// The files that a question has to look at, in order.
pub(crate) struct Candidates {
    names: Arc<Paths>,
    slots: Vec<u32>,
    /// The paths of those that were added, by slot.
    added: HashMap<u32, Box<[u8]>>,
    /// How many files need not be looked at and count as searched.
    pub(crate) passed_over: usize,
    /// Directories that could not be entered.
    pub(crate) barred: Vec<Box<[u8]>>,
    /// Which index the slots are of.
    pub(crate) generation: u64,
}

impl Candidates {
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
        self.directories.contains_key(&Name(directory.into()))
    }

    /// Returns the files below `directory` that pass the filter and may have what `query` asks for.
    pub(crate) fn candidates(
        &self,
        query: &Query,
        directory: &[u8],
        filter: &Filter,
        counts: bool,
    ) -> Candidates {
        let (from, to) = self.listed_below(directory);
        let mut listed = self.chosen(query, from as u32, to as u32, filter);
        listed.sort_unstable();
        let added = self.added.iter().filter(|(name, slot)| {
            let state = self.files[**slot as usize].state;
            state != State::Gone && is_below(&name.0, directory) && filter.passes(&name.0)
        });
        let added: Vec<(&Name, u32)> = added.map(|(name, slot)| (name, *slot)).collect();
        let is_text = |slot: usize| !matches!(self.files[slot].state, State::Gone | State::Binary);
        let meant = if counts {
            let listed = filter.select(&self.names, from, to).into_iter();
            let added = added.iter().filter(|(_, slot)| is_text(*slot as usize)).count();
            listed.filter(|slot| is_text(*slot)).count() + added
        } else {
            0
        };
        let added = added.into_iter().filter(|(_, slot)| self.may_have(*slot, query));
        let mut candidates = self.merge(listed, added.collect());
        candidates.passed_over = meant.saturating_sub(candidates.len());
        let barred = self.barred.iter().filter(|name| is_below(&name.0, directory));
        candidates.barred = barred.map(|name| name.0.clone()).collect();
        candidates
    }

    /// Returns the files below `directory` that pass the filter.
    pub(crate) fn names(&self, directory: &[u8], filter: &Filter) -> Candidates {
        let (from, to) = self.listed_below(directory);
        let is_there = |slot: u32| self.files[slot as usize].state != State::Gone;
        let listed = filter.select(&self.names, from, to).into_iter().map(|slot| slot as u32);
        let listed: Vec<u32> = listed.filter(|slot| is_there(*slot)).collect();
        let added = self.added.iter().filter(|(name, slot)| {
            is_there(**slot) && is_below(&name.0, directory) && filter.passes(&name.0)
        });
        let added = added.map(|(name, slot)| (name, *slot)).collect();
        self.merge(listed, added)
    }

    /// The listed slots in a range that must be looked at, in no order.
    fn chosen(&self, query: &Query, from: u32, to: u32, filter: &Filter) -> Vec<u32> {
        let range = from..to;
        let is_meant = |slot: u32| {
            range.contains(&slot)
                && (filter.is_open() || filter.passes(self.names.get(slot as usize)))
        };
        if *query == Query::All {
            let is_searched =
                |slot: &usize| !matches!(self.files[*slot].state, State::Gone | State::Binary);
            let all = if filter.is_open() {
                (from as usize..to as usize).filter(is_searched).map(|slot| slot as u32).collect()
            } else {
                let all = filter.select(&self.names, from as usize, to as usize).into_iter();
                all.filter(is_searched).map(|slot| slot as u32).collect()
            };
            return all;
        }
        let mut chosen = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let mut consider = |doc: Doc| {
                let slot = part.slots[usize::from(doc)];
                let is_current = self
                    .files
                    .get(slot as usize)
                    .is_some_and(|file| file.state == State::Part(number as u16, doc));
                if is_current && is_meant(slot) {
                    chosen.push(slot);
                }
            };
            match part.segment.find(query) {
                Some(docs) => docs.into_iter().for_each(&mut consider),
                None => (0..part.slots.len()).for_each(|doc| consider(doc as Doc)),
            }
        }
        let others = self.fresh.keys().chain(self.loose.iter()).copied();
        chosen.extend(others.filter(|slot| is_meant(*slot) && self.may_have(*slot, query)));
        chosen
    }

    fn may_have(&self, slot: u32, query: &Query) -> bool {
        match self.files[slot as usize].state {
            State::Gone | State::Binary => false,
            State::Dirty | State::Odd => true,
            State::Fresh => self
                .fresh
                .get(&slot)
                .is_none_or(|grams| query.admits(&|gram| grams.binary_search(&gram).is_ok())),
            State::Part(part, doc) => {
                let docs = self.parts[usize::from(part)].segment.find(query);
                docs.is_none_or(|docs| docs.binary_search(&doc).is_ok())
            }
        }
    }

    /// Puts listed and added files in one order.
    fn merge(&self, listed: Vec<u32>, added: Vec<(&Name, u32)>) -> Candidates {
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
        Candidates { names, slots, added: paths, passed_over: 0, barred: Vec::new(), generation }
    }

    /// Returns a file's text, if it is kept and the slot is one of this index.
    pub(crate) fn text(&self, generation: u64, slot: u32) -> Option<Arc<[u8]>> {
        if generation != self.generation {
            return None;
        }
        self.files.get(slot as usize)?.text.clone()
    }
}
