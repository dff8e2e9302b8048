//! The limits of a call: how much time and output it may take.

/// The limits of one call.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest that the call may run, in milliseconds. Time that a person takes to approve it does
    /// not count.
    pub deadline_ms: u64,
    /// The most bytes of the reply as JSON.
    pub output_bytes: usize,
}

impl Limits {
    /// Returns the smaller of both limits.
    pub fn within(self, other: Self) -> Self {
        Self {
            deadline_ms: self.deadline_ms.min(other.deadline_ms),
            output_bytes: self.output_bytes.min(other.output_bytes),
        }
    }

    /// The limits of most tools: 30 seconds and 256 KiB.
    pub const DEFAULT: Self = Self { deadline_ms: 30_000, output_bytes: 256 << 10 };
}
