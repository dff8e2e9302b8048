//! Errors of calls: a closed kind for programs, a sentence for readers, a hint for the next step, and context as
//! data.

use std::fmt;

use serde_json::{Map, Value};

/// The kinds of errors. A catalogue maps each kind to an error code of its own, and a door maps it to a status. Nobody
/// matches on sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// There is no tool of that name.
    NoTool,
    /// The tool exists, and this session is not offered it.
    NotOffered,
    /// The arguments do not fit the schema or a rule of the tool.
    BadArgs,
    /// The regular expression is invalid or too large.
    BadRegex,
    /// The glob is invalid.
    BadGlob,
    /// Policy refused the call.
    Refused,
    /// A person refused the call.
    Declined,
    /// The call needs a person's approval and nobody could be asked.
    ApprovalNeeded,
    /// The agent must first confirm that it means the call.
    ConfirmationNeeded,
    /// The tool asked the client, which answers with the same call again.
    InputNeeded,
    /// The call ran past its deadline.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// There is no such file or directory.
    NotFound,
    /// The text to replace is not in the file.
    NoMatch,
    /// The text to replace is in the file more than once.
    NotUnique,
    /// The lines asked for are not in the file.
    BadRange,
    /// The path leads outside every root.
    Outside,
    /// No tool may change the path.
    Protected,
    /// The operating system or the file's mode forbids the access.
    Permission,
    /// Something is already at the path.
    Exists,
    /// The path is not a regular file: a pipe, a socket, a device, a file of a special file system.
    NotRegular,
    /// The path is a directory, and a file is needed.
    IsDirectory,
    /// The path is not a directory, and a directory is needed.
    NotDirectory,
    /// A file or an argument is over a limit.
    TooLarge,
    /// The reply is over the limit of its catalogue.
    OutputTooLarge,
    /// The file is not text in an encoding that a change could preserve.
    NotText,
    /// The file has changed since it was read or approved.
    Changed,
    /// No repository is connected.
    NoConnection,
    /// Something that the call needs is missing: the workspace, a kernel feature.
    Unavailable,
    /// The tool ran, and its work failed.
    Failed,
    /// Reading or writing failed.
    Io,
    /// The call could not be recorded, so it was not run.
    Unrecorded,
    /// The tool itself has a defect.
    Bug,
}

impl ErrorKind {
    /// Every kind, for tests that hold over all of them.
    pub const ALL: [Self; 33] = [
        Self::NoTool,
        Self::NotOffered,
        Self::BadArgs,
        Self::BadRegex,
        Self::BadGlob,
        Self::Refused,
        Self::Declined,
        Self::ApprovalNeeded,
        Self::ConfirmationNeeded,
        Self::InputNeeded,
        Self::Timeout,
        Self::Cancelled,
        Self::NotFound,
        Self::NoMatch,
        Self::NotUnique,
        Self::BadRange,
        Self::Outside,
        Self::Protected,
        Self::Permission,
        Self::Exists,
        Self::NotRegular,
        Self::IsDirectory,
        Self::NotDirectory,
        Self::TooLarge,
        Self::OutputTooLarge,
        Self::NotText,
        Self::Changed,
        Self::NoConnection,
        Self::Unavailable,
        Self::Failed,
        Self::Io,
        Self::Unrecorded,
        Self::Bug,
    ];

    /// The name of this kind on wires, in records and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoTool => "no_tool",
            Self::NotOffered => "not_offered",
            Self::BadArgs => "bad_args",
            Self::BadRegex => "invalid_regex",
            Self::BadGlob => "invalid_glob",
            Self::Refused => "refused",
            Self::Declined => "declined",
            Self::ApprovalNeeded => "approval_required",
            Self::ConfirmationNeeded => "confirmation_required",
            Self::InputNeeded => "input_required",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::NotFound => "not_found",
            Self::NoMatch => "no_match",
            Self::NotUnique => "not_unique",
            Self::BadRange => "bad_range",
            Self::Outside => "outside_root",
            Self::Protected => "protected_path",
            Self::Permission => "permission_denied",
            Self::Exists => "exists",
            Self::NotRegular => "not_regular_file",
            Self::IsDirectory => "is_directory",
            Self::NotDirectory => "not_a_directory",
            Self::TooLarge => "too_large",
            Self::OutputTooLarge => "output_too_large",
            Self::NotText => "not_text",
            Self::Changed => "changed",
            Self::NoConnection => "no_connection",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Io => "io_error",
            Self::Unrecorded => "unrecorded",
            Self::Bug => "internal_error",
        }
    }

    /// Whether the call ended before its tool ran. Such a call says nothing about the tool's health.
    pub fn is_refusal(self) -> bool {
        match self {
            Self::NoTool
            | Self::NotOffered
            | Self::BadArgs
            | Self::BadRegex
            | Self::BadGlob
            | Self::Refused
            | Self::Declined
            | Self::ApprovalNeeded
            | Self::ConfirmationNeeded
            | Self::InputNeeded
            | Self::Outside
            | Self::Protected
            | Self::Unrecorded => true,
            Self::Timeout
            | Self::Cancelled
            | Self::NotFound
            | Self::NoMatch
            | Self::NotUnique
            | Self::BadRange
            | Self::Permission
            | Self::Exists
            | Self::NotRegular
            | Self::IsDirectory
            | Self::NotDirectory
            | Self::TooLarge
            | Self::OutputTooLarge
            | Self::NotText
            | Self::Changed
            | Self::NoConnection
            | Self::Unavailable
            | Self::Failed
            | Self::Io
            | Self::Bug => false,
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolError {
    /// The kind of error, for programs.
    pub kind: ErrorKind,
    /// The sentence for readers: what happened, to what.
    pub message: String,
    /// The hint: what to do next.
    pub hint: Option<String>,
    /// The path that the error is about, as the caller wrote it.
    pub path: Option<String>,
    /// Other facts for programs.
    pub context: Map<String, Value>,
}

impl ToolError {
    /// Makes an error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, path: None, context: Map::new() }
    }

    /// Adds a hint: what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the path that the error is about.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Adds a fact to the context.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.context.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the path that the error is about; empty without one.
    pub fn path_text(&self) -> &str {
        self.path.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_spelling_of_its_own() {
        let mut names: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }
}
