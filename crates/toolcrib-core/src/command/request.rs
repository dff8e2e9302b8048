//! The request to run a command.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::call::CallId;

/// A request to run a command.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// The call that the command belongs to; its output is saved under this id.
    pub call: CallId,
    /// The shell that reads the text.
    pub shell: Shell,
    /// The command's text.
    pub text: String,
    /// The directory to start in; without one, the workspace's root.
    pub directory: Option<String>,
    /// How long the command may take.
    pub time: Duration,
    /// What happens when its time is up.
    pub on_timeout: OnTimeout,
    /// How many bytes of each stream come back with the answer.
    pub keep: usize,
    /// How a reader gets the rest, for the line that says that output was left out.
    pub rest_hint: &'static str,
    /// Whether the command is proven to change nothing, so that nobody needs to look for changed files.
    pub is_read_only: bool,
}

/// The shell that reads a command's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// `bash`, without the user's profile.
    Bash,
    /// The operator's own shell, without their profile.
    Own,
    /// PowerShell.
    PowerShell,
    /// No shell: the text is a program, which gets these arguments.
    Program(Vec<String>),
}

/// What happens to a command when its time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// The command is killed.
    Kill,
    /// The command goes on as a task.
    Detach,
}
