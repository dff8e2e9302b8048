//! The collection of words: once the index knows every file, the words of the texts in memory are collected, shard by
//! shard.

use std::sync::atomic::Ordering;

use crate::index::indexer::Indexer;
use crate::index::maintenance::WordTask;
use crate::index::tree_index::Index;
use crate::index::word_builder::WordBuilder;
use crate::index::word_postings::WordPostings;

impl WordTask {
    /// Collects the words. Returns nothing if it is stopped.
    fn collect(&self, max_bytes: usize, is_stopped: &dyn Fn() -> bool) -> Option<WordPostings> {
        let mut builder = WordBuilder::new(max_bytes / 4);
        for text in &self.texts {
            if is_stopped() {
                return None;
            }
            builder.add(text.as_ref().map(|text| text.text()));
        }
        Some(builder.build())
    }
}

impl Index {
    /// Adds the words of a shard. Returns whether they fit into memory.
    fn add_words(&self, task: &WordTask, words: WordPostings, max_bytes: usize) -> bool {
        // An eighth is left for growth.
        let fits = self.bytes() + words.bytes() <= max_bytes / 8 * 7;
        if fits {
            self.install_words(task, words);
        }
        fits
    }

    /// Collects the words of an index that does not change, as far as they fit into memory.
    pub(crate) fn collect_fixed_words(&self, max_bytes: usize, is_stopped: &dyn Fn() -> bool) {
        while let Some(task) = self.shard_without_words() {
            if self.bytes() > max_bytes / 8 * 7 {
                return;
            }
            let Some(words) = task.collect(max_bytes, is_stopped) else { return };
            if !self.add_words(&task, words, max_bytes) {
                return;
            }
        }
    }
}

impl Indexer {
    /// Collects the words of the texts in memory, as long as no file waits to be read.
    pub(super) fn collect_words(&self) {
        let limit = self.options.max_memory_bytes;
        while self.keeps_words.load(Ordering::Relaxed) && !self.is_stopped() && self.is_done() {
            let task = self.index().as_ref().and_then(Index::shard_without_words);
            let Some(task) = task else { break };
            let Some(words) = task.collect(limit, &|| self.is_stopped()) else { return };
            if let Some(index) = self.index().as_mut()
                && !index.add_words(&task, words, limit)
            {
                index.drop_words();
                self.keeps_words.store(false, Ordering::Relaxed);
            }
        }
        let _ = self.enforce_memory_limit();
    }
}
