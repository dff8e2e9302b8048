//! The folder of all plugins: versions, approvals, proposals, and which version of each tool is active.
//!
//! Readers take no lock: every file is whole at any time, and a version is loaded only if its approval is there.
//! Writers take the lock, and change `generation` last, which processes that run watch.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::private_file::{
    PRIVATE_MODE, if_there, lock, make_private_folder, read_regular, replace,
};
use crate::proposal_store::ProposalStore;
use crate::tool_state::ToolStates;
use crate::version_approval::{ApprovalRule, VersionApprovals};
use crate::version_hash::VersionHash;
use crate::version_store::{SavedVersion, VersionStore};

/// The largest file of the generation, in bytes.
const MAX_GENERATION_BYTES: u64 = 32;

/// The folder of all plugins.
#[derive(Clone, Debug)]
pub struct PluginStore {
    folder: PathBuf,
    examined: PathBuf,
    pub(crate) versions: VersionStore,
    pub(crate) approvals: VersionApprovals,
    pub(crate) proposals: ProposalStore,
    pub(crate) states: ToolStates,
}

/// The versions that a process puts on its shelf.
#[derive(Debug, Default)]
pub struct ActiveTools {
    /// The versions, by the names of their tools.
    pub tools: Vec<SavedVersion>,
    /// The tools whose active version may not run, with the reason.
    pub problems: Vec<ToolProblem>,
}

/// Why a tool is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolProblem {
    /// The tool's name.
    pub name: String,
    /// The reason.
    pub error: PluginError,
}

impl PluginStore {
    /// Names the folder of the plugins in the state folder. Nothing is read or made.
    pub fn new(state: &Path) -> Self {
        let folder = state.join("plugins");
        Self {
            versions: VersionStore::new(&folder),
            approvals: VersionApprovals::new(&folder),
            proposals: ProposalStore::new(&folder),
            states: ToolStates::new(&folder),
            examined: folder.join("examined"),
            folder,
        }
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file that is replaced at each change, for processes that watch it.
    pub fn generation_file(&self) -> PathBuf {
        self.folder.join("generation")
    }

    /// Returns the folder of a version's own files.
    pub fn files_of(&self, hash: &VersionHash) -> PathBuf {
        self.versions.files_of(hash)
    }

    /// Returns the folder of a tool's volumes. All its versions have the same.
    pub fn volumes_of(&self, tool: &str) -> PathBuf {
        self.folder.join("volumes").join(tool)
    }

    /// Returns where the files of programs are while their examples run.
    pub(crate) fn examined_folder(&self) -> &Path {
        &self.examined
    }

    /// Loads the active version of every tool that is enabled. Without plugins, that is one look for a folder.
    pub fn active(&self, rule: ApprovalRule) -> Result<ActiveTools, PluginError> {
        let mut active = ActiveTools::default();
        for name in self.states.names()? {
            match self.active_version(&name, rule) {
                Ok(Some(version)) => active.tools.push(version),
                Ok(None) => {}
                Err(error) => active.problems.push(ToolProblem { name, error }),
            }
        }
        Ok(active)
    }

    /// Loads the active version of a tool, if it has one and is enabled.
    pub fn active_version(
        &self,
        name: &str,
        rule: ApprovalRule,
    ) -> Result<Option<SavedVersion>, PluginError> {
        let state = self.states.find(name)?.filter(|state| state.is_enabled);
        let Some(hash) = state.and_then(|state| state.active) else { return Ok(None) };
        let version = self.versions.load(&hash)?;
        if version.declaration.name != name {
            let other = toolcrib_core::escape::line(&version.declaration.name).into_owned();
            let message = format!("version {} of `{name}` is of the tool `{other}`", hash.short());
            return Err(PluginError::new(PluginErrorKind::Store, message));
        }
        self.approvals.require(&version, rule)?;
        Ok(Some(version))
    }

    /// Waits until nobody else changes the plugins. The lock is held until the file is dropped.
    pub(crate) fn lock(&self) -> io::Result<File> {
        make_private_folder(&self.folder)?;
        lock(&self.folder.join("lock"))
    }

    /// Tells the processes that run about a change. The caller holds the lock.
    pub(crate) fn next_generation(&self) -> io::Result<()> {
        let path = self.generation_file();
        // A number that cannot be parsed begins again: watchers look for another file, not for a larger number.
        let number = if_there(read_regular(&path, MAX_GENERATION_BYTES))
            .ok()
            .flatten()
            .and_then(|text| String::from_utf8(text).ok()?.trim().parse::<u64>().ok());
        let next = number.unwrap_or(0).wrapping_add(1);
        replace(&path, format!("{next}\n").as_bytes(), PRIVATE_MODE)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_generation_changes_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let store = PluginStore::new(folder.path());
        assert!(store.active(ApprovalRule::Always).unwrap().tools.is_empty());
        assert!(!folder.path().join("plugins").exists(), "to look makes nothing");
        let _lock = store.lock().unwrap();
        let read = || fs::read_to_string(store.generation_file()).unwrap();
        store.next_generation().unwrap();
        assert_eq!(read(), "1\n");
        store.next_generation().unwrap();
        assert_eq!(read(), "2\n");
        fs::write(store.generation_file(), "garbage").unwrap();
        store.next_generation().unwrap();
        assert_eq!(read(), "1\n");
    }
}
