//! A root as a search sees it: by handle, under the same rules as for reading.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use toolcrib_core::search::AccessMeta;
use toolcrib_core::{ErrorKind, SearchableTree, ToolError, Usage};

use crate::files::errno::outside;
use crate::files::root::{Root, is_special};
use crate::files::workspace::{Hardlinks, Purpose, Workspace};
use crate::usage;

/// One root of a workspace, for searches.
pub struct SearchRoot {
    workspace: Arc<Workspace>,
    index: usize,
}

impl Workspace {
    /// Returns the roots. Relative paths start from the first one.
    pub fn search_roots(self: &Arc<Self>) -> Vec<SearchRoot> {
        let root = |index| SearchRoot { workspace: Arc::clone(self), index };
        (0..self.roots.len()).map(root).collect()
    }
}

impl SearchRoot {
    fn root(&self) -> &Root {
        &self.workspace.roots[self.index]
    }

    fn is_foreign(&self, file: BorrowedFd<'_>, access: AccessMeta) -> bool {
        access.device != self.root().id().device && is_special(&file)
    }
}

impl SearchableTree for SearchRoot {
    fn handle(&self) -> BorrowedFd<'_> {
        self.root().handle()
    }

    fn path(&self) -> &Path {
        self.root().path()
    }

    fn verify(&self) -> Result<(), ToolError> {
        self.root().verify()
    }

    fn directory(&self, path: &str) -> Result<Option<PathBuf>, ToolError> {
        let workspace = &self.workspace;
        let place = workspace.locate(path)?;
        if !std::ptr::eq(place.root, self.root()) {
            return Ok(None);
        }
        let (file, meta) = workspace.open(&place)?;
        if FileType::from_raw_mode(meta.st_mode) != FileType::Directory {
            let message = format!("`{path}` is not a directory");
            return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
        }
        workspace.check_access(&file, &meta, path, Purpose::Read)?;
        self.root().below(file.as_fd()).map(Some).ok_or_else(|| outside(path))
    }

    fn may_enter(&self, directory: BorrowedFd<'_>, access: AccessMeta) -> bool {
        // Root is held to what the owner could do.
        let may = !self.workspace.is_root_user || access.mode & 0o500 == 0o500;
        may && !self.is_foreign(directory, access)
    }

    fn is_hidden(&self, directory: &Path, name: &OsStr) -> bool {
        let workspace = &self.workspace;
        workspace.has_hidden() && workspace.is_hidden(&self.path().join(directory).join(name))
    }

    fn usage(&self) -> Usage {
        usage::of_thread()
    }

    fn add_usage(&self, part: &Usage) {
        usage::add(part);
    }

    fn read_refusal(&self, file: BorrowedFd<'_>, access: AccessMeta) -> Option<&'static str> {
        if self.workspace.is_root_user && access.mode & 0o400 == 0 {
            return Some("permission denied");
        }
        if access.links > 1 && self.workspace.rules.hardlinks == Hardlinks::Refuse {
            return Some(
                "it has several names (hard links), and one of them may be outside the workspace",
            );
        }
        self.is_foreign(file, access).then_some("it is on a special file system of the kernel")
    }
}
