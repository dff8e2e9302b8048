//! The target of a change: found by handle, so that what is checked is what is changed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, statat};
use rustix::io::Errno;
use toolcrib_core::policy::PathAccess;
use toolcrib_core::{ErrorKind, ToolError};

use crate::files::errno::{changed, errno_error};
use crate::files::root::{Root, open_below};
use crate::files::rooted_path::RootedPath;
use crate::files::stamp::{PinnedState, stamp_of};
use crate::files::temporary_name::is_temporary;
use crate::files::workspace::{CallFiles, Purpose};

/// How often a target is looked up again when the tree changes meanwhile.
pub(crate) const MOST_LOOKUPS: usize = 32;

/// The target of a change: a directory by handle, and a name in it.
pub(crate) struct Target<'a> {
    pub(crate) root: &'a Root,
    pub(crate) parent: OwnedFd,
    pub(crate) name: OsString,
    /// The path below the root, without links.
    pub(crate) below: PathBuf,
    /// The path as the caller wrote it.
    pub(crate) shown: &'a str,
    /// The file there, opened for reading, or the link there, opened with `O_PATH`.
    pub(crate) existing: Option<(OwnedFd, Stat)>,
}

impl Target<'_> {
    /// Returns the state to compare with what a person approved.
    pub(crate) fn pinned_state(&self) -> PinnedState {
        let file = self.existing.as_ref().map(|(_, meta)| stamp_of(meta));
        PinnedState { below: self.below.clone(), file }
    }

    pub(crate) fn is_link(&self) -> bool {
        let meta = self.existing.as_ref().map(|(_, meta)| FileType::from_raw_mode(meta.st_mode));
        meta == Some(FileType::Symlink)
    }
}

impl CallFiles {
    /// Finds the target of a write, following links that stay inside. Returns `None` if parents are missing.
    pub(crate) fn target<'a>(&'a self, path: &'a str) -> Result<Option<Target<'a>>, ToolError> {
        let place = self.workspace.locate(path)?;
        if place.is_written_as_directory() || place.below.file_name().is_none() {
            let message = format!("`{path}` names a directory; a file is needed");
            return Err(ToolError::new(ErrorKind::IsDirectory, message).at(path));
        }
        for _ in 0..MOST_LOOKUPS {
            let found = match self.workspace.open_file(&place, Purpose::Write) {
                Ok(existing) => existing_target(&place, existing)?,
                Err(err) if err.kind == ErrorKind::NotFound => match new_target(&place)? {
                    Lookup::Found(target) => Some(target),
                    Lookup::NoParent => return Ok(None),
                    Lookup::Moved => None,
                },
                Err(err) => return Err(err),
            };
            if let Some(target) = found {
                self.check_target(&target)?;
                return Ok(Some(target));
            }
        }
        Err(changed(path))
    }

    /// Finds the file or link to remove, and fails if it may not be removed.
    pub(crate) fn removal_target<'a>(&'a self, path: &'a str) -> Result<Target<'a>, ToolError> {
        let place = self.workspace.locate(path)?;
        if place.is_written_as_directory() || place.below.file_name().is_none() {
            let message = format!("`{path}` is a directory; only files can be deleted");
            return Err(ToolError::new(ErrorKind::IsDirectory, message).at(path));
        }
        let Some((parent, at)) = parent_of(&place)? else {
            return Err(errno_error(Errno::NOENT, path));
        };
        let target = self.target_unfollowed(&place, parent, at, Purpose::Write)?;
        self.check_target(&target)?;
        self.check_parent(&target)?;
        if target.existing.is_none() {
            return Err(errno_error(Errno::NOENT, path));
        }
        Ok(target)
    }

