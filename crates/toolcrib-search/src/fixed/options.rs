//! What an engine for a tree that never changes may use.

/// What an engine may use.
#[derive(Clone, Copy, Debug)]
pub struct FixedEngineOptions {
    /// The most memory for the index, in bytes.
    pub max_memory_bytes: usize,
    /// How many threads may work on the index, and on one search.
    pub threads: usize,
}
