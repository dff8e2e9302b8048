//! The index of a tree: trigrams that say which files cannot have a match, and words with their lines, kept current by
//! file events.

pub(crate) mod candidate_targets;
pub(crate) mod candidates;
pub(crate) mod disk;
pub(crate) mod error;
mod events;
mod indexed_file;
pub(crate) mod indexer;
pub(crate) mod known_lines;
mod line_list;
mod maintenance;
mod posting_list;
mod shard_postings;
mod slot_names;
pub(crate) mod status;
mod sweep;
mod tree_index;
mod watcher;
mod word_builder;
mod word_collection;
mod word_postings;
mod word_table;
