//! The guard protects what a command may not change in the workspace although it may write there: what git, editors
//! and agents would later execute. An existing file or folder is mounted read-only over itself, and every folder
//! above it is mounted over itself too. A missing one gets an empty cover for as long as commands run. The first
//! process inside checks each mount again before the command begins, because names can change their meaning in
//! between.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, OFlags, ResolveFlags, statat};
use rustix::io::Errno;
use toolcrib_core::runs_later::{LaterLevel, RunsLater};
use toolcrib_core::{ErrorKind, FileId, ToolError};
use toolcrib_inside::{Shield, ShieldKind};

use super::config::SandboxRules;
use super::cover::{Cover, WorkspaceCovers, can_cover};
use super::mask::{DeniedEntry, MOST_MASKS, too_many};
use super::sweep::{MadeIds, RootFolders, pointed_to};
use crate::files::root::{Root, identify, identify_at, open_below};

/// Parts of a git folder that name programs to run or lead git elsewhere for its settings, and the cover of each
/// where it is missing.
const PROTECTED_IN_GIT: [(&str, Cover); 4] = [
    ("hooks", Cover::Folder),
    ("config", Cover::File("")),
    ("config.worktree", Cover::File("")),
    ("commondir", Cover::File(".\n")),
];

/// Parts of a git folder that hold git folders of their own.
const GIT_FOLDERS_IN_GIT: [&str; 2] = ["modules", "worktrees"];

/// The most repositories within the workspace that are protected.
const MOST_REPOSITORIES: usize = 512;

/// Protects one root until it is released.
pub(crate) struct Guard {
    root: PathBuf,
    shields: Vec<Shield>,
    /// What each shield protects. Another file may get its inode when it is gone.
    identities: HashMap<PathBuf, FileId>,
    /// Locks on files and folders that are as empty as a cover: each may be a cover of a process with another state
    /// folder. They are released before our own covers are removed.
    locks: Vec<OwnedFd>,
    covers: Option<WorkspaceCovers>,
    /// How many repositories are not protected because there are too many.
    left_out: usize,
}

impl Guard {
    /// Makes a guard that protects nothing yet.
    pub(crate) fn of_nothing(root: &Root) -> Self {
        Self {
            root: root.path().to_owned(),
            shields: Vec::new(),
            identities: HashMap::new(),
            locks: Vec::new(),
            covers: None,
            left_out: 0,
        }
    }

