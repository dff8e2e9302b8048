//! What a command may not change in the workspace although it may write there: what git, editors and
//! agents would later execute. What exists is mounted read-only over itself, with every folder above
//! it; what does not exist is covered by something empty for as long as commands run. Each mount is
//! checked again from inside, before the command begins: names can change their meaning in between.

use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, OFlags, ResolveFlags, statat};
use rustix::io::Errno;
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_inside::Shield;

use super::cover::{Cover, Covers, can_cover};
use super::repositories::Found;
use crate::root::{Root, open_below};

/// Parts of a git folder that name programs to run or lead git elsewhere for its settings, and what
/// covers each where it is missing.
const IN_GIT: [(&str, Cover); 4] = [
    ("hooks", Cover::Folder),
    ("config", Cover::File("")),
    ("config.worktree", Cover::File("")),
    ("commondir", Cover::File(".\n")),
];

/// Parts of a git folder that hold git folders of their own.
const GIT_FOLDERS_IN_GIT: [&str; 2] = ["modules", "worktrees"];

/// The most repositories within the workspace that are protected.
const MOST_REPOSITORIES: usize = 512;

/// The most folders at a root that are looked at.
const MOST_FOLDERS: usize = 3000;

/// Files at a root that commands may change, as developers do, and that other programs execute.
const EXECUTED_LATER: [&str; 13] = [
    ".pre-commit-config.yaml",
    "CMakeLists.txt",
    "Dockerfile",
    "HEAD",
    "Justfile",
    "Makefile",
    "Rakefile",
    "Taskfile.yml",
    "build.rs",
    "conftest.py",
    "justfile",
    "package.json",
    "setup.py",
];

/// Keeps the workspace protected until it is released.
pub(crate) struct Guard {
    root: PathBuf,
    shields: Vec<Shield>,
    /// Held on what is as empty as a cover: it may be one of someone with another state folder. Let go
    /// before our own covers are taken away.
    locks: Vec<OwnedFd>,
    covers: Covers,
    /// What other programs execute, as it is now.
    executed_later: Vec<Option<Stamp>>,
    /// Folders at the root that are repositories now.
    repositories: Vec<String>,
    /// How many repositories are more than are protected.
    left_out: usize,
}

/// Which state of a file: device, inode, size, time of its last change.
type Stamp = (u64, u64, u64, i64, i64);

impl Guard {
    /// Works out what to shield below `root`, and covers what is missing. `repositories` are the
    /// folders within it that have a git folder; `folder` is where we note which covers are ours.
    pub(crate) fn set(
        root: &Root,
        names: &[String],
        open: &[String],
        repositories: &Found,
        folder: &Path,
    ) -> Result<Self, ToolError> {
        let failed = |err: io::Error| {
            ToolError::new(ErrorKind::Io, format!("the workspace cannot be protected: {err}"))
                .hint("see to the state folder and the workspace, and try again")
        };
        // Before anything is looked at: what another command covered must stay until we are done.
        let covers = Covers::hold(root, folder).map_err(failed)?;
        let mut guard = Self {
            root: root.path().to_owned(),
            shields: Vec::new(),
            locks: Vec::new(),
            covers,
            executed_later: stamps(root.path()),
            repositories: repositories_at(root.path()),
            left_out: 0,
        };
        let is_shut = |name: &str| !open.iter().any(|it| it == name);
        if is_shut(".git") {
            guard.shield_git(root)?;
            for repository in repositories.open.iter().take(MOST_REPOSITORIES) {
                guard.shield_within(root, repository)?;
            }
            guard.left_out = repositories.open.len().saturating_sub(MOST_REPOSITORIES);
            // Nobody can say what is in there, so nobody changes it.
            for folder in repositories.closed.iter().take(MOST_REPOSITORIES) {
                guard.hold_way(root, folder)?;
                guard.push(root, folder, true)?;
            }
        }
        let own = [".toolcrib".to_owned()];
        for name in own.iter().chain(names).filter(|name| is_shut(name)) {
            guard.shield_or_cover(root, Path::new(name), Cover::Folder)?;
        }
        Ok(guard)
    }

    /// The mounts, in the order to make them in.
    pub(crate) fn shields(&self) -> &[Shield] {
        &self.shields
    }

    /// Shields what is there, or covers its place and shields that.
    fn shield_or_cover(&mut self, root: &Root, path: &Path, cover: Cover) -> Result<(), ToolError> {
        if look(root, path)?.is_none() {
            let covered = self.covers.add(path, cover);
            let is_covered = covered.map_err(|err| {
                let message = format!("`{}` cannot be covered: {err}", path.display());
                ToolError::new(ErrorKind::Io, message)
            })?;
            // Where we cannot make it, neither can a command.
            if !is_covered {
                return Ok(());
            }
        }
        self.push(root, path, true)
    }

