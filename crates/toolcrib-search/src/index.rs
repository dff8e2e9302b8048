//! The index of a tree: which files may have a match, kept current by file events.

pub(crate) mod candidates;
pub(crate) mod disk;
mod events;
mod indexed_file;
pub(crate) mod indexer;
mod maintenance;
mod posting_list;
mod postings;
pub(crate) mod status;
mod sweep;
mod tree_index;
mod watcher;
