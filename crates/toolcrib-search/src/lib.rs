//! Grep and glob. An answer is always that of a full scan by ripgrep's rules. The index only says which
//! files need not be opened for it.

mod engine;
mod fixed;
mod index;
mod parallel;
mod paths;
mod pattern;
mod plan;
mod scan;
mod trigram;
mod word_plan;

pub use engine::Engine;
pub use fixed::engine::FixedEngine;
pub use fixed::index_build::FixedIndexStatus;
pub use fixed::options::FixedEngineOptions;
pub use fixed::tree::{FixedDirectory, FixedEntry, FixedEntryKind, FixedTree};
pub use index::disk::{
    SavedIndex, delete_index, disable_index, enable_index, index_folder, is_index_disabled,
    saved_index,
};
pub use index::error::{IndexError, IndexErrorKind};
pub use index::indexer::IndexOptions;
pub use index::status::{
    IndexCounts, IndexMemory, IndexStatus, Phase, PublishedStatus, ReadProgress, Saving,
    published_statuses,
};