    /// Finds the target at a path that was resolved before, to be written, following no link at all. Returns `None`
    /// if its directory is gone.
    pub(crate) fn writable_target_at<'a>(
        &self,
        place: &RootedPath<'a>,
    ) -> Result<Option<Target<'a>>, ToolError> {
        self.target_at(place, Purpose::Write)
    }

    /// Finds the target at a path that was resolved before, for a purpose, following no link at all. Returns `None`
    /// if its directory is gone.
    pub(crate) fn target_at<'a>(
        &self,
        place: &RootedPath<'a>,
        purpose: Purpose,
    ) -> Result<Option<Target<'a>>, ToolError> {
        let at = place.below.parent().unwrap_or(Path::new(""));
        let parent = match place.root.open_resolved(at) {
            Ok(parent) => parent,
            Err(Errno::NOENT) => return Ok(None),
            // A link stands where a directory was, so this is another place now.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return Err(changed(place.shown)),
            Err(errno) => return Err(errno_error(errno, place.shown)),
        };
        let target = self.target_unfollowed(place, parent, at.to_owned(), purpose)?;
        self.check_target(&target)?;
        if purpose == Purpose::Write {
            self.check_parent(&target)?;
        }
        Ok(Some(target))
    }

    /// Fails if nothing may be added to or removed from the directory of `target`.
    fn check_parent(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let meta = fstat(&target.parent).map_err(|errno| errno_error(errno, target.shown))?;
        self.workspace.check_access(&target.parent, &meta, target.shown, Purpose::Write)
    }

    /// Fails if nothing may be changed at `target`.
    fn check_target(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let Target { root, below, shown, .. } = target;
        self.workspace.check_reachable(root, &target.parent, shown)?;
        self.workspace.check_change(root, below, shown)?;
        self.check_denied(&root.path().join(below), shown, PathAccess::Write)?;
        // A link is removed itself; policy decided about what it leads to.
        if target.is_link() { Ok(()) } else { self.check_decided(root, below, shown) }
    }

    /// Finds the target for a name in a directory, without following a link there.
    fn target_unfollowed<'a>(
        &self,
        place: &RootedPath<'a>,
        parent: OwnedFd,
        at: PathBuf,
        purpose: Purpose,
    ) -> Result<Target<'a>, ToolError> {
        let shown = place.shown;
        let name = place.below.file_name().map(OsStr::to_owned).unwrap_or_default();
        let below = at.join(&name);
        let mut target = Target { root: place.root, parent, name, below, shown, existing: None };
        let meta = match statat(&target.parent, &target.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(meta) => meta,
            Err(Errno::NOENT) => return Ok(target),
            Err(errno) => return Err(errno_error(errno, shown)),
        };
        let flags = match FileType::from_raw_mode(meta.st_mode) {
            FileType::Symlink => OFlags::PATH | OFlags::NOFOLLOW,
            FileType::RegularFile => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW,
            FileType::Directory => {
                let message = format!("`{shown}` is a directory; only files can be deleted");
                return Err(ToolError::new(ErrorKind::IsDirectory, message).at(shown));
            }
            _ => {
                let message = format!("`{shown}` is not a regular file");
                return Err(ToolError::new(ErrorKind::NotRegular, message).at(shown));
            }
        };
        let name = Path::new(&target.name);
        // With NOFOLLOW and PATH the kernel opens the link itself, so NO_SYMLINKS must be off.
        let resolve = ResolveFlags::empty();
        let file = open_below(target.parent.as_fd(), name, flags, Mode::empty(), resolve)
            .map_err(|errno| errno_error(errno, shown))?;
        let now = fstat(&file).map_err(|errno| errno_error(errno, shown))?;
        if (now.st_dev, now.st_ino) != (meta.st_dev, meta.st_ino) {
            return Err(changed(shown));
        }
        if FileType::from_raw_mode(now.st_mode) == FileType::RegularFile {
            self.workspace.check_access(&file, &now, shown, purpose)?;
        }
        target.existing = Some((file, now));
        Ok(target)
    }

    /// Returns the states that a path leads to, for a later comparison: with a link at its end followed, and not
    /// followed.
    pub(crate) fn pinned_states(&self, path: &str) -> Vec<PinnedState> {
        let mut states = Vec::new();
        match self.target(path) {
            Ok(Some(target)) => states.push(target.pinned_state()),
            Ok(None) => {
                if let Ok(place) = self.workspace.locate(path)
                    && let Ok((at, _, missing)) = deepest_existing(&place, &place.below)
                {
                    states.push(PinnedState { below: at.join(missing), file: None });
                }
            }
            Err(_) => {}
        }
        states.extend(self.removal_target(path).ok().map(|target| target.pinned_state()));
        states
    }
}

/// The result of looking up a target that does not exist yet.
#[expect(clippy::large_enum_variant, reason = "made and taken apart at once")]
enum Lookup<'a> {
    Found(Target<'a>),
    NoParent,
    Moved,
}

