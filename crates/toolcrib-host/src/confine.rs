//! Reading beneath the roots: every path is opened by the kernel below a handle, then looked at, and
//! never the other way round.

use std::collections::{BinaryHeap, HashMap};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, statat};
use toolcrib_core::escape::name;
use toolcrib_core::{
    CallId, Cancel, Change, Changes, Clock, Content, Entry, EntryKind, ErrorKind, Listing, Meta,
    ToolError, Tree,
};

use crate::fault::{fault, outside};
use crate::lock::Locks;
use crate::place::Place;
use crate::protect;
use crate::root::{Root, is_special, real_path};

/// How much of a file is read at once, between two looks at whether the call is still wanted.
const CHUNK: usize = 256 << 10;

/// The roots that calls are confined to, and what holds inside them. Shared by all calls.
pub struct Workspace {
    pub(crate) roots: Vec<Root>,
    pub(crate) rules: Rules,
    pub(crate) locks: Locks,
    pub(crate) changes: Arc<dyn Changes>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The state folder, if it lies below a root; then it must be looked out for.
    hidden: Option<PathBuf>,
    pub(crate) is_root_user: bool,
}

/// What the operator set for files.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What to do with a file that has several names.
    pub hardlinks: Hardlinks,
    /// Names that no tool may change, beside the built-in ones.
    pub protected: Vec<String>,
}

/// What to do with a file that has several names: one of them may be outside, and a handle cannot
/// tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardlinks {
    /// Does not open it.
    Refuse,
    /// Opens it like any other.
    Allow,
}

/// What opening a file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

impl Workspace {
    /// Puts roots, rules and the keeper of changes together. `state` is the folder of the record,
    /// which no call can reach even if it lies below a root.
    pub fn new(
        roots: Vec<Root>,
        rules: Rules,
        state: &Path,
        changes: Arc<dyn Changes>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let state = std::fs::canonicalize(state).unwrap_or_else(|_| state.to_owned());
        let is_below = roots.iter().any(|root| state.starts_with(root.path()));
        Self {
            roots,
            rules,
            locks: Locks::new(state.join("locks")),
            changes,
            clock,
            hidden: is_below.then_some(state),
            is_root_user: rustix::process::geteuid().is_root(),
        }
    }

    /// The first root, which relative paths start from.
    pub fn root(&self) -> Option<&Root> {
        self.roots.first()
    }

    /// Returns the files of this workspace as one call sees them.
    pub fn for_call(self: &Arc<Self>, call: CallId, tool: &str, cancel: Cancel) -> CallFiles {
        CallFiles {
            workspace: Arc::clone(self),
            call,
            tool: tool.to_owned(),
            cancel,
            made: Mutex::default(),
            pinned: Mutex::default(),
        }
    }

    pub(crate) fn place<'a>(&'a self, path: &'a str) -> Result<Place<'a>, ToolError> {
        let place = Place::parse(&self.roots, path)?;
        place.root.verify()?;
        Ok(place)
    }

    /// Opens what is at `place`, a file or a directory, for looking at it.
    pub(crate) fn open(&self, place: &Place<'_>) -> Result<(OwnedFd, Stat), ToolError> {
        // Without NONBLOCK a pipe would hold the call until somebody writes to it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = place
            .root
            .open_below(&place.below, flags, Mode::empty())
            .map_err(|errno| fault(errno, place.shown))?;
        let meta = fstat(&file).map_err(|errno| fault(errno, place.shown))?;
        self.admit(place, &file, &meta)?;
        Ok((file, meta))
    }

    /// Fails if an open file is one that calls may not have whatever its path.
    fn admit(&self, place: &Place<'_>, file: &OwnedFd, meta: &Stat) -> Result<(), ToolError> {
        if meta.st_dev != place.root.device() && is_special(file) {
            let message = format!("`{}` is on a special file system of the kernel", place.shown);
            return Err(ToolError::new(ErrorKind::NotRegular, message).at(place.shown));
        }
        if let Some(hidden) = &self.hidden {
            let path = real_path(file.as_fd());
            if path.is_none_or(|path| path.starts_with(hidden)) {
                return Err(outside(place.shown));
            }
        }
        Ok(())
    }

    /// Fails if nothing may be changed at `below`, a path under `root` with no link in it.
    pub(crate) fn check_change(
        &self,
        root: &Root,
        below: &Path,
        shown: &str,
    ) -> Result<(), ToolError> {
        if let Some(hidden) = &self.hidden
            && root.path().join(below).starts_with(hidden)
        {
            return Err(outside(shown));
        }
        protect::check(below, &self.rules.protected, shown)
    }

    /// Opens a regular file.
    pub(crate) fn open_file(
        &self,
        place: &Place<'_>,
        purpose: Purpose,
    ) -> Result<(OwnedFd, Stat), ToolError> {
        let (file, meta) = self.open(place)?;
        self.check_file(&meta, place.shown, purpose)?;
        Ok((file, meta))
    }

