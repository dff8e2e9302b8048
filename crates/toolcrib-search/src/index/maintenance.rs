//! Maintenance of an index: handing out the files to read, taking in their trigrams, compacting, and letting go of
//! memory.

use std::sync::Arc;

use crate::index::indexed_file::{IndexedContent, IndexedFile};
use crate::index::posting_list::DocId;
use crate::index::shard_postings::Postings;
use crate::index::status::IndexCounts;
use crate::index::tree_index::{FileState, Index, IndexEntry, ReadTask, Shard};
use crate::index::word_postings::WordPostings;
use crate::scan::kept_text::KeptText;
use crate::trigram::Trigram;

/// A shard whose words are to be collected.
pub(crate) struct WordTask {
    number: usize,
    postings: Arc<Postings>,
    /// The text of each document, if it is current and in memory.
    pub(crate) texts: Vec<Option<Arc<KeptText>>>,
}

impl Index {
    /// Returns the files that must be read, in order of their slots.
    pub(crate) fn dirty_files(&self) -> Vec<ReadTask> {
        let task = |slot: &u32| ReadTask {
            slot: *slot,
            version: self.files[*slot as usize].version,
            path: self.names.path(*slot).into(),
        };
        self.unindexed.dirty.iter().map(task).collect()
    }

    /// Returns up to `most` packed files whose texts are not in memory, from a slot on, and the slot to continue from.
    pub(crate) fn files_without_text(&self, from: u32, most: usize) -> (Vec<ReadTask>, u32) {
        let mut tasks = Vec::new();
        let mut slot = from;
        while tasks.len() < most && (slot as usize) < self.files.len() {
            let file = &self.files[slot as usize];
            if matches!(file.state, FileState::Packed(..)) && file.text.is_none() {
                let path = self.names.path(slot).into();
                tasks.push(ReadTask { slot, version: file.version, path });
            }
            slot += 1;
        }
        (tasks, slot)
    }

    /// Keeps a text that was read. If the file has changed since, its event drops the text again.
    pub(crate) fn install_text(&mut self, task: &ReadTask, text: Arc<KeptText>) {
        let Some(file) = self.files.get_mut(task.slot as usize) else { return };
        if file.version == task.version && file.text.is_none() {
            self.totals.text_bytes += text.bytes();
            file.text = Some(text);
        }
    }

    /// Adds a shard: the postings of files that were read.
    pub(crate) fn install_shard(&mut self, postings: Postings, docs: Vec<(ReadTask, IndexedFile)>) {
        let shards = &self.postings.shards;
        let free = shards.iter().position(|shard| shard.slots.is_empty());
        let number = free.unwrap_or(shards.len()) as u16;
        let mut shard = Shard::new(postings.into(), Vec::new());
        let mut doc = 0;
        for (task, read) in docs {
            let is_text = matches!(read.content, IndexedContent::Text(_));
            if self.files[task.slot as usize].version == task.version {
                let state = match read.content {
                    IndexedContent::Text(_) => FileState::Packed(number, doc),
                    IndexedContent::Binary => FileState::Binary,
                    IndexedContent::AlwaysScan => FileState::AlwaysScan,
                };
                shard.live += usize::from(is_text);
                self.install_state(task.slot, read, state);
            }
            if is_text {
                shard.slots.push(task.slot);
                doc = doc.wrapping_add(1);
            }
        }
        shard.find_order();
        match free {
            Some(at) => self.postings.shards[at] = shard,
            None => self.postings.shards.push(shard),
        }
    }

    /// Adds one file that was read, with its trigrams in the table of fresh files.
    pub(crate) fn install_fresh(
        &mut self,
        task: &ReadTask,
        read: IndexedFile,
        trigrams: Box<[Trigram]>,
    ) {
        if self.files[task.slot as usize].version != task.version {
            return;
        }
        let state = match read.content {
            IndexedContent::Text(_) => {
                self.postings.fresh.insert(task.slot, trigrams);
                FileState::Fresh
            }
            IndexedContent::Binary => FileState::Binary,
            IndexedContent::AlwaysScan => FileState::AlwaysScan,
        };
        self.install_state(task.slot, read, state);
    }

    fn install_state(&mut self, slot: u32, read: IndexedFile, state: FileState) {
        let file = &mut self.files[slot as usize];
        file.state = state;
        file.stamp = read.stamp;
        file.is_racy = read.is_racy;
        if let IndexedContent::Text(text) = read.content {
            self.totals.text_bytes += text.as_ref().map_or(0, |text| text.bytes());
            file.text = text;
        }
        self.unindexed.dirty.remove(&slot);
        if state != FileState::AlwaysScan {
            self.unindexed.always_scan.remove(&slot);
        }
    }

    /// Bytes of memory for postings.
    pub(crate) fn posting_bytes(&self) -> usize {
        let fresh: usize = self.postings.fresh.values().map(|trigrams| trigrams.len() * 4).sum();
        let shards = self.postings.shards.iter();
        fresh
            + shards
                .map(|shard| shard.tables.postings.bytes() + shard.slots.len() * 4)
                .sum::<usize>()
    }