/// Returns the target for an existing file, or `None` if the file was moved meanwhile.
fn existing_target<'a>(
    place: &RootedPath<'a>,
    existing: (OwnedFd, Stat),
) -> Result<Option<Target<'a>>, ToolError> {
    let (file, meta) = existing;
    let Some(below) = place.root.below(file.as_fd()) else { return Ok(None) };
    let Some(name) = below.file_name().map(OsStr::to_owned) else { return Ok(None) };
    // The file was opened in the very moment in which another call put a new file in its place.
    if is_temporary(&name) && place.below.file_name() != Some(&name) {
        return Ok(None);
    }
    let Ok(parent) = place.root.open_resolved(below.parent().unwrap_or(Path::new(""))) else {
        return Ok(None);
    };
    match statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) if (now.st_dev, now.st_ino) == (meta.st_dev, meta.st_ino) => {}
        Ok(_) | Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno_error(errno, place.shown)),
    }
    let existing = Some((file, meta));
    Ok(Some(Target { root: place.root, parent, name, below, shown: place.shown, existing }))
}

/// Returns the target for a file that does not exist yet.
fn new_target<'a>(place: &RootedPath<'a>) -> Result<Lookup<'a>, ToolError> {
    let Some((parent, at)) = parent_of(place)? else { return Ok(Lookup::NoParent) };
    let name = place.below.file_name().map(OsStr::to_owned).unwrap_or_default();
    let (root, shown, below) = (place.root, place.shown, at.join(&name));
    match statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {
            Ok(Lookup::Found(Target { root, parent, name, below, shown, existing: None }))
        }
        Ok(meta) if FileType::from_raw_mode(meta.st_mode) == FileType::Symlink => {
            let message = format!("`{shown}` is a link to a path that does not exist");
            Err(ToolError::new(ErrorKind::NotRegular, message)
                .hint("delete the link, or write to the path that it leads to")
                .at(shown))
        }
        Ok(_) => Ok(Lookup::Moved),
        Err(errno) => Err(errno_error(errno, shown)),
    }
}

/// Opens the directory of a path, and returns its real path below the root. Returns `None` if it does not exist.
fn parent_of(place: &RootedPath<'_>) -> Result<Option<(OwnedFd, PathBuf)>, ToolError> {
    let parent = place.below.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let handle = match place.root.open_below(parent, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTDIR) => return Err(file_in_the_way(place.shown)),
        Err(errno) => return Err(errno_error(errno, place.shown)),
    };
    let at = place.root.below(handle.as_fd()).ok_or_else(|| changed(place.shown))?;
    Ok(Some((handle, at)))
}

/// Returns where a path really leads below its root, if something is there. Looks again if another call replaced it
/// in the very moment.
pub(crate) fn real_below(place: &RootedPath<'_>) -> Option<PathBuf> {
    for _ in 0..MOST_LOOKUPS {
        let there = place.root.open_below(&place.below, OFlags::PATH, Mode::empty()).ok()?;
        let Some(below) = place.root.below(there.as_fd()) else { continue };
        let Some(name) = below.file_name() else { return Some(below) };
        // Another call has just put a new file in its place, and this is the old one on its way out.
        if is_temporary(name) && place.below.file_name() != Some(name) {
            continue;
        }
        let now = statat(place.root.handle(), &below, AtFlags::SYMLINK_NOFOLLOW);
        if let (Ok(meta), Ok(now)) = (fstat(&there), now)
            && (now.st_dev, now.st_ino) == (meta.st_dev, meta.st_ino)
        {
            return Some(below);
        }
    }
    None
}

/// Opens the deepest existing directory on the way to `wanted`. Returns its path, its handle, and the missing rest
/// of the path.
pub(crate) fn deepest_existing(
    place: &RootedPath<'_>,
    wanted: &Path,
) -> Result<(PathBuf, OwnedFd, PathBuf), ToolError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut there = wanted.to_owned();
    loop {
        let path = if there.as_os_str().is_empty() { Path::new(".") } else { &there };
        match place.root.open_below(path, flags, Mode::empty()) {
            Ok(handle) => {
                let at = place.root.below(handle.as_fd()).ok_or_else(|| changed(place.shown))?;
                let missing = wanted.strip_prefix(&there).unwrap_or(wanted).to_owned();
                return Ok((at, handle, missing));
            }
            Err(Errno::NOENT) if there.pop() => {}
            Err(Errno::NOTDIR) => return Err(file_in_the_way(place.shown)),
            Err(errno) => return Err(errno_error(errno, place.shown)),
        }
    }
}

fn file_in_the_way(shown: &str) -> ToolError {
    let message = format!("`{shown}` needs a directory where a file is");
    ToolError::new(ErrorKind::NotDirectory, message).at(shown)
}
