//! What upkeep does to an index: it hands out what is to be read, takes what was, packs anew what is
//! scattered, and lets go.

use std::sync::Arc;

use crate::index::indexed_file::{IndexedContent, IndexedFile};
use crate::index::posting_list::DocId;
use crate::index::postings::Postings;
use crate::index::tree_index::{Counts, FileEntry, FileState, Index, ReadTask, Shard};
use crate::trigram::Trigram;

impl Index {
    /// Returns up to `most` files that must be read, in order of their slots.
    pub(crate) fn dirty(&self, most: usize) -> Vec<ReadTask> {
        let task = |slot: &u32| ReadTask {
            slot: *slot,
            version: self.files[*slot as usize].version,
            path: self.path_of(*slot).into(),
        };
        self.dirty.iter().take(most).map(task).collect()
    }

    /// Returns up to `most` packed files from a slot on whose texts are not kept, and the slot to go on
    /// from.
    pub(crate) fn cold(&self, from: u32, most: usize) -> (Vec<ReadTask>, u32) {
        let mut tasks = Vec::new();
        let mut slot = from;
        while tasks.len() < most && (slot as usize) < self.files.len() {
            let file = &self.files[slot as usize];
            if matches!(file.state, FileState::Packed(..)) && file.text.is_none() {
                let path = self.path_of(slot).into();
                tasks.push(ReadTask { slot, version: file.version, path });
            }
            slot += 1;
        }
        (tasks, slot)
    }

    /// Keeps a text that was read. If the file has changed since, an event says so and it goes again.
    pub(crate) fn install_text(&mut self, task: &ReadTask, text: Arc<[u8]>) {
        let Some(file) = self.files.get_mut(task.slot as usize) else { return };
        if file.version == task.version && file.text.is_none() {
            self.text_bytes += text.len();
            file.text = Some(text);
        }
    }

    fn path_of(&self, slot: u32) -> &[u8] {
        match (slot as usize).checked_sub(self.names.len()) {
            None => self.names.get(slot as usize),
            Some(added) => &self.added_names[added].0,
        }
    }

    /// Adds postings of files that were read.
    pub(crate) fn install(&mut self, segment: Postings, docs: Vec<(ReadTask, IndexedFile)>) {
        let free = self.parts.iter().position(|part| part.slots.is_empty());
        let number = free.unwrap_or(self.parts.len()) as u16;
        let mut part = Shard { segment: Arc::new(segment), slots: Vec::new(), live: 0 };
        let mut doc = 0;
        for (task, learned) in docs {
            let is_plain = matches!(learned.what, IndexedContent::Text(_));
            if self.files[task.slot as usize].version == task.version {
                let state = match learned.what {
                    IndexedContent::Text(_) => FileState::Packed(number, doc),
                    IndexedContent::Binary => FileState::Binary,
                    IndexedContent::AlwaysScan => FileState::AlwaysScan,
                };
                part.live += usize::from(is_plain);
                self.settle(task.slot, learned, state);
            }
            if is_plain {
                part.slots.push(task.slot);
                doc = doc.wrapping_add(1);
            }
        }
        match free {
            Some(at) => self.parts[at] = part,
            None => self.parts.push(part),
        }
    }

    /// Notes one file that was read, its trigrams apart.
    pub(crate) fn install_fresh(
        &mut self,
        task: &ReadTask,
        learned: IndexedFile,
        grams: Box<[Trigram]>,
    ) {
        if self.files[task.slot as usize].version != task.version {
            return;
        }
        let state = match learned.what {
            IndexedContent::Text(_) => {
                self.fresh.insert(task.slot, grams);
                FileState::Fresh
            }
            IndexedContent::Binary => FileState::Binary,
            IndexedContent::AlwaysScan => FileState::AlwaysScan,
        };
        self.settle(task.slot, learned, state);
    }

