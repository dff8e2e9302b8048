//! A git repository at a revision.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolcrib_core::{Cancel, Connection, Search, ToolError};
use toolcrib_search::{FixedEngineOptions, FixedIndexStatus};

use crate::git::folder;
use crate::git::objects::GitObjects;
use crate::git::program::GitProgram;
use crate::git::resolve::resolve;
use crate::object_id::ObjectId;
use crate::revision::Revision;
use crate::revision_files::RevisionFiles;
use crate::revision_search::{RevisionSearch, search_in};

/// How a repository is read.
#[derive(Clone, Debug)]
pub struct GitRepositoryOptions {
    /// The most memory for the search index of the revision, in bytes.
    pub max_index_bytes: usize,
    /// How many threads may work on the index, and on one search.
    pub threads: usize,
    /// How long git may say nothing before a call fails.
    pub patience: Duration,
    /// The folders in which the program `git` is looked for, as in the variable `PATH`.
    pub program_path: std::ffi::OsString,
    /// Folders of which nothing is read: those of Toolcrib itself. Links in their paths must be resolved.
    pub closed_folders: Vec<PathBuf>,
}

impl Default for GitRepositoryOptions {
    fn default() -> Self {
        Self {
            max_index_bytes: 1 << 30,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            patience: Duration::from_secs(20),
            program_path: std::env::var_os("PATH").unwrap_or_default(),
            closed_folders: Vec::new(),
        }
    }
}

/// A git repository at a revision. What the revision leads to is found out once: a branch that moves, or is replaced
/// by force, changes nothing here.
pub struct GitRepository {
    commit: ObjectId,
    revision: Arc<Revision>,
    options: GitRepositoryOptions,
    search: OnceLock<Arc<RevisionSearch>>,
}

impl GitRepository {
    /// Opens a repository at a revision: a branch, a tag, a commit, or anything else that `git rev-parse` takes.
    pub fn open(path: &Path, revision: &str) -> Result<Self, ToolError> {
        Self::open_with(path, revision, GitRepositoryOptions::default(), &Cancel::default())
    }

    /// Opens a repository at a revision, with options, for a call that may be cancelled.
    pub fn open_with(
        path: &Path,
        revision: &str,
        options: GitRepositoryOptions,
        cancel: &Cancel,
    ) -> Result<Self, ToolError> {
        let folders = folder::find(path)?;
        folders.check_closed(&options.closed_folders)?;
        let git = GitProgram::find(&options.program_path, &folders)?;
        let objects = GitObjects::new(git.clone(), options.patience);
        let shown = path.display().to_string();
        let commit = resolve(&git, &objects, revision, &shown, cancel)?;
        let tree = objects.tree_of(&commit, cancel)?;
        let revision = Arc::new(Revision::new(Box::new(objects), tree, folders.root));
        Ok(Self { commit, revision, options, search: OnceLock::new() })
    }

    /// Returns the commit, in hexadecimal digits.
    pub fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// The absolute path that stands for the root in rules about paths: the work tree, or the bare repository.
    pub fn root(&self) -> PathBuf {
        self.revision.path().to_owned()
    }

    /// Returns the files as one call sees them.
    pub fn files_for(&self, cancel: &Cancel) -> RevisionFiles {
        RevisionFiles::new(Arc::clone(&self.revision), cancel.clone())
    }

    /// Returns search in the files. All calls share its index.
    pub fn search(&self) -> Arc<dyn Search> {
        let search = self.search.get_or_init(|| {
            let (max_memory_bytes, threads) = (self.options.max_index_bytes, self.options.threads);
            let options = FixedEngineOptions { max_memory_bytes, threads };
            Arc::new(search_in(Arc::clone(&self.revision), options))
        });
        Arc::clone(search) as _
    }

    /// Returns what the search index holds, once it is built.
    pub fn index_status(&self) -> Option<FixedIndexStatus> {
        self.search.get()?.status()
    }

    /// Returns files and search as the connection of one call.
    pub fn connect(&self, cancel: &Cancel) -> Connection {
        Connection { host: None, files: Arc::new(self.files_for(cancel)), search: self.search() }
    }
}

impl std::fmt::Debug for GitRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitRepository")
            .field("root", &self.revision.path())
            .field("commit", &self.commit)
            .finish_non_exhaustive()
    }
}
