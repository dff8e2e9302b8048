//! Covers: something empty in the place of what is missing, so that a mount has something to stand on.
//! They are made under a lock that every command of a workspace holds, noted in our own folder, and
//! taken away by whoever is the last to hold it, a process that was killed before included.

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

use crate::root::{Root, open_below};

/// What covers a missing path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// An empty folder, which git does not see.
    Folder,
    /// A file that says nothing to whoever reads it.
    File(&'static str),
}

/// The covers of one workspace, as long as one command needs them.
pub(crate) struct Covers {
    note: File,
    root: OwnedFd,
    noted: Vec<PathBuf>,
}

impl Covers {
    /// Keeps everyone from taking covers away.
    pub(crate) fn hold(root: &Root, folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(name_for(root.path()));
        let mut options = OpenOptions::new();
        let mut note = options.append(true).read(true).create(true).mode(0o600).open(path)?;
        loop {
            match flock(&note, FlockOperation::LockShared) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        }
        let noted = read(&mut note)?;
        Ok(Self { note, root: root.handle().try_clone_to_owned()?, noted })
    }

    /// Whether something at this path is a cover of ours, this command's or another's.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.noted.iter().any(|noted| noted == path)
    }

    /// Covers a path that is missing. Returns whether it could: nobody can make it where we cannot.
    pub(crate) fn add(&mut self, path: &Path, cover: Cover) -> io::Result<bool> {
        // Noted first: after a kill in between, there is nothing to take away, which is no harm.
        // In one piece: others add to the same note.
        self.note.write_all(format!("{}\n", path.display()).as_bytes())?;
        self.noted.push(path.to_owned());
        let made = Spot::find(&self.root, path).and_then(|spot| spot.put(cover));
        match made {
            // Or another command was a moment earlier.
            Ok(()) | Err(Errno::EXIST) => Ok(true),
            Err(Errno::ACCESS | Errno::ROFS | Errno::PERM | Errno::NOENT | Errno::NOTDIR) => {
                Ok(false)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Covers {
    fn drop(&mut self) {
        let _ = self.take_away();
    }
}

impl Covers {
    /// Takes every cover away if no command needs them any more: what is removed takes the mounts over
    /// it with it, in every sandbox.
    fn take_away(&mut self) -> io::Result<()> {
        flock(&self.note, FlockOperation::NonBlockingUnlock)?;
        if flock(&self.note, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        // The innermost first. What someone else still needs stays noted.
        let mut left = String::new();
        for path in read(&mut self.note)?.iter().rev() {
            let is_gone = match Spot::find(&self.root, path) {
                Ok(spot) => spot.clear(),
                Err(errno) => is_absence(errno),
            };
            if !is_gone {
                left = format!("{}\n{left}", path.display());
            }
        }
        self.note.set_len(0)?;
        self.note.write_all(left.as_bytes())
    }
}

/// A name in a folder that no link leads to.
struct Spot<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
}

impl<'a> Spot<'a> {
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

    /// Takes away what is still as empty as a cover: anything else is not ours. Returns whether nobody
    /// needs it any more: whoever relies on it holds a lock on it, whatever their state folder.
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
            && self.says_nothing()
        {
            let _ = unlinkat(&self.folder, self.name, AtFlags::empty());
        }
        true
    }

    fn says_nothing(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(&self.folder, self.name, flags, Mode::empty()) else { return false };
        let mut content = String::new();
        let is_read = File::from(file).take(16).read_to_string(&mut content).is_ok();
        is_read && matches!(content.as_str(), "" | ".\n")
    }
}

/// Whether an error says that there is no cover, and not that we could not look.
fn is_absence(errno: Errno) -> bool {
    !matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::INTR | Errno::IO)
}

/// Whether a path can be a cover: a name at the root, or in a git folder.
pub(crate) fn can_cover(path: &Path) -> bool {
    use std::path::Component;
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_text = path.to_str().is_some_and(|text| !text.contains(char::is_control));
    let above = path.parent().and_then(Path::file_name);
    is_plain && is_text && (path.components().count() == 1 || above.is_some_and(|it| it == ".git"))
}

/// The paths that are noted.
fn read(note: &mut File) -> io::Result<Vec<PathBuf>> {
    let mut text = String::new();
    note.seek(SeekFrom::Start(0))?;
    note.read_to_string(&mut text)?;
    Ok(text.lines().map(PathBuf::from).filter(|path| can_cover(path)).collect())
}

/// The covers of a workspace that are noted in `folder`, whoever needs them.
pub(crate) fn noted(root: &Root, folder: &Path) -> Vec<PathBuf> {
    let note = File::open(folder.join(name_for(root.path())));
    note.and_then(|mut note| read(&mut note)).unwrap_or_default()
}

/// Returns a file name that stands for a path.
fn name_for(path: &Path) -> String {
    use sha2::Digest;
    let mut name = String::new();
    let digest = sha2::Sha256::digest(path.as_os_str().as_encoded_bytes());
    let _ = toolcrib_core::canonical::hex(&digest, &mut name);
    name
}
