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
    /// Whether all that the call does is to create files of text or to change their text.
    pub only_edits_text: bool,
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
        !self.root.is_empty() && is_below(path, self.root)
    }

    /// Whether the call does nothing but change the text of files below `folder`.
    pub(super) fn edits_only_below(&self, folder: &str) -> bool {
        let paths = self.writes.iter().chain(self.reads);
        self.only_edits_text
            && self.reading.is_none()
            && self.hosts.is_empty()
            && !self.writes.is_empty()
            && paths.into_iter().all(|path| is_below(path, folder))
    }

    /// Returns the spellings of a path that rules may use: absolute, and relative to the root.
    pub(super) fn spellings<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let below = path.strip_prefix(self.root).map(|rest| rest.trim_start_matches('/'));
        std::iter::once(path).chain(below)
    }
}

/// Whether an absolute path is a folder or below it.
fn is_below(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder.trim_end_matches('/'));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
