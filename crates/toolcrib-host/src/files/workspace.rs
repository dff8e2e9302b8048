//! The workspace: the roots that calls are confined to, and the checks that every opened file passes. A path is opened
//! by the kernel below a handle and checked afterwards, never the other way round.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, accessat, fstat, statat};
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{
    CallId, Cancel, Change, ChangeJournal, Clock, EntryKind, ErrorKind, Snapshots, ToolError,
    ToolName,
};

use crate::files::errno::{errno_error, outside};
use crate::files::protect;
use crate::files::root::{Root, is_special, real_path};
use crate::files::rooted_path::RootedPath;
use crate::files::stamp::PinnedState;

/// The roots that calls are confined to, and the rules inside them. Shared by all calls.
pub struct Workspace {
    pub(crate) roots: Vec<Root>,
    pub(crate) rules: FileRules,
    pub(crate) undo: UndoStore,
    pub(crate) clock: Arc<dyn Clock>,
    /// Folders below a root that no call may reach: Toolcrib's own state and settings.
    hidden: Vec<PathBuf>,
    pub(crate) is_root_user: bool,
}

/// The ports that keep what `undo` needs.
#[derive(Clone)]
pub struct UndoStore {
    /// The journal of the changes that file tools make.
    pub journal: Arc<dyn ChangeJournal>,
    /// The snapshots of the files that running commands may change.
    pub snapshots: Arc<dyn Snapshots>,
}

/// The operator's settings for files.
#[derive(Clone, Debug)]
pub struct FileRules {
    /// What to do with a file that has several hard links.
    pub hardlinks: Hardlinks,
    /// Names that no tool may change, beside the built-in ones.
    pub protected: Vec<String>,
    /// The largest file that an undo copy is kept of, in bytes.
    pub undo_bytes: u64,
}

/// What to do with a file that has several hard links: another name of it may be outside the roots, and a handle
/// cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardlinks {
    /// The file is not opened.
    Refuse,
    /// The file is opened like any other.
    Allow,
}

/// Who owns a file that has no predecessor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewFileOwner {
    /// The user of this process.
    Process,
    /// The owner of the directory that the file is made in.
    ParentDirectory,
}

/// What opening a file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

