//! The index of a tree: trigrams that say which files cannot have a match, and words with their lines, kept current by
//! file events.

pub(crate) mod candidate_targets;
pub(crate) mod candidates;
pub(crate) mod disk;
pub(crate) mod error;
mod events;
pub(crate) mod fixed_index;
pub(crate) mod indexed_file;
pub(crate) mod indexer;
pub(crate) mod known_lines;
mod line_list;
mod maintenance;
pub(crate) mod posting_list;
pub(crate) mod shard_postings;
mod slot_names;
pub(crate) mod status;
mod sweep;
pub(crate) mod tree_index;
mod watcher;
mod word_builder;
mod word_collection;
mod word_postings;
mod word_table;