    /// Works out what to shield below `root`, and covers what is missing. `folders` are its folders, and `made` the
    /// repositories that commands made, which commands may change. `folder` has the files that list the covers.
    pub(crate) fn set(
        root: &Root,
        rules: &SandboxRules,
        folders: &RootFolders,
        made: &MadeIds,
        folder: &Path,
    ) -> Result<Self, ToolError> {
        let failed = |err: io::Error| {
            ToolError::new(ErrorKind::Io, format!("the workspace cannot be protected: {err}"))
                .hint("check the state folder and the workspace, and try again")
        };
        // The lock comes before any check: a cover of another command must stay until we are done.
        let covers = WorkspaceCovers::hold(root, folder).map_err(failed)?;
        let mut guard = Self { covers: Some(covers), ..Self::of_nothing(root) };
        if rules.protects(".git") {
            guard.shield_git(root)?;
            let is_theirs = |git: &Path| !made.has_at(root, git);
            let repositories = folders.git.repositories.iter();
            let repositories: Vec<&PathBuf> =
                repositories.filter(|path| is_theirs(&path.join(".git"))).collect();
            for repository in repositories.iter().take(MOST_REPOSITORIES) {
                guard.shield_within(root, repository)?;
            }
            let has_triggers = |git: &Path| {
                let mut readings = folders.git.readings.iter();
                readings.any(|(path, reading)| path == git && !reading.triggers.is_empty())
            };
            let others = folders.git.with_other_names.iter();
            // A command that adds what is missing would make git run what was there before.
            let can_be_completed = |git: &Path| has_triggers(git) && !is_git_folder(root, git);
            let (incomplete, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
                others.partition(|git| can_be_completed(git));
            let others: Vec<&PathBuf> = others.into_iter().filter(|git| is_theirs(git)).collect();
            for folder in others.iter().take(MOST_REPOSITORIES) {
                guard.shield_bare(root, folder)?;
            }
            // Nobody can tell what a closed folder holds, so no command may change it.
            let closed: Vec<&PathBuf> = folders.closed.iter().chain(incomplete).collect();
            for folder in closed.iter().take(MOST_REPOSITORIES) {
                guard.hold_ancestors(root, folder)?;
                guard.push(root, folder, ShieldKind::ReadOnly)?;
            }
            let places = folders.git.readings.iter().flat_map(|(_, reading)| &reading.places);
            let places: Vec<&PathBuf> = places.collect();
            for place in places.iter().take(MOST_REPOSITORIES) {
                guard.shield_place(root, place)?;
            }
            let counts = [repositories.len(), others.len(), closed.len(), places.len()];
            guard.left_out =
                counts.into_iter().map(|count| count.saturating_sub(MOST_REPOSITORIES)).sum();
        }
        let own = RunsLater::names_at(LaterLevel::Refused).filter(|name| *name != ".git");
        let own: Vec<String> = own.map(str::to_owned).collect();
        for name in own.iter().chain(&rules.protected).filter(|name| rules.protects(name)) {
            guard.shield_or_cover(root, Path::new(name), Cover::Folder)?;
        }
        Ok(guard)
    }

    /// Returns the path of the root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the mounts, in the order in which they have to be made.
    pub(crate) fn shields(&self) -> &[Shield] {
        &self.shields
    }

    /// Shields the file or folder at `path`; if it is missing, covers it and shields the cover.
    fn shield_or_cover(&mut self, root: &Root, path: &Path, cover: Cover) -> Result<(), ToolError> {
        if kind_at(root, path)?.is_none() {
            let covered = self.covers.as_mut().map(|covers| covers.add(path, cover));
            let is_covered = covered.transpose().map_err(|err| {
                let message =
                    format!("no placeholder for `{}` can be created: {err}", path.display());
                ToolError::new(ErrorKind::Io, message)
            })?;
            // Where we cannot make the cover, a command cannot make the file either.
            if is_covered != Some(true) {
                return Ok(());
            }
        }
        self.push(root, path, ShieldKind::ReadOnly)
    }

    /// Masks what policy denies, and holds the folders above it in place: a command that could move one of them
    /// would put the file where the next command sees it.
    pub(crate) fn mask(&mut self, root: &Root, denied: Vec<DeniedEntry>) -> Result<(), ToolError> {
        let masked: HashSet<PathBuf> = denied.iter().map(|entry| entry.path.clone()).collect();
        // Under a mask there is nothing to protect.
        self.shields.retain(|shield| !shield.path.ancestors().any(|path| masked.contains(path)));
        let mut held: HashSet<&Path> = HashSet::new();
        let folders = denied.iter().filter_map(|entry| entry.path.parent());
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            if held.contains(folder) {
                continue;
            }
            self.hold_ancestors(root, folder)?;
            held.extend(folder.ancestors());
            if held.len() + denied.len() > MOST_MASKS {
                return Err(too_many());
            }
        }
        drop(held);
        for entry in &denied {
            // What is gone meanwhile is noticed inside.
            let identity = identity(root, &entry.path).ok();
            self.identities.extend(identity.map(|it| (entry.path.clone(), it)));
        }
        let masks = denied.into_iter();
        self.shields.extend(masks.map(|DeniedEntry { path, is }| Shield {
            path,
            kind: ShieldKind::Masked,
            is,
        }));
        Ok(())
    }

    /// Returns the absolute paths of what is masked.
    pub(crate) fn masked(&self) -> impl Iterator<Item = PathBuf> {
        let masks = self.shields.iter().filter(|shield| shield.kind == ShieldKind::Masked);
        masks.map(|shield| self.root.join(&shield.path))
    }

    fn push(&mut self, root: &Root, path: &Path, kind: ShieldKind) -> Result<(), ToolError> {
        let identity = identity(root, path)?;
        let is = (identity.device, identity.inode);
        if kind == ShieldKind::ReadOnly {
            self.locks.extend(lock_if_empty(root, path, is));
        }
        // A folder that was only held in place for something within it may itself be protected.
        if let Some(shield) = self.shields.iter_mut().find(|shield| shield.path == path) {
            shield.kind = shield.kind.max(kind);
        } else {
            self.identities.insert(path.to_owned(), identity);
            self.shields.push(Shield { path: path.to_owned(), kind, is });
        }
        Ok(())
    }

