//! The collection of words: once the index knows every file, the indexer collects the words of the texts in memory.

use std::sync::atomic::Ordering;

use crate::index::indexer::Indexer;
use crate::index::tree_index::Index;
use crate::index::word_builder::WordBuilder;

impl Indexer {
    /// Collects the words of the texts in memory, shard by shard, as long as no file waits to be read.
    pub(super) fn collect_words(&self) {
        let limit = self.options.max_memory_bytes;
        while self.keeps_words.load(Ordering::Relaxed) && !self.is_stopped() && self.is_done() {
            let task = self.index().as_ref().and_then(Index::shard_without_words);
            let Some(task) = task else { break };
            let mut builder = WordBuilder::new(limit / 4);
            for text in &task.texts {
                if self.is_stopped() {
                    return;
                }
                builder.add(text.as_ref().map(|text| text.text()));
            }
            let words = builder.build();
            if let Some(index) = self.index().as_mut() {
                // An eighth is left for growth.
                if index.bytes() + words.bytes() > limit / 8 * 7 {
                    index.drop_words();
                    self.keeps_words.store(false, Ordering::Relaxed);
                } else {
                    index.install_words(&task, words);
                }
            }
        }
        let _ = self.enforce_memory_limit();
    }
}
