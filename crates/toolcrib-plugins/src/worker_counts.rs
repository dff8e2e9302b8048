//! How many processes a pool has.

/// The processes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Those that have a call or are being started.
    pub busy: usize,
    /// Those that wait for a call.
    pub idle: usize,
    /// The most at a time.
    pub most: usize,
}