    fn push(&mut self, root: &Root, path: &Path, is_read_only: bool) -> Result<(), ToolError> {
        let is = identity(root, path)?;
        if is_read_only {
            self.locks.extend(lock_if_empty(root, path, is));
        }
        match self.shields.iter_mut().find(|shield| shield.path == path) {
            // What is only held for something within it may itself be protected.
            Some(shield) => shield.is_read_only |= is_read_only,
            None => self.shields.push(Shield { path: path.to_owned(), is_read_only, is }),
        }
        Ok(())
    }

    /// The repository that the workspace itself is, or may not become.
    fn shield_git(&mut self, root: &Root) -> Result<(), ToolError> {
        let git = Path::new(".git");
        match look(root, git)? {
            Some(FileType::Directory) if !self.covers.has(git) => self.shield_folder(root, git),
            // A worktree's or submodule's pointer to its git folder.
            Some(FileType::RegularFile) => {
                self.push(root, git, true)?;
                let elsewhere = pointed_to(root, git);
                match elsewhere.filter(|folder| look(root, folder).ok().flatten().is_some()) {
                    Some(folder) => {
                        self.hold_way(root, &folder)?;
                        self.shield_folder(root, &folder)
                    }
                    None => Ok(()),
                }
            }
            _ => self.shield_or_cover(root, git, Cover::Folder),
        }
    }

    /// A repository within the workspace.
    fn shield_within(&mut self, root: &Root, repository: &Path) -> Result<(), ToolError> {
        let git = repository.join(".git");
        let kind = match look(root, &git) {
            Ok(Some(kind)) => kind,
            // It is gone, or it is a link, which nobody can protect.
            Ok(None) => return Ok(()),
            Err(err) if err.kind == ErrorKind::Protected => return Ok(()),
            Err(err) => return Err(err.hint("see to its folder: commands could have closed it")),
        };
        // With a link on the way to it, it is none of this place. A command that could put one there
        // could change the repository anyhow: those that it cannot are held.
        if is_behind_link(root, &git) {
            return Ok(());
        }
        self.hold_way(root, repository)?;
        if kind != FileType::Directory {
            return self.push(root, &git, true);
        }
        let held = self.shields.len();
        if self.shield_folder(root, &git).is_err() {
            // What is odd about it makes all of it read-only.
            self.shields.truncate(held);
            self.push(root, &git, true)?;
        }
        Ok(())
    }

    /// A git folder: held, with what names programs read-only. What is odd about it makes all of it
    /// read-only.
    fn shield_folder(&mut self, root: &Root, git: &Path) -> Result<(), ToolError> {
        let is_whole = matches!(look(root, &git.join("HEAD")), Ok(Some(FileType::RegularFile)));
        if !is_whole || !can_cover(&git.join("hooks")) {
            return self.push(root, git, true);
        }
        self.push(root, git, false)?;
        for (name, cover) in IN_GIT {
            self.shield_or_cover(root, &git.join(name), cover)?;
        }
        for name in GIT_FOLDERS_IN_GIT {
            self.shield_or_cover(root, &git.join(name), Cover::Folder)?;
        }
        Ok(())
    }

    /// Holds a folder and every one above it, outermost first.
    fn hold_way(&mut self, root: &Root, folder: &Path) -> Result<(), ToolError> {
        let mut way: Vec<&Path> = folder.ancestors().collect();
        way.retain(|path| !path.as_os_str().is_empty());
        way.into_iter().rev().try_for_each(|path| self.push(root, path, false))
    }

    /// Returns the first shield whose place has something else in it by now: a mount goes with what it
    /// is on when someone outside replaces that.
    pub(crate) fn broken(&self) -> Option<&Path> {
        use std::os::unix::fs::MetadataExt;
        let is_broken = |shield: &&Shield| {
            let now = fs::symlink_metadata(self.root.join(&shield.path));
            now.map_or(true, |now| (now.dev(), now.ino()) != shield.is)
        };
        self.shields.iter().find(is_broken).map(|shield| shield.path.as_path())
    }

