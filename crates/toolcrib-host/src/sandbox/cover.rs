//! Covers: an empty file or folder where a protected name is missing, so that a mount has something to stand on.
//! Covers are made under a lock that every command of a workspace holds, and are listed in a file in the state
//! folder. Whoever is the last to hold the lock removes them, and the next process those of one that was killed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, ResolveFlags, flock, mkdirat, openat, unlinkat,
};
use rustix::io::Errno;

use crate::files::root::{Root, open_below};

/// What covers a missing path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// An empty folder. Git does not see it.
    Folder,
    /// A file with this content, which means nothing to whoever reads it.
    File(&'static str),
}

/// The covers of one workspace. They stay in place as long as one of these exists.
pub(crate) struct WorkspaceCovers {
    list: File,
    root: OwnedFd,
    listed: Vec<PathBuf>,
}

impl WorkspaceCovers {
    /// Takes the shared lock that keeps every process from removing covers.
    pub(crate) fn hold(root: &Root, folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(name_for(root.path()));
        let mut options = OpenOptions::new();
        let mut list = options.append(true).read(true).create(true).mode(0o600).open(path)?;
        loop {
            match flock(&list, FlockOperation::LockShared) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        }
        let listed = read(&mut list)?;
        Ok(Self { list, root: root.handle().try_clone_to_owned()?, listed })
    }