    /// Fails if a file is not one that a call may read or write.
    pub(crate) fn check_file(
        &self,
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
            EntryKind::Link | EntryKind::Special => {
                let message = format!("`{shown}` is not a regular file");
                return Err(ToolError::new(ErrorKind::NotRegular, message).at(shown));
            }
        }
        if meta.st_nlink > 1 && self.rules.hardlinks == Hardlinks::Refuse {
            let message = format!(
                "`{shown}` has {} names (hard links), and another of them may be outside",
                meta.st_nlink
            );
            return Err(ToolError::new(ErrorKind::Protected, message)
                .hint("set `files.hardlinks = \"allow\"` in your own settings to open such files")
                .at(shown));
        }
        self.check_mode(meta, shown, purpose)
    }

    /// Holds root to what a file's owner could do: its power over modes is not the agent's.
    pub(crate) fn check_mode(
        &self,
        meta: &Stat,
        shown: &str,
        purpose: Purpose,
    ) -> Result<(), ToolError> {
        let mine = self.is_root_user || meta.st_uid == rustix::process::geteuid().as_raw();
        let (bits, what) = match purpose {
            Purpose::Read => (if mine { 0o400 } else { 0o444 }, "may not be read"),
            Purpose::Write => (if mine { 0o200 } else { 0o222 }, "is read-only"),
        };
        if meta.st_mode & bits != 0 {
            return Ok(());
        }
        let message = format!("`{shown}` {what}: its mode is {:03o}", meta.st_mode & 0o777);
        Err(ToolError::new(ErrorKind::Permission, message).at(shown))
    }
}

/// The files of a workspace as one call sees them.
pub struct CallFiles {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) cancel: Cancel,
    pub(crate) made: Mutex<Vec<Change>>,
    pub(crate) pinned: Mutex<HashMap<String, Pin>>,
}

/// What a path led to when it was pinned.
pub(crate) struct Pin {
    /// With a link at its end followed.
    pub(crate) followed: Option<Fingerprint>,
    /// With the link itself looked at.
    pub(crate) unfollowed: Option<Fingerprint>,
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) place: PathBuf,
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, u64),
    pub(crate) changed: (i64, u64),
}

impl Fingerprint {
    pub(crate) fn of(place: PathBuf, meta: &Stat) -> Self {
        Self {
            place,
            device: meta.st_dev,
            inode: meta.st_ino,
            size: meta.st_size,
            modified: (meta.st_mtime, meta.st_mtime_nsec),
            changed: (meta.st_ctime, meta.st_ctime_nsec),
        }
    }

    /// Whether both are the same content of the same file; a rename in between does not matter.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size, self.modified)
            == (other.device, other.inode, other.size, other.modified)
    }
}

impl CallFiles {
    pub(crate) fn note(&self, change: Change) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }

    /// Reads an open file up to `most` bytes, however large it says it is.
    pub(crate) fn drain(
        &self,
        file: &OwnedFd,
        meta: &Stat,
        most: u64,
        shown: &str,
    ) -> Result<Content, ToolError> {
        let size = u64::try_from(meta.st_size).unwrap_or(0);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // One byte past the stated size tells a file that ended from one that grew.
        let stated = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
        let mut bytes: Vec<u8> = Vec::with_capacity(stated.min(most).min(CHUNK));
        while bytes.len() < most {
            let want = (most - bytes.len()).min(CHUNK);
            bytes.reserve(want.min(stated.saturating_sub(bytes.len()).max(4096)));
            let room = want.min(bytes.capacity() - bytes.len());
            let start = bytes.len();
            bytes.resize(start + room, 0);
            let got = match rustix::io::read(file, &mut bytes[start..]) {
                Ok(got) => got,
                Err(rustix::io::Errno::INTR) => {
                    bytes.truncate(start);
                    continue;
                }
                Err(errno) => return Err(fault(errno, shown)),
            };
            bytes.truncate(start + got);
            if got == 0 {
                break;
            }
            self.cancel.check()?;
        }
        let size = size.max(bytes.len() as u64);
        // A short file that says it is long (a truncated one) ends where its bytes end.
        let size = if bytes.len() < most { bytes.len() as u64 } else { size };
        Ok(Content { bytes, size })
    }
}

impl Tree for CallFiles {
    fn look(&self, path: &str) -> Result<Meta, ToolError> {
        let place = self.workspace.place(path)?;
        let (_, meta) = self.workspace.open(&place)?;
        let kind = kind_of(FileType::from_raw_mode(meta.st_mode));
        if kind == EntryKind::File {
            self.workspace.check_file(&meta, path, Purpose::Read)?;
        }
        Ok(Meta { kind, size: u64::try_from(meta.st_size).unwrap_or(0) })
    }

    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError> {
        let place = self.workspace.place(path)?;
        let (file, meta) = self.workspace.open_file(&place, Purpose::Read)?;
        self.drain(&file, &meta, most, path)
    }

    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError> {
        let place = self.workspace.place(path)?;
        let (file, meta) = self.workspace.open(&place)?;
        if FileType::from_raw_mode(meta.st_mode) != FileType::Directory {
            let message = format!("`{path}` is not a directory");
            return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
        }
        self.workspace.check_mode(&meta, path, Purpose::Read)?;
        let directory = Dir::read_from(&file).map_err(|errno| fault(errno, path))?;
        let mut first: BinaryHeap<(OsString, u8)> = BinaryHeap::new();
        let mut listing = Listing::default();
        for (index, entry) in directory.enumerate() {
            if index % 1024 == 0 {
                self.cancel.check()?;
            }
            let entry = entry.map_err(|errno| fault(errno, path))?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&file, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |meta| FileType::from_raw_mode(meta.st_mode)),
                known => known,
            };
            let kind = kind_of(kind);
            match kind {
                EntryKind::Directory => listing.directories += 1,
                EntryKind::File | EntryKind::Link | EntryKind::Special => listing.files += 1,
            }
            first.push((OsString::from_vec(bytes.to_vec()), kind as u8));
            if first.len() > most {
                first.pop();
            }
        }
        let kinds = [EntryKind::File, EntryKind::Directory, EntryKind::Link, EntryKind::Special];
        listing.entries = first
            .into_sorted_vec()
            .into_iter()
            .map(|(bytes, kind)| Entry {
                name: name(bytes.as_encoded_bytes()).into_owned(),
                kind: kinds[usize::from(kind)],
            })
            .collect();
        Ok(listing)
    }
}

pub(crate) fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}
