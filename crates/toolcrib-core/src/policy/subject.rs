//! The call that policy decides about.

use crate::command_reading::Reading;
use crate::tool_name::ToolName;

use super::tier::Tier;

/// What a decision is about: a call, as far as its tool can say beforehand what the call would do.
pub struct Subject<'a> {
    /// `catalogue/tool`.
    pub tool: &'a ToolName,
    /// How much harm the tool could do.
    pub tier: Tier,
    /// The arguments as canonical text.
    pub canonical: &'a str,
    /// The directory that relative paths of rules are relative to.
    pub root: &'a str,
    /// The absolute paths that the call would read.
    pub reads: &'a [String],
    /// The absolute paths that the call would write.
    pub writes: &'a [String],
    /// The hosts that the call would reach.
    pub hosts: &'a [String],
    /// The command that the call would run.
    pub reading: Option<&'a Reading>,
}

impl Subject<'_> {
    /// Whether the call reads or writes any path.
    pub(super) fn has_paths(&self) -> bool {
        let proven = self.reading.and_then(|reading| reading.proven.as_ref().ok());
        !self.reads.is_empty()
            || !self.writes.is_empty()
            || proven.is_some_and(|proven| !proven.writes.is_empty())
    }

    /// Whether a path is in the workspace.
    pub(super) fn is_below_root(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.root).filter(|_| !self.root.is_empty());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the spellings of a path that rules may use: absolute, and relative to the root.
    pub(super) fn spellings<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let below = path.strip_prefix(self.root).map(|rest| rest.trim_start_matches('/'));
        std::iter::once(path).chain(below)
    }
}