    /// Whether the file or folder at this path is a cover, of this command or of another.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.listed.iter().any(|listed| listed == path)
    }

    /// Covers a missing path. Returns whether that was possible: where we cannot make a file, a command cannot
    /// either.
    pub(crate) fn add(&mut self, path: &Path, cover: Cover) -> io::Result<bool> {
        // The cover is listed first. If we are killed in between, there is nothing to remove, which does no harm.
        // The line is written in one piece because other processes append to the same file.
        self.list.write_all(format!("{}\n", path.display()).as_bytes())?;
        self.listed.push(path.to_owned());
        let made = CoverPlace::find(&self.root, path).and_then(|place| place.put(cover));
        match made {
            // `EXIST`: another command was faster.
            Ok(()) | Err(Errno::EXIST) => Ok(true),
            Err(Errno::ACCESS | Errno::ROFS | Errno::PERM | Errno::NOENT | Errno::NOTDIR) => {
                Ok(false)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for WorkspaceCovers {
    fn drop(&mut self) {
        let _ = self.remove_all();
    }
}

impl WorkspaceCovers {
    /// Removes every cover if no command needs them any more: removing a cover removes the mounts over it in every
    /// sandbox.
    fn remove_all(&mut self) -> io::Result<()> {
        flock(&self.list, FlockOperation::NonBlockingUnlock)?;
        if flock(&self.list, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        // The innermost covers go first. Covers that another process still needs stay listed.
        let mut left = String::new();
        for path in read(&mut self.list)?.iter().rev() {
            let is_gone = match CoverPlace::find(&self.root, path) {
                Ok(place) => place.clear(),
                Err(errno) => is_absence(errno),
            };
            if !is_gone {
                left = format!("{}\n{left}", path.display());
            }
        }
        self.list.set_len(0)?;
        self.list.write_all(left.as_bytes())
    }
}

/// A name in a folder that was opened without following a link.
struct CoverPlace<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
}

impl<'a> CoverPlace<'a> {
    fn find(root: &OwnedFd, path: &'a Path) -> Result<Self, Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let (mode, resolve) = (Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let above = above.unwrap_or(Path::new("."));
        Ok(Self { folder: open_below(root.as_fd(), above, flags, mode, resolve)?, name })
    }

    fn put(&self, cover: Cover) -> Result<(), Errno> {
        let Cover::File(content) = cover else {
            return mkdirat(&self.folder, self.name, Mode::from_raw_mode(0o755));
        };
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, self.name, flags, Mode::from_raw_mode(0o644))?;
        rustix::io::write(&file, content.as_bytes()).map(drop)
    }

    /// Removes the cover if it is still empty: anything else is not ours. Returns whether nobody needs it any more:
    /// whoever relies on a cover holds a lock on it, whatever state folder they use.
    fn clear(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match openat(&self.folder, self.name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(errno) => return is_absence(errno),
        };
        if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_err() {
            return false;
        }
        if unlinkat(&self.folder, self.name, AtFlags::REMOVEDIR) == Err(Errno::NOTDIR)
            && self.has_cover_content()
        {
            let _ = unlinkat(&self.folder, self.name, AtFlags::empty());
        }
        true
    }

    fn has_cover_content(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(&self.folder, self.name, flags, Mode::empty()) else { return false };
        let mut content = String::new();
        let is_read = File::from(file).take(16).read_to_string(&mut content).is_ok();
        is_read && matches!(content.as_str(), "" | ".\n")
    }
}

/// Whether an error means that there is no cover, and not that we could not find out.
fn is_absence(errno: Errno) -> bool {
    !matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::INTR | Errno::IO)
}

/// Whether a path can be covered: a name at the root, or in a git folder.
pub(crate) fn can_cover(path: &Path) -> bool {
    use std::path::Component;
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_text = path.to_str().is_some_and(|text| !text.contains(char::is_control));
    let above = path.parent().and_then(Path::file_name);
    is_plain && is_text && (path.components().count() == 1 || above.is_some_and(|it| it == ".git"))
}

/// Reads the listed paths.
fn read(list: &mut File) -> io::Result<Vec<PathBuf>> {
    let mut text = String::new();
    list.seek(SeekFrom::Start(0))?;
    list.read_to_string(&mut text)?;
    Ok(text.lines().map(PathBuf::from).filter(|path| can_cover(path)).collect())
}

/// Removes the covers that a killed process left, unless a command still needs them.
pub(crate) fn remove_left(root: &Root, folder: &Path) {
    let list = fs::metadata(folder.join(name_for(root.path())));
    if list.is_ok_and(|list| list.len() > 0) {
        // Whoever lets go last removes them.
        drop(WorkspaceCovers::hold(root, folder));
    }
}

/// Returns the covers of a workspace that are listed in `folder`, whoever needs them.
pub(crate) fn listed(root: &Root, folder: &Path) -> Vec<PathBuf> {
    let list = File::open(folder.join(name_for(root.path())));
    list.and_then(|mut list| read(&mut list)).unwrap_or_default()
}

/// Returns the name of the file that lists the covers of the root at `path`.
fn name_for(path: &Path) -> String {
    use sha2::Digest;
    let mut name = String::new();
    let digest = sha2::Sha256::digest(path.as_os_str().as_encoded_bytes());
    let _ = toolcrib_core::canonical::hex(&digest, &mut name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_stand_at_the_root_or_in_a_git_folder() {
        for path in [".vscode", ".git/hooks", "libs/a/.git/config"] {
            assert!(can_cover(Path::new(path)), "{path}");
        }
        for path in ["src/.vscode", "../x", "/x", "a\nb", ".git/hooks/pre-commit"] {
            assert!(!can_cover(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn last_holder_removes_the_covers() {
        let folder = tempfile::tempdir().unwrap();
        let (state, workspace) = (folder.path().join("state"), folder.path().join("workspace"));
        fs::create_dir(&workspace).unwrap();
        let root = Root::open(&workspace).unwrap();
        let mut first = WorkspaceCovers::hold(&root, &state).unwrap();
        let second = WorkspaceCovers::hold(&root, &state).unwrap();
        assert!(first.add(Path::new(".vscode"), Cover::Folder).unwrap());
        assert_eq!(listed(&root, &state), [PathBuf::from(".vscode")]);
        drop(first);
        assert!(workspace.join(".vscode").is_dir(), "the second holder still needs it");
        drop(second);
        assert!(!workspace.join(".vscode").exists());
        assert!(listed(&root, &state).is_empty());
    }

    #[test]
    fn cover_with_content_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (state, workspace) = (folder.path().join("state"), folder.path().join("workspace"));
        fs::create_dir(&workspace).unwrap();
        let root = Root::open(&workspace).unwrap();
        let mut covers = WorkspaceCovers::hold(&root, &state).unwrap();
        assert!(covers.add(Path::new(".envrc"), Cover::File("")).unwrap());
        fs::write(workspace.join(".envrc"), "somebody's work").unwrap();
        drop(covers);
        assert_eq!(fs::read_to_string(workspace.join(".envrc")).unwrap(), "somebody's work");
    }
}
