//! How a command ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The command exited by itself, with this code.
    Exited(i32),
    /// A signal killed the command, and Toolcrib did not send it.
    Signalled(i32),
    /// Toolcrib killed the command because its time was up.
    TimedOut,
    /// Toolcrib killed the command because of a limit.
    Limited,
    /// Toolcrib killed the command because nobody wanted its result any more.
    Killed,
}

impl End {
    /// Whether the command ran and failed, so that its tool is not to blame. A command that Toolcrib killed because
    /// its time was up, or because nobody wanted its result, is an error of its call.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Exited(code) => code != 0,
            Self::Signalled(_) | Self::Limited => true,
            Self::TimedOut | Self::Killed => false,
        }
    }

    /// Returns the exit code as shells report it.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::TimedOut | Self::Limited | Self::Killed => 128 + 9,
        }
    }
}