    fn settle(&mut self, slot: u32, learned: IndexedFile, state: FileState) {
        let file = &mut self.files[slot as usize];
        file.state = state;
        file.stamp = learned.stamp;
        file.is_racy = learned.is_racy;
        if let IndexedContent::Text(text) = learned.what {
            self.text_bytes += text.as_ref().map_or(0, |text| text.len());
            file.text = text;
        }
        self.dirty.remove(&slot);
        if state != FileState::AlwaysScan {
            self.always_scan.remove(&slot);
        }
    }

    /// Bytes of postings.
    pub(crate) fn posting_bytes(&self) -> usize {
        let fresh: usize = self.fresh.values().map(|grams| grams.len() * 4).sum();
        fresh
            + self
                .parts
                .iter()
                .map(|part| part.segment.bytes() + part.slots.len() * 4)
                .sum::<usize>()
    }

    /// Bytes of everything else but texts.
    pub(crate) fn table_bytes(&self) -> usize {
        self.names.bytes()
            + self.files.capacity() * size_of::<FileEntry>()
            + self.added.len() * 200
            + self.directories.len() * 400
            + self.sources.len() * 200
            + (self.always_scan.len() + self.dirty.len()) * 12
    }

    /// Bytes of everything.
    pub(crate) fn bytes(&self) -> usize {
        self.table_bytes() + self.posting_bytes() + self.text_bytes
    }

    /// Lets go of all texts.
    pub(crate) fn drop_texts(&mut self) {
        self.files.iter_mut().for_each(|file| file.text = None);
        self.text_bytes = 0;
    }

    /// Lets go of all postings: every file must then be looked at.
    pub(crate) fn drop_postings(&mut self) {
        self.parts.clear();
        self.fresh.clear();
        self.dirty.clear();
        for slot in 0..self.files.len() as u32 {
            let file = &mut self.files[slot as usize];
            if matches!(file.state, FileState::Packed(..) | FileState::Fresh | FileState::Dirty) {
                file.state = FileState::AlwaysScan;
                self.always_scan.insert(slot);
            }
        }
    }

    /// Makes files dirty whose postings are scattered, so that they are packed anew.
    pub(crate) fn compact(&mut self, max_fresh: usize, max_parts: usize) {
        if self.fresh.len() > max_fresh {
            for slot in self.fresh.keys().copied().collect::<Vec<_>>() {
                self.mark_dirty(slot);
            }
        }
        for number in 0..self.parts.len() {
            let part = &self.parts[number];
            if !part.slots.is_empty() && part.live * 2 < part.slots.len() {
                self.dissolve_shard(number);
            }
        }
        let mut full: Vec<(usize, usize)> = self
            .parts
            .iter()
            .map(|part| part.live)
            .enumerate()
            .filter(|(number, _)| !self.parts[*number].slots.is_empty())
            .map(|(number, live)| (live, number))
            .collect();
        if full.len() > max_parts {
            // The smaller half is packed anew, together: few files, and half as many packs.
            full.sort_unstable();
            for (_, number) in full.into_iter().take(max_parts / 2) {
                self.dissolve_shard(number);
            }
        }
    }

    /// Makes all files of a part dirty, and the part empty.
    fn dissolve_shard(&mut self, number: usize) {
        for (doc, slot) in std::mem::take(&mut self.parts[number].slots).into_iter().enumerate() {
            let state = FileState::Packed(number as u16, doc as DocId);
            if self.files.get(slot as usize).is_some_and(|file| file.state == state) {
                self.mark_dirty(slot);
            }
        }
        self.parts[number].segment = Arc::new(Postings::empty());
    }

    pub(crate) fn has_fragmented_names(&self) -> bool {
        let gone = self.files.len() - self.live;
        self.added.len() > 1000 || gone > 1000 + self.files.len() / 4
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            texts: self.text_bytes,
            files: self.live,
            directories: self.watched.len(),
            dirty: self.dirty.len(),
            always_scan: self.always_scan.len() - self.dirty.len(),
        }
    }
}
