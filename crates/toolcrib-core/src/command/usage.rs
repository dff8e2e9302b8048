//! The resources that work used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::limit::Limit;

/// The resources that work used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Processor time, in microseconds.
    pub cpu_us: u64,
    /// The most memory at one time, in bytes.
    pub peak_memory: u64,
    /// Bytes that system calls read, also from a cache or a pipe.
    pub read_bytes: u64,
    /// Bytes that system calls wrote.
    pub written_bytes: u64,
    /// How many processes were started.
    pub processes: u64,
    /// The limit that a command ran into, if it ran into one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub struck: Option<Limit>,
}

impl Usage {
    /// Adds what another part of the same work used.
    pub fn add(&mut self, part: &Self) {
        self.cpu_us += part.cpu_us;
        self.peak_memory = self.peak_memory.max(part.peak_memory);
        self.read_bytes += part.read_bytes;
        self.written_bytes += part.written_bytes;
        self.processes += part.processes;
        self.struck = self.struck.or(part.struck);
    }

    /// Returns what was used since `then`.
    pub fn since(&self, then: &Self) -> Self {
        Self {
            cpu_us: self.cpu_us.saturating_sub(then.cpu_us),
            peak_memory: self.peak_memory.saturating_sub(then.peak_memory),
            read_bytes: self.read_bytes.saturating_sub(then.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(then.written_bytes),
            processes: self.processes.saturating_sub(then.processes),
            struck: self.struck,
        }
    }
}
