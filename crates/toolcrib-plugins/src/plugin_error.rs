//! Errors about plugins: a kind for programs, a sentence for readers, a hint, and the place in the source.

use std::fmt;

use toolcrib_core::{ErrorKind, ToolError};

/// Why something could not be done with a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginError {
    /// The kind of error, for programs.
    pub kind: PluginErrorKind,
    /// The sentence for readers: what happened, to what.
    pub message: String,
    /// The hint: what to do next.
    pub hint: Option<String>,
    /// The line and the column in the plugin's source, from 1, if the error is about a place.
    pub place: Option<(u32, u32)>,
}

/// The kinds of errors about plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PluginErrorKind {
    /// The name is not one that a tool can have.
    BadName,
    /// The name is another tool's, or looks like it.
    NameTaken,
    /// The manifest has faults.
    BadManifest,
    /// What the settings say about an MCP server has faults.
    BadServer,
    /// A JSON Schema has faults.
    BadSchema,
    /// The plugin asks for more than the operator allows.
    TooManyPermissions,
    /// The plugin, or a part of it, is over a limit.
    TooLarge,
    /// The module could not be loaded, or its exports have faults.
    BadModule,
    /// An example of the plugin failed.
    ExampleFailed,
    /// Another proposal with this name waits for an answer.
    AlreadyPending,
    /// There is no such plugin, version or proposal.
    NotFound,
    /// The proposal was answered, or its time is over.
    Closed,
    /// What would be approved is not what was shown.
    Changed,
    /// The one who answers is the one who proposed.
    OwnProposal,
    /// Nobody has approved this version.
    NotApproved,
    /// The operator has switched tools of other authors off.
    Off,
    /// What the work needs is in use or missing now.
    Busy,
    /// Reading or writing the plugin's files failed.
    Store,
}

impl PluginErrorKind {
    /// Every kind, for tests that hold over all of them.
    pub const ALL: [Self; 18] = [
        Self::BadName,
        Self::NameTaken,
        Self::BadManifest,
        Self::BadServer,
        Self::BadSchema,
        Self::TooManyPermissions,
        Self::TooLarge,
        Self::BadModule,
        Self::ExampleFailed,
        Self::AlreadyPending,
        Self::NotFound,
        Self::Closed,
        Self::Changed,
        Self::OwnProposal,
        Self::NotApproved,
        Self::Off,
        Self::Busy,
        Self::Store,
    ];

    /// Returns the name of this kind on wires and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadName => "bad_name",
            Self::NameTaken => "name_taken",
            Self::BadManifest => "bad_manifest",
            Self::BadServer => "bad_server",
            Self::BadSchema => "bad_schema",
            Self::TooManyPermissions => "too_many_permissions",
            Self::TooLarge => "too_large",
            Self::BadModule => "bad_module",
            Self::ExampleFailed => "example_failed",
            Self::AlreadyPending => "already_pending",
            Self::NotFound => "proposal_not_found",
            Self::Closed => "proposal_closed",
            Self::Changed => "changed_since_shown",
            Self::OwnProposal => "own_proposal",
            Self::NotApproved => "not_approved",
            Self::Off => "plugins_off",
            Self::Busy => "busy",
            Self::Store => "store_failed",
        }
    }

    /// Returns the kind of the call's error, if a call fails because of this.
    fn of_call(self) -> ErrorKind {
        match self {
            Self::BadName
            | Self::NameTaken
            | Self::BadManifest
            | Self::BadServer
            | Self::BadSchema
            | Self::TooManyPermissions
            | Self::BadModule
            | Self::ExampleFailed => ErrorKind::BadArgs,
            Self::TooLarge => ErrorKind::TooLarge,
            Self::AlreadyPending => ErrorKind::Exists,
            Self::NotFound => ErrorKind::NotFound,
            Self::Closed | Self::Changed => ErrorKind::Changed,
            Self::OwnProposal | Self::NotApproved | Self::Off => ErrorKind::Refused,
            Self::Busy => ErrorKind::Unavailable,
            Self::Store => ErrorKind::Io,
        }
    }
}

impl PluginError {
    /// Makes an error of this kind with this message.
    pub fn new(kind: PluginErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, place: None }
    }

    /// Adds a hint: what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the place in the source, if there is one.
    pub fn at(mut self, place: Option<(u32, u32)>) -> Self {
        self.place = place;
        self
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PluginError {}

impl From<PluginError> for ToolError {
    fn from(err: PluginError) -> Self {
        let mut told = Self::new(err.kind.of_call(), err.message).with("reason", err.kind.as_str());
        told.hint = err.hint;
        match err.place {
            Some((line, column)) => told.with("line", line).with("column", column),
            None => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_spelling_of_its_own() {
        let mut names: Vec<_> = PluginErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PluginErrorKind::ALL.len());
    }

    #[test]
    fn a_call_is_told_the_reason_and_the_place() {
        let err = PluginError::new(PluginErrorKind::BadModule, "no `execute`").at(Some((3, 14)));
        let told = ToolError::from(err.hint("export it"));
        assert_eq!((told.kind, told.hint.as_deref()), (ErrorKind::BadArgs, Some("export it")));
        assert_eq!((&told.context["line"], &told.context["column"]), (&3.into(), &14.into()));
    }
}