    /// Lets go when the command is over, and returns what a reader should know.
    pub(crate) fn release(self) -> Vec<String> {
        let mut notes = Vec::new();
        let now = stamps(&self.root);
        let changed = EXECUTED_LATER.iter().zip(self.executed_later.iter().zip(&now));
        let changed: Vec<&str> =
            changed.filter(|(_, (then, now))| then != now).map(|(name, _)| *name).collect();
        if !changed.is_empty() {
            let names = changed.join("`, `");
            notes.push(format!(
                "changed what other programs execute: `{names}`; look before you run it"
            ));
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} repositories in the workspace were not protected: more than {MOST_REPOSITORIES}",
                self.left_out
            ));
        }
        let made = repositories_at(&self.root);
        let made: Vec<&String> = made.iter().filter(|it| !self.repositories.contains(it)).collect();
        if !made.is_empty() {
            let names: Vec<&str> = made.into_iter().map(String::as_str).collect();
            notes.push(format!(
                "made repositories: `{}`; git executes what their settings name",
                names.join("`, `")
            ));
        }
        notes
    }
}

/// The state of each file that other programs execute.
fn stamps(root: &Path) -> Vec<Option<Stamp>> {
    use std::os::unix::fs::MetadataExt;
    let stamp = |name: &&str| {
        let meta = fs::symlink_metadata(root.join(name)).ok()?;
        Some((meta.dev(), meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
    };
    EXECUTED_LATER.iter().map(stamp).collect()
}

/// The folders at a root that are repositories.
fn repositories_at(root: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    let is_repository = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && fs::symlink_metadata(entry.path().join(".git")).is_ok()
    };
    let found = entries.flatten().take(MOST_FOLDERS).filter(is_repository);
    found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns which file or folder is at a path, no link on the way to it.
fn identity(root: &Root, path: &Path) -> Result<(u64, u64), ToolError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let mode = rustix::fs::Mode::empty();
    let found = open_below(root.handle(), path, flags, mode, resolve)
        .and_then(|handle| rustix::fs::fstat(&handle))
        .map_err(|errno| unprotected(path, errno))?;
    Ok((found.st_dev, found.st_ino))
}

/// Whether a link is on the way to a path.
fn is_behind_link(root: &Root, path: &Path) -> bool {
    let (mode, resolve) = (rustix::fs::Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let opened = open_below(root.handle(), path, OFlags::PATH | OFlags::NOFOLLOW, mode, resolve);
    opened.is_err_and(|errno| errno == Errno::LOOP)
}

/// Returns a lock on what could be a cover, so that nobody takes it away.
fn lock_if_empty(root: &Root, path: &Path, is: (u64, u64)) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let (mode, resolve) = (rustix::fs::Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let handle = open_below(root.handle(), path, flags, mode, resolve).ok()?;
    let meta = rustix::fs::fstat(&handle).ok()?;
    let is_empty = match FileType::from_raw_mode(meta.st_mode) {
        FileType::Directory => fs::read_dir(root.path().join(path)).ok()?.next().is_none(),
        _ => meta.st_size <= 2,
    };
    let is_same = (meta.st_dev, meta.st_ino) == is;
    let lock = rustix::fs::FlockOperation::NonBlockingLockShared;
    (is_empty && is_same && rustix::fs::flock(&handle, lock).is_ok()).then_some(handle)
}

fn unprotected(path: &Path, errno: Errno) -> ToolError {
    let why = io::Error::from(errno);
    ToolError::new(ErrorKind::Io, format!("`{}` cannot be protected: {why}", path.display()))
}

/// Returns what is at a path, no link followed. A link can be replaced by anyone who can write beside
/// it, and nothing can be mounted over it: it cannot be protected.
fn look(root: &Root, path: &Path) -> Result<Option<FileType>, ToolError> {
    let shown = path.display();
    let top = path.iter().next().map_or_else(String::new, |top| top.to_string_lossy().into_owned());
    match statat(root.handle(), path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(meta) => match FileType::from_raw_mode(meta.st_mode) {
            FileType::Symlink => Err(ToolError::new(
                ErrorKind::Protected,
                format!("`{shown}` is a link, so commands cannot be kept from replacing it"),
            )
            .hint(format!(
                "make it a real file or folder, or let commands change it with \
                 `sandbox.unprotected`: [\"{top}\"]"
            ))),
            kind => Ok(Some(kind)),
        },
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(unprotected(path, errno)),
    }
}

/// Returns the git folder that a `.git` file points to, if it is below the root.
fn pointed_to(root: &Root, file: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    fs::File::open(root.path().join(file)).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let target = root.path().join(text.strip_prefix("gitdir:")?.trim());
    let below = fs::canonicalize(target).ok()?.strip_prefix(root.path()).ok()?.to_owned();
    (!below.as_os_str().is_empty()).then_some(below)
}