    /// Bytes of memory for the words of files.
    pub(crate) fn word_bytes(&self) -> usize {
        let words = self.postings.shards.iter().filter_map(|shard| shard.tables.words.get());
        words.map(|words| words.bytes()).sum()
    }

    /// Bytes of memory for everything but postings, words and texts.
    pub(crate) fn table_bytes(&self) -> usize {
        self.names.bytes()
            + self.files.capacity() * size_of::<IndexEntry>()
            + self.directories.len() * 400
            + self.rules.sources_len() * 200
            + (self.unindexed.always_scan.len() + self.unindexed.dirty.len()) * 12
    }

    /// Bytes of memory for texts.
    pub(crate) fn text_bytes(&self) -> usize {
        self.totals.text_bytes
    }

    /// Bytes of memory for everything.
    pub(crate) fn bytes(&self) -> usize {
        self.table_bytes() + self.posting_bytes() + self.word_bytes() + self.text_bytes()
    }

    /// Returns a shard whose words have not been collected, with its number.
    pub(crate) fn shard_without_words(&self) -> Option<WordTask> {
        let lacks = |shard: &Shard| shard.live > 0 && shard.tables.words.get().is_none();
        let number = self.postings.shards.iter().position(lacks)?;
        let shard = &self.postings.shards[number];
        let texts = shard.slots.iter().enumerate().map(|(doc, slot)| {
            let file = self.files.get(*slot as usize)?;
            let is_current = file.state == FileState::Packed(number as u16, doc as DocId);
            file.text.clone().filter(|_| is_current)
        });
        let texts = texts.collect();
        Some(WordTask { number, postings: Arc::clone(&shard.tables.postings), texts })
    }

    /// Adds the words of a shard, if the shard is still the same.
    pub(crate) fn install_words(&self, task: &WordTask, words: WordPostings) {
        let shard = self.postings.shards.get(task.number);
        if let Some(shard) = shard.filter(|it| Arc::ptr_eq(&it.tables.postings, &task.postings)) {
            let _ = shard.tables.words.set(Arc::new(words));
        }
    }

    /// Drops the words of all files.
    pub(crate) fn drop_words(&mut self) {
        for shard in &mut self.postings.shards {
            shard.tables.words.take();
        }
    }

    /// Drops all texts.
    pub(crate) fn drop_texts(&mut self) {
        self.files.iter_mut().for_each(|file| file.text = None);
        self.totals.text_bytes = 0;
    }

    /// Drops all postings: every file must then be opened for every question.
    pub(crate) fn drop_postings(&mut self) {
        self.postings.shards.clear();
        self.postings.fresh.clear();
        self.unindexed.dirty.clear();
        for slot in 0..self.files.len() as u32 {
            let file = &mut self.files[slot as usize];
            if matches!(file.state, FileState::Packed(..) | FileState::Fresh | FileState::Dirty) {
                file.state = FileState::AlwaysScan;
                self.unindexed.always_scan.insert(slot);
            }
        }
    }

    /// Compacts the postings: marks the files of small and mostly outdated shards dirty, so that they are packed anew,
    /// together.
    pub(crate) fn compact(&mut self, max_fresh: usize, max_shards: usize) {
        if self.postings.fresh.len() > max_fresh {
            for slot in self.postings.fresh.keys().copied().collect::<Vec<_>>() {
                self.mark_dirty(slot);
            }
        }
        for number in 0..self.postings.shards.len() {
            let shard = &self.postings.shards[number];
            if !shard.slots.is_empty() && shard.live * 2 < shard.slots.len() {
                self.dissolve_shard(number);
            }
        }
        let shards = self.postings.shards.iter().enumerate();
        let used = shards.filter(|(_, shard)| !shard.slots.is_empty());
        let mut used: Vec<(usize, usize)> =
            used.map(|(number, shard)| (shard.live, number)).collect();
        if used.len() > max_shards {
            // The smaller half is packed anew, together: few files, and half as many shards.
            used.sort_unstable();
            for (_, number) in used.into_iter().take(max_shards / 2) {
                self.dissolve_shard(number);
            }
        }
    }

    /// Marks all files of a shard dirty, and empties the shard.
    fn dissolve_shard(&mut self, number: usize) {
        let slots = std::mem::take(&mut self.postings.shards[number].slots);
        for (doc, slot) in slots.into_iter().enumerate() {
            let state = FileState::Packed(number as u16, doc as DocId);
            if self.files.get(slot as usize).is_some_and(|file| file.state == state) {
                self.mark_dirty(slot);
            }
        }
        self.postings.shards[number].tables = Postings::empty().into();
    }

    /// Whether so many files came and went that only a sweep makes the table of names compact again.
    pub(crate) fn has_fragmented_names(&self) -> bool {
        let gone = self.files.len() - self.totals.files;
        self.names.added_len() > 1000 || gone > 1000 + self.files.len() / 4
    }

    /// How many files are to be read.
    pub(crate) fn dirty_len(&self) -> usize {
        self.unindexed.dirty.len()
    }

    pub(crate) fn counts(&self) -> IndexCounts {
        IndexCounts {
            files: self.totals.files,
            directories: self.watcher.as_ref().map_or(0, |it| it.directories().len()),
            always_scan: self.unindexed.always_scan.len() - self.unindexed.dirty.len(),
        }
    }
}
