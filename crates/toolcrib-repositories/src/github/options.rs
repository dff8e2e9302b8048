//! How a repository on GitHub is read.

use std::time::Duration;

/// How a repository on GitHub is read.
#[derive(Clone, Debug)]
pub struct GitHubOptions {
    /// The most memory for the search index of the revision, in bytes.
    pub max_index_bytes: usize,
    /// How many threads may work on the index, and on one search.
    pub threads: usize,
    /// The time for one question, waits for rate limits included.
    pub time: Duration,
    /// The time in which the archive of the revision must be there, which search is built from.
    pub archive_time: Duration,
    /// The most bytes of that archive as it comes over the net.
    pub max_archive_bytes: usize,
    /// The most memory for files that were read, in bytes.
    pub max_cached_bytes: usize,
    /// The most files that are read one by one for search, if there is no archive.
    pub max_single_reads: usize,
}

impl Default for GitHubOptions {
    fn default() -> Self {
        Self {
            max_index_bytes: 1 << 30,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            time: Duration::from_secs(20),
            archive_time: Duration::from_mins(3),
            max_archive_bytes: 256 << 20,
            max_cached_bytes: 64 << 20,
            max_single_reads: 1000,
        }
    }
}
