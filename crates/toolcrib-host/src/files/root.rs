//! A root: a directory held by a handle, below which everything is opened.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, fstatfs, makedev, openat2, readlink,
    stat, statx,
};
use rustix::io::Errno;
use toolcrib_core::{ErrorKind, FileId, ToolError};

use crate::files::errno::{NO_OPENAT2, OPENAT2_HINT};

/// A directory that calls are confined to. It is opened once, at the start. Its name is resolved again only to
/// detect that it now leads elsewhere.
pub struct Root {
    handle: OwnedFd,
    path: PathBuf,
    given: PathBuf,
    id: FileId,
}

/// Why a directory cannot be a root.
#[derive(Debug)]
pub enum RootError {
    /// The directory cannot be opened.
    NotOpened {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The directory is on a special file system of the kernel.
    SpecialFileSystem {
        /// Its path.
        path: PathBuf,
    },
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened { path, error } if error.kind() == io::ErrorKind::NotFound => {
                write!(
                    f,
                    "`{}` cannot be the workspace or a root: it does not exist",
                    path.display()
                )
            }
            Self::NotOpened { path, error } => {
                write!(f, "`{}` cannot be a root: {error}", path.display())
            }
            Self::SpecialFileSystem { path } => write!(
                f,
                "`{}` cannot be a root: it is on a special file system of the kernel",
                path.display()
            ),
        }
    }
}

impl std::error::Error for RootError {}

/// How often an open is tried again when a directory is renamed meanwhile.
const MOST_OPEN_ATTEMPTS: usize = 128;

impl Root {
    /// Opens the directory at `given`, an absolute path.
    pub fn open(given: &Path) -> Result<Self, RootError> {
        let failed = |error: io::Error| RootError::NotOpened { path: given.to_owned(), error };
        let path = std::fs::canonicalize(given).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle =
            rustix::fs::open(&path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let id = identify(&handle).map_err(|errno| failed(errno.into()))?;
        if is_special(&handle) {
            return Err(RootError::SpecialFileSystem { path: given.to_owned() });
        }
        Ok(Self { handle, path, given: given.to_owned(), id })
    }

    /// Returns the real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a small regular file below this root, following no link at all. Returns `None` if the file does not
    /// exist.
    pub fn read_small(&self, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
        use std::io::Read;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let handle = self.handle.as_fd();
        let file = match open_below(handle, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(io::Error::other("it is a link, and links are not followed"));
            }
            Err(Errno::NOSYS) => {
                return Err(io::Error::other(format!("{NO_OPENAT2}; {OPENAT2_HINT}")));
            }
            Err(errno) => return Err(errno.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("it has over {most} bytes")));
        }
        Ok(Some(bytes))
    }

    /// Returns the path as the operator wrote it.
    pub(crate) fn given(&self) -> &Path {
        &self.given
    }

    /// Returns the identity of the directory, whatever has its name by now.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Returns the handle that everything below is opened from.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Fails if the root's name no longer leads to the directory that was opened.
    pub(crate) fn verify(&self) -> Result<(), ToolError> {
        let gone = |what: &str| {
            ToolError::new(
                ErrorKind::Unavailable,
                format!("the workspace `{}` {what}", self.path.display()),
            )
            .hint("put the directory back, or start again in the right place")
            .with("reason", "root_replaced")
        };
        match stat(&self.path) {
            Ok(now) if (now.st_dev, now.st_ino) == (self.id.device, self.id.inode) => Ok(()),
            Ok(_) => Err(gone("was replaced by another directory")),
            Err(_) => Err(gone("is gone")),
        }
    }

    /// Opens `path` below this root, following no link that leaves it.
    pub(crate) fn open_below(
        &self,
        path: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        open_below(self.handle.as_fd(), path, flags, mode, ResolveFlags::empty())
    }

    /// Opens a directory that [`Root::below`] returned, following no link at all.
    pub(crate) fn open_resolved(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let handle = self.handle.as_fd();
        open_below(handle, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    }

    /// Returns the path of an open file below this root, without links.
    pub(crate) fn below(&self, file: BorrowedFd<'_>) -> Option<PathBuf> {
        let path = real_path(file)?;
        path.strip_prefix(&self.path).ok().map(Path::to_owned)
    }
}

/// Returns the identity of the file or directory of a handle.
pub(crate) fn identify(file: &impl AsFd) -> Result<FileId, Errno> {
    identify_with(file.as_fd(), Path::new(""), AtFlags::EMPTY_PATH)
}

/// Returns the identity of the file or directory at a path. A link at the end is not followed.
pub(crate) fn identify_at(path: &Path) -> Result<FileId, Errno> {
    identify_with(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
}

fn identify_with(from: BorrowedFd<'_>, path: &Path, flags: AtFlags) -> Result<FileId, Errno> {
    let meta = statx(from, path, flags, StatxFlags::INO | StatxFlags::BTIME)?;
    let is_known = meta.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born = meta.stx_btime.tv_sec.saturating_mul(1_000_000_000);
    Ok(FileId {
        device: makedev(meta.stx_dev_major, meta.stx_dev_minor),
        inode: meta.stx_ino,
        born: if is_known { born + i64::from(meta.stx_btime.tv_nsec) } else { 0 },
    })
}

/// Opens `path` below `handle`.
pub(crate) fn open_below(
    handle: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match openat2(handle, path, flags | OFlags::CLOEXEC, mode, resolve) {
            // The kernel answers EAGAIN when a directory was renamed while it resolved `..`.
            Err(Errno::AGAIN) if tries < MOST_OPEN_ATTEMPTS => tries += 1,
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Returns the path by which the kernel knows an open file.
pub(crate) fn real_path(file: BorrowedFd<'_>) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let link = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new()).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
}

/// Whether a file is on a file system of the kernel's own, where reading can block or reveal secrets although every
/// file calls itself regular.
pub(crate) fn is_special(file: &impl AsFd) -> bool {
    const SPECIAL_FILE_SYSTEMS: [i64; 19] = [
        0x9fa0,      // proc
        0x6265_6572, // sysfs
        0x1cd1,      // devpts
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0xcafe_4a11, // bpf
        0x7363_6673, // securityfs
        0x6265_6570, // configfs
        0x6165_676c, // pstore
        0xde5e_81e4, // efivarfs
        0xf97c_ff8c, // selinux
        0x6573_5543, // fusectl
        0x6e73_6673, // nsfs
        0x1980_0202, // mqueue
        0x9584_58f6, // hugetlbfs
        0x4249_4e4d, // binfmt_misc
        0x6759_6969, // rpc_pipefs
    ];
    // A file system that cannot be queried is not trusted.
    #[expect(clippy::useless_conversion, reason = "the field's type differs between machines")]
    fstatfs(file).map_or(true, |fs| SPECIAL_FILE_SYSTEMS.contains(&i64::from(fs.f_type)))
}
