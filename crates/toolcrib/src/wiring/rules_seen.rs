//! Which rules were read, to say what is different about those that are read later.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toolcrib_core::policy::Policy;

/// The rules that were read.
#[derive(Clone, Default)]
pub(super) struct RulesSeen {
    /// The path and the hash of each file.
    pub(super) files: Vec<(String, String)>,
    ids: BTreeSet<String>,
}

impl RulesSeen {
    pub(super) fn new(files: &[(String, String)], policy: &Policy) -> Self {
        let ids = policy.rules().iter().map(|rule| rule.id.clone()).collect();
        Self { files: files.to_vec(), ids }
    }

    /// Returns what is different about the rules; nothing if the files are the same.
    pub(super) fn changes_since(&self, old: &Self) -> Option<Value> {
        let changed = self.files.iter().filter(|file| !old.files.contains(file));
        let gone = old.files.iter().filter(|(path, _)| !self.files.iter().any(|it| it.0 == *path));
        let files: Vec<&String> = changed.chain(gone).map(|(path, _)| path).collect();
        let added: Vec<&String> = self.ids.difference(&old.ids).collect();
        let removed: Vec<&String> = old.ids.difference(&self.ids).collect();
        let is_same = files.is_empty() && added.is_empty() && removed.is_empty();
        (!is_same).then(|| json!({"files": files, "added": added, "removed": removed}))
    }
}
