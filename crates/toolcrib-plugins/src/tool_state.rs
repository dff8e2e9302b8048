//! Which version of each tool is active, and which ones were. One file for each tool, replaced as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::name_form::check_form;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::private_file::{PRIVATE_MODE, if_there, make_private_folder, read_json, replace};
use crate::version_hash::VersionHash;

/// The largest file of a tool's state, in bytes.
const MAX_STATE_BYTES: u64 = 16 << 20;

/// What is known about one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolState {
    /// The version that runs.
    pub active: Option<VersionHash>,
    /// Whether it is on offer.
    #[serde(rename = "enabled")]
    pub is_enabled: bool,
    /// The digest of the file in the tools folder when it was last looked at. Only a file that changed since then can
    /// make another version active: otherwise a reload would take a roll-back back.
    #[serde(default)]
    pub seen: Option<String>,
    /// The versions that became active, the oldest first.
    pub history: Vec<Activation>,
}

/// A version that became active.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activation {
    /// The version.
    pub hash: VersionHash,
    /// The digest of its code, by which a file in the tools folder is found again.
    pub code: String,
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub by: String,
    /// How.
    pub how: ActivationKind,
}

/// How a version became active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// Somebody approved its proposal.
    Approved,
    /// Somebody rolled back to it.
    RolledBack,
    /// A reload found its file in the tools folder.
    Reloaded,
    /// An administrator wrote it, where the settings want no approval.
    Written,
}

impl ActivationKind {
    /// Returns the spelling on wires and for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::RolledBack => "rolled_back",
            Self::Reloaded => "reloaded",
            Self::Written => "written",
        }
    }
}

/// The states of all tools.
#[derive(Clone, Debug)]
pub(crate) struct ToolStates {
    folder: PathBuf,
}

impl Default for ToolState {
    fn default() -> Self {
        Self { active: None, is_enabled: true, seen: None, history: Vec::new() }
    }
}

impl ToolState {
    /// Makes a version active.
    pub(crate) fn activate(&mut self, activation: Activation) {
        self.active = Some(activation.hash.clone());
        self.history.push(activation);
    }

    /// Returns the versions, each once, in the order in which they arrived. To roll back to one is no arrival, so that
    /// the version before it stays the same.
    pub fn versions(&self) -> Vec<&VersionHash> {
        let mut versions: Vec<&VersionHash> = Vec::new();
        let arrived = self.history.iter().filter(|it| it.how != ActivationKind::RolledBack);
        for activation in arrived {
            versions.retain(|hash| **hash != activation.hash);
            versions.push(&activation.hash);
        }
        versions
    }

    /// Returns the version that arrived before the active one.
    pub fn version_before(&self) -> Option<&VersionHash> {
        let versions = self.versions();
        let place = versions.iter().position(|hash| Some(*hash) == self.active.as_ref())?;
        place.checked_sub(1).map(|before| versions[before])
    }

    /// Returns the version whose code has this digest, the newest first.
    pub(crate) fn version_of_code(&self, digest: &str) -> Option<&Activation> {
        self.history.iter().rev().find(|it| it.code == digest)
    }

    /// Returns when, how and by whom the active version became active.
    pub fn last_activation(&self) -> Option<&Activation> {
        self.history.iter().rev().find(|it| Some(&it.hash) == self.active.as_ref())
    }
}

impl ToolStates {
    pub(crate) fn new(plugins: &Path) -> Self {
        Self { folder: plugins.join("tools") }
    }

    /// Returns the names of all tools that there is a state of, sorted.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let Some(entries) = if_there(fs::read_dir(&self.folder))? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|name| name.strip_suffix(".json"));
            names.extend(name.filter(|name| check_form(name).is_ok()).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the state of a tool, if there is one.
    pub(crate) fn find(&self, name: &str) -> Result<Option<ToolState>, PluginError> {
        let read = read_json(&self.path(name)?, MAX_STATE_BYTES);
        if_there(read).map_err(|err| {
            let message = format!("the state of `{name}` cannot be used: {err}");
            PluginError::new(PluginErrorKind::Store, message)
        })
    }

    /// Puts a state in the place of the old one. The caller holds the lock.
    pub(crate) fn save(&self, name: &str, state: &ToolState) -> Result<(), PluginError> {
        make_private_folder(&self.folder)?;
        let text = serde_json::to_vec_pretty(state).map_err(io::Error::from)?;
        Ok(replace(&self.path(name)?, &text, PRIVATE_MODE)?)
    }

    fn path(&self, name: &str) -> Result<PathBuf, PluginError> {
        check_form(name)?;
        Ok(self.folder.join(format!("{name}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(digit: char) -> VersionHash {
        VersionHash::parse(&digit.to_string().repeat(64)).unwrap()
    }

    fn activation(digit: char, how: ActivationKind) -> Activation {
        let (code, by) = (digit.to_string(), "bob".to_owned());
        Activation { hash: hash(digit), code, at: Timestamp::UNIX_EPOCH, by, how }
    }

    #[test]
    fn a_name_never_becomes_a_path_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let states = ToolStates::new(folder.path());
        let longest = format!("a{}", "0".repeat(39));
        for good in ["a", "analyze_logs", "x2", &longest] {
            states.save(good, &ToolState::default()).unwrap();
            assert_eq!(states.find(good).unwrap(), Some(ToolState::default()));
        }
        let too_long = format!("{longest}0");
        let bad = [
            "", "..", ".", "a/b", "../a", "/a", "a.b", "A", "2a", "_a", "a\0", "a\n", "ä",
            &too_long,
        ];
        for bad in bad {
            let kind = states.save(bad, &ToolState::default()).unwrap_err().kind;
            assert_eq!(kind, PluginErrorKind::BadName, "{bad:?}");
            assert_eq!(states.find(bad).unwrap_err().kind, PluginErrorKind::BadName, "{bad:?}");
        }
        fs::write(states.folder.join("A.json"), "{}").unwrap();
        assert_eq!(states.names().unwrap().len(), 4);
        fs::write(states.folder.join("a.json"), "{").unwrap();
        assert_eq!(states.find("a").unwrap_err().kind, PluginErrorKind::Store);
    }

    #[test]
    fn rolling_back_goes_backwards_only() {
        let mut state = ToolState::default();
        assert_eq!(state.version_before(), None);
        for digit in ['1', '2', '3'] {
            state.activate(activation(digit, ActivationKind::Approved));
        }
        assert_eq!(state.version_before(), Some(&hash('2')));
        state.activate(activation('2', ActivationKind::RolledBack));
        assert_eq!(state.version_before(), Some(&hash('1')));
        state.activate(activation('1', ActivationKind::RolledBack));
        assert_eq!(state.version_before(), None, "it does not go forward to what was bad");
        state.activate(activation('2', ActivationKind::Approved));
        assert_eq!(state.versions(), [&hash('1'), &hash('3'), &hash('2')]);
        assert_eq!(state.version_of_code("3").unwrap().hash, hash('3'));
        assert_eq!(state.last_activation().unwrap().how, ActivationKind::Approved);
    }
}
