//! Limits on commands, and the limit that ended one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counted::counted;

/// A limit that a command ran into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Which limit it is.
    pub limit: Limit,
    /// The value that the limit is set to.
    pub allowed: u64,
    /// How much the command used, if that is known.
    pub used: Option<u64>,
    /// What enforces the limit.
    pub by: Mechanism,
}

impl Strike {
    /// Returns a sentence for readers.
    pub fn sentence(&self) -> String {
        let show = |count: u64| self.limit.show(count);
        let (name, allowed, by) = (self.limit.as_str(), show(self.allowed), self.by.as_str());
        let used = match self.used {
            // Rounded, a little more would look equal to the limit.
            Some(used) if used > self.allowed && used < self.allowed + self.allowed / 10 => {
                ", used a little more".to_owned()
            }
            Some(used) => format!(", used {}", show(used)),
            None => String::new(),
        };
        format!("the limit on {name} was reached: allowed {allowed}{used}, enforced by {by}")
    }
}

/// A limit on every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes of memory, of all its processes together.
    Memory,
    /// Processes at the same time.
    Processes,
    /// Seconds of processor time.
    Cpu,
    /// Bytes of one file.
    FileSize,
    /// Bytes that the workspace's file system grows by.
    Growth,
    /// Files that the workspace's file system grows by.
    Files,
    /// Files that one process has open at the same time.
    OpenFiles,
    /// Bytes printed.
    Output,
    /// Bytes sent to hosts and received from them.
    Network,
}

impl Limit {
    /// The limit's name for readers and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu time",
            Self::FileSize => "file size",
            Self::Growth => "workspace growth",
            Self::Files => "new files",
            Self::OpenFiles => "open files",
            Self::Output => "output",
            Self::Network => "network traffic",
        }
    }

    /// Formats a value of this limit, with its unit.
    pub fn show(self, count: u64) -> String {
        match self {
            Self::Memory | Self::FileSize | Self::Growth | Self::Output | Self::Network => {
                show_bytes(count)
            }
            Self::Processes | Self::Files | Self::OpenFiles => count.to_string(),
            Self::Cpu => format!("{count} s"),
        }
    }
}

/// Formats a number of bytes for people.
pub fn show_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) if bytes.is_multiple_of(*size) => format!("{} {unit}", bytes / size),
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => counted(bytes, "byte"),
    }
}

/// What enforces a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A resource limit of the kernel, for each process.
    Rlimit,
    /// A file system of fixed size.
    SizedTmpfs,
    /// Toolcrib measures, and kills the command.
    Watchdog,
}

impl Mechanism {
    /// The mechanism's name for readers and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rlimit => "rlimit",
            Self::SizedTmpfs => "sized tmpfs",
            Self::Watchdog => "watchdog",
        }
    }
}
