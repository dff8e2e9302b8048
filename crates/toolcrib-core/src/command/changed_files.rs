//! The files that changed while a command ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files of the workspace that changed while a command ran. Toolcrib finds them by their times after the
/// command's end, so another program may have changed some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFiles {
    /// New files, also those that replaced others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
    /// Files that were there before and have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Files that are gone, where their names were known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Folders from which something else was removed, or in which something was made and removed again.
    #[serde(rename = "thinned", default, skip_serializing_if = "Vec::is_empty")]
    pub folders_with_removals: Vec<String>,
    /// What is held because git would run it, each with its file and the id under which it is held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// How many files named on the command line have no snapshot: too many, too large, not readable.
    #[serde(rename = "unkept", default, skip_serializing_if = "is_zero")]
    pub without_snapshot: u64,
    /// How many changed files there are beyond those that are named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Whether Toolcrib did not look at the whole workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl ChangedFiles {
    /// Whether nothing changed, as far as Toolcrib looked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns every file that is named, each with what happened to it.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("made", &self.made),
            ("changed", &self.changed),
            ("removed", &self.removed),
            ("thinned", &self.folders_with_removals),
        ];
        all.into_iter()
            .flat_map(|(what, paths)| paths.iter().map(move |path| (what, path.as_str())))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