impl Workspace {
    /// Creates a workspace. No call can reach the folders in `hidden`, even if they are below a root.
    pub fn new(
        roots: Vec<Root>,
        rules: FileRules,
        hidden: &[PathBuf],
        undo: UndoStore,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let real = |path: &PathBuf| real_place(path);
        let is_below = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root.path()));
        let hidden = hidden.iter().map(real).filter(is_below).collect();
        let is_root_user = rustix::process::geteuid().is_root();
        Self { roots, rules, undo, clock, hidden, is_root_user }
    }

    /// Returns the first root, which relative paths start from.
    pub fn root(&self) -> Option<&Root> {
        self.roots.first()
    }

    /// Returns the files of this workspace as one call sees them.
    pub fn for_call(self: &Arc<Self>, call: CallId, tool: &ToolName, cancel: Cancel) -> CallFiles {
        CallFiles {
            workspace: Arc::clone(self),
            call,
            tool: tool.clone(),
            cancel,
            changes: Mutex::default(),
            pinned: Mutex::default(),
            denied: OnceLock::new(),
            decided: OnceLock::new(),
        }
    }

    /// Finds the root and the path below it that a caller's path means.
    pub(crate) fn locate<'a>(&'a self, path: &'a str) -> Result<RootedPath<'a>, ToolError> {
        let place = RootedPath::parse(&self.roots, path)?;
        place.root.verify()?;
        Ok(place)
    }

    /// Opens the file or directory at `place`.
    pub(crate) fn open(&self, place: &RootedPath<'_>) -> Result<(OwnedFd, Stat), ToolError> {
        let failed = |errno| errno_error(errno, place.shown);
        open_path(place)?;
        // Without NONBLOCK, a pipe that was put there since would block the call until somebody writes to it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = place.root.open_below(&place.below, flags, Mode::empty()).map_err(failed)?;
        let meta = fstat(&file).map_err(failed)?;
        self.check_reachable(place.root, &file, place.shown)?;
        Ok((file, meta))
    }

    /// Fails if calls may not reach an open file or directory, whatever its path.
    pub(crate) fn check_reachable(
        &self,
        root: &Root,
        file: &OwnedFd,
        shown: &str,
    ) -> Result<(), ToolError> {
        let meta = fstat(file).map_err(|errno| errno_error(errno, shown))?;
        if meta.st_dev != root.id().device && is_special(file) {
            let message = format!("`{shown}` is on a special file system of the kernel");
            return Err(ToolError::new(ErrorKind::NotRegular, message).at(shown));
        }
        if self.hidden.is_empty() && !self.is_root_user {
            return Ok(());
        }
        let path = real_path(file.as_fd()).ok_or_else(|| outside(shown))?;
        if self.is_hidden(&path) {
            return Err(outside(shown));
        }
        match path.strip_prefix(root.path()) {
            Ok(below) if self.is_root_user => check_passable(root, below, shown),
            _ => Ok(()),
        }
    }

    /// Returns who owns new files. What the superuser makes belongs to the owner of the directory.
    pub(crate) fn new_file_owner(&self) -> NewFileOwner {
        if self.is_root_user { NewFileOwner::ParentDirectory } else { NewFileOwner::Process }
    }

    /// Whether some of Toolcrib's own folders are below a root.
    pub(crate) fn has_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Whether a real path is in one of Toolcrib's own folders.
    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Fails if nothing may be changed at `below`, a path under `root` without links.
    pub(crate) fn check_change(
        &self,
        root: &Root,
        below: &Path,
        shown: &str,
    ) -> Result<(), ToolError> {
        if self.is_hidden(&root.path().join(below)) {
            return Err(outside(shown));
        }
        protect::check(below, &self.rules.protected, shown)?;
        protect::check_git_folder(root, below, shown)
    }

    /// Opens a regular file.
    pub(crate) fn open_file(
        &self,
        place: &RootedPath<'_>,
        purpose: Purpose,
    ) -> Result<(OwnedFd, Stat), ToolError> {
        let (file, meta) = self.open(place)?;
        self.check_file(&file, &meta, place.shown, purpose)?;
        Ok((file, meta))
    }

    /// Fails if a call may not read or write a file.
    pub(crate) fn check_file(
        &self,
        file: &OwnedFd,
        meta: &Stat,
        shown: &str,
        purpose: Purpose,
    ) -> Result<(), ToolError> {
        match kind_of(FileType::from_raw_mode(meta.st_mode)) {
            EntryKind::File => {}
            EntryKind::Directory => {
                let message = format!("`{shown}` is a directory");
                return Err(ToolError::new(ErrorKind::IsDirectory, message).at(shown));
            }
            EntryKind::Link | EntryKind::Special => return Err(not_regular(shown)),
        }
        if meta.st_nlink > 1 && self.rules.hardlinks == Hardlinks::Refuse {
            let message = format!(
                "`{shown}` has {} names (hard links), and another one may be outside the workspace",
                meta.st_nlink
            );
            return Err(ToolError::new(ErrorKind::Protected, message)
                .hint("set `files.hardlinks = \"allow\"` in your own settings to open such files")
                .at(shown));
        }
        self.check_access(file, meta, shown, purpose)
    }

    /// Fails if a file or directory may not be read or written. The kernel decides, access control lists included.
    /// The superuser is held to what the owner could do, because its power over modes is not the agent's.
    pub(crate) fn check_access(
        &self,
        file: &OwnedFd,
        meta: &Stat,
        shown: &str,
        purpose: Purpose,
    ) -> Result<(), ToolError> {
        let (bits, access, what) = match purpose {
            Purpose::Read => (0o400, Access::READ_OK, "cannot be read"),
            Purpose::Write => (0o200, Access::WRITE_OK, "is read-only"),
        };
        let is_allowed = if self.is_root_user {
            meta.st_mode & bits != 0
        } else {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
        };
        if is_allowed {
            return Ok(());
        }
        let message = format!("`{shown}` {what}: its mode is {:03o}", meta.st_mode & 0o777);
        Err(ToolError::new(ErrorKind::Permission, message).at(shown))
    }
}

/// Opens the file at `place` with `O_PATH`, which does not open a pipe or a device: that would be an act in itself.
pub(crate) fn open_path(place: &RootedPath<'_>) -> Result<(OwnedFd, Stat), ToolError> {
    let failed = |errno| errno_error(errno, place.shown);
    let there = place.root.open_below(&place.below, OFlags::PATH, Mode::empty()).map_err(failed)?;
    let meta = fstat(&there).map_err(failed)?;
    if kind_of(FileType::from_raw_mode(meta.st_mode)) == EntryKind::Special {
        return Err(not_regular(place.shown));
    }
    Ok((there, meta))
}

/// Returns the path with all links resolved, as far as it exists.
pub fn real_place(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(there), path.strip_prefix(there)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// Fails if the owner of a directory on the way could not pass through it. Only the superuser needs this check.
fn check_passable(root: &Root, below: &Path, shown: &str) -> Result<(), ToolError> {
    for directory in below.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()) {
        let meta = statat(root.handle(), directory, AtFlags::SYMLINK_NOFOLLOW);
        if meta.is_ok_and(|meta| meta.st_mode & 0o100 == 0) {
            return Err(errno_error(rustix::io::Errno::ACCESS, shown));
        }
    }
    Ok(())
}

fn not_regular(shown: &str) -> ToolError {
    ToolError::new(ErrorKind::NotRegular, format!("`{shown}` is not a regular file")).at(shown)
}

/// The files of a workspace as one call sees them.
pub struct CallFiles {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) call: CallId,
    pub(crate) tool: ToolName,
    pub(crate) cancel: Cancel,
    /// The changes that the call has made.
    pub(crate) changes: Mutex<Vec<Change>>,
    /// The states of files that a person approved, by path.
    pub(crate) pinned: Mutex<HashMap<String, Vec<PinnedState>>>,
    /// The paths that policy denies to the call.
    pub(crate) denied: OnceLock<DeniedPaths>,
    /// Where each path of the call led when it was decided on, by the path as the caller wrote it.
    pub(crate) decided: OnceLock<HashMap<String, String>>,
}

/// Returns the kind of an entry.
pub(crate) fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}