    /// Shields the repository that the root itself is; if it is none, prevents that it becomes one.
    fn shield_git(&mut self, root: &Root) -> Result<(), ToolError> {
        let git = Path::new(".git");
        match kind_at(root, git)? {
            Some(FileType::Directory) if !self.has_cover(git) => self.shield_folder(root, git),
            // The pointer of a worktree or submodule to its git folder.
            Some(FileType::RegularFile) => {
                self.push(root, git, ShieldKind::ReadOnly)?;
                let elsewhere = pointed_to(root, git);
                match elsewhere.filter(|folder| kind_at(root, folder).ok().flatten().is_some()) {
                    Some(folder) => {
                        self.hold_ancestors(root, &folder)?;
                        self.shield_folder(root, &folder)
                    }
                    None => Ok(()),
                }
            }
            _ => self.shield_or_cover(root, git, Cover::Folder),
        }
    }

    /// Whether the file or folder at this path is a cover, of this command or of another.
    pub(crate) fn has_cover(&self, path: &Path) -> bool {
        self.covers.as_ref().is_some_and(|covers| covers.has(path))
    }

    /// Shields a repository within the workspace.
    fn shield_within(&mut self, root: &Root, repository: &Path) -> Result<(), ToolError> {
        let git = repository.join(".git");
        let kind = match kind_at(root, &git) {
            Ok(Some(kind)) => kind,
            // The repository is gone, or its git folder is a link, which nobody can protect.
            Ok(None) => return Ok(()),
            Err(err) if err.kind == ErrorKind::Protected => return Ok(()),
            Err(err) => {
                return Err(err
                    .hint("check the permissions of its folder: a command may have changed them"));
            }
        };
        // Behind a link, the repository is not in this place. A command that could put a link there could change
        // the repository anyway: the folders that it may not change are held in place.
        if is_behind_link(root, &git) {
            return Ok(());
        }
        self.hold_ancestors(root, repository)?;
        if kind != FileType::Directory {
            return self.push(root, &git, ShieldKind::ReadOnly);
        }
        let before = self.shields.len();
        if self.shield_folder(root, &git).is_err() {
            // An unusual git folder is made read-only as a whole.
            self.shields.truncate(before);
            self.push(root, &git, ShieldKind::ReadOnly)?;
        }
        Ok(())
    }

    /// Shields the parts of a git folder with another name that are there. What is missing is not covered: people
    /// see such a folder as one of their own.
    fn shield_bare(&mut self, root: &Root, git: &Path) -> Result<(), ToolError> {
        if is_behind_link(root, git) {
            return Ok(());
        }
        self.hold_ancestors(root, git)?;
        for (name, _) in PROTECTED_IN_GIT {
            let part = git.join(name);
            if let Ok(Some(_)) = kind_at(root, &part) {
                self.push(root, &part, ShieldKind::ReadOnly)?;
            }
        }
        Ok(())
    }

    /// Shields a file or folder that the settings of git lead to.
    fn shield_place(&mut self, root: &Root, place: &Path) -> Result<(), ToolError> {
        let is_shielded = |path: &Path| {
            let mut shields = self.shields.iter();
            shields.any(|it| it.kind == ShieldKind::ReadOnly && it.path == path)
        };
        if place.ancestors().any(is_shielded) || is_behind_link(root, place) {
            return Ok(());
        }
        match kind_at(root, place) {
            Ok(Some(_)) => {
                if let Some(above) = place.parent() {
                    self.hold_ancestors(root, above)?;
                }
                self.push(root, place, ShieldKind::ReadOnly)
            }
            Ok(None) if place.components().count() == 1 && can_cover(place) => {
                self.shield_or_cover(root, place, Cover::Folder)
            }
            // What a command makes there is swept.
            _ => Ok(()),
        }
    }

    /// Returns the absolute paths that the command cannot change, with what is there.
    pub(crate) fn read_only(&self) -> impl Iterator<Item = (PathBuf, FileId)> {
        let shields = self.shields.iter().filter(|it| it.kind != ShieldKind::InPlace);
        let identity = |shield: &Shield| self.identities.get(&shield.path).copied();
        shields.filter_map(move |shield| Some((self.root.join(&shield.path), identity(shield)?)))
    }

