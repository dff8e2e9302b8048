//! Where the sandbox keeps its own files in the state folder.

use std::path::{Path, PathBuf};

/// The sandbox's part of the state folder.
#[derive(Clone)]
pub(crate) struct SandboxFolder(PathBuf);

impl SandboxFolder {
    /// Returns the sandbox's part of `state`.
    pub(crate) fn new(state: &Path) -> Self {
        Self(state.join("sandbox"))
    }

    /// The folder of the files that list which covers are in place.
    pub(crate) fn covers(&self) -> PathBuf {
        self.0.join("covers")
    }

    /// The folder of the maps of each root's folders.
    pub(crate) fn folder_maps(&self) -> PathBuf {
        self.0.join("folders")
    }

    /// The folder of the commands that are under way.
    pub(crate) fn under_way(&self) -> PathBuf {
        self.0.join("under-way")
    }

    /// The folder of the lists of repositories that commands made.
    pub(crate) fn made_repositories(&self) -> PathBuf {
        self.0.join("made")
    }

    /// The `/etc` that commands see.
    pub(crate) fn etc(&self) -> PathBuf {
        self.0.join("etc")
    }

    /// The `/etc` that workers see.
    pub(crate) fn worker_etc(&self) -> PathBuf {
        self.0.join("worker-etc")
    }

    /// The caches that commands share.
    pub(crate) fn caches(&self) -> PathBuf {
        self.0.join("caches")
    }

    /// The file that says on which machine, and with which programs, the self-test passed.
    pub(crate) fn self_test(&self) -> PathBuf {
        self.0.join("self-test")
    }

    /// The folder of what the canary must not reach.
    pub(crate) fn canary(&self) -> PathBuf {
        self.0.join("canary")
    }
}