    /// Shields a git folder: the folder is held in place, and the parts that name programs are read-only. An
    /// unusual git folder is made read-only as a whole.
    fn shield_folder(&mut self, root: &Root, git: &Path) -> Result<(), ToolError> {
        let is_whole = matches!(kind_at(root, &git.join("HEAD")), Ok(Some(FileType::RegularFile)));
        if !is_whole || !can_cover(&git.join("hooks")) {
            return self.push(root, git, ShieldKind::ReadOnly);
        }
        self.push(root, git, ShieldKind::InPlace)?;
        for (name, cover) in PROTECTED_IN_GIT {
            self.shield_or_cover(root, &git.join(name), cover)?;
        }
        for name in GIT_FOLDERS_IN_GIT {
            self.shield_or_cover(root, &git.join(name), Cover::Folder)?;
        }
        Ok(())
    }

    /// Holds a folder and every folder above it in place, the outermost first.
    fn hold_ancestors(&mut self, root: &Root, folder: &Path) -> Result<(), ToolError> {
        let mut folders: Vec<&Path> = folder.ancestors().collect();
        folders.retain(|path| !path.as_os_str().is_empty());
        let mut hold = |path: &Path| self.push(root, path, ShieldKind::InPlace);
        folders.into_iter().rev().try_for_each(&mut hold)
    }

    /// Returns the path of the first shield whose file or folder was replaced: when a program outside replaces it,
    /// the mount over it goes too.
    pub(crate) fn broken(&self) -> Option<&Path> {
        let is_broken = |shield: &&Shield| {
            let now = identify_at(&self.root.join(&shield.path)).ok();
            now.is_none() || now.as_ref() != self.identities.get(&shield.path)
        };
        self.shields.iter().find(is_broken).map(|shield| shield.path.as_path())
    }

    /// Releases the root when the command has ended, and returns what its reader should know, each in a sentence.
    pub(crate) fn release(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            notes.push(format!(
                "{} git folders and unreadable folders in the workspace were not protected, because Toolcrib protects at most {MOST_REPOSITORIES}",
                self.left_out
            ));
        }
        notes
    }
}

/// Whether a folder has everything that makes git take it for a git folder.
fn is_git_folder(root: &Root, git: &Path) -> bool {
    let has = |name: &str| statat(root.handle(), git.join(name), AtFlags::SYMLINK_NOFOLLOW).is_ok();
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Returns the identity of the file or folder at a path, if no link is on the way to it.
fn identity(root: &Root, path: &Path) -> Result<FileId, ToolError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let mode = rustix::fs::Mode::empty();
    open_below(root.handle(), path, flags, mode, resolve)
        .and_then(|handle| identify(&handle))
        .map_err(|errno| unprotected(path, errno))
}

/// Whether a link is on the way to a path.
fn is_behind_link(root: &Root, path: &Path) -> bool {
    let (mode, resolve) = (rustix::fs::Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let opened = open_below(root.handle(), path, OFlags::PATH | OFlags::NOFOLLOW, mode, resolve);
    opened.is_err_and(|errno| errno == Errno::LOOP)
}

/// Returns a lock on an empty file or folder, which could be a cover, so that nobody removes it.
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

/// Returns the kind of file at a path, or `None` if there is none. A link cannot be protected: anyone who can write
/// beside it can replace it, and nothing can be mounted over it.
fn kind_at(root: &Root, path: &Path) -> Result<Option<FileType>, ToolError> {
    let shown = path.display();
    let top = path.iter().next().map_or_else(String::new, |top| top.to_string_lossy().into_owned());
    match statat(root.handle(), path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(meta) => match FileType::from_raw_mode(meta.st_mode) {
            FileType::Symlink => Err(ToolError::new(
                ErrorKind::Protected,
                format!("`{shown}` is a link, so a command could replace it"),
            )
            .hint(format!(
                "replace the link with a real file or folder, or let commands change it with \
                 `sandbox.unprotected`: [\"{top}\"]"
            ))),
            kind => Ok(Some(kind)),
        },
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(unprotected(path, errno)),
    }
}
