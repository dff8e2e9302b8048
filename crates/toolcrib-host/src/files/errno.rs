//! Turns error numbers of the operating system into tool errors.

use rustix::io::Errno;
use toolcrib_core::{ErrorKind, ToolError};

/// What is wrong where paths cannot be confined.
pub(super) const NO_OPENAT2: &str =
    "openat2 is missing or forbidden here, which Toolcrib needs to confine paths";

/// What to do about it.
pub(super) const OPENAT2_HINT: &str = "use Linux 5.6 or newer, and let the container's seccomp profile and the unit \
     allow openat2 (RestrictSUIDSGID of systemd forbids it)";

/// Returns the error for a system call about `path` that failed.
pub(crate) fn errno_error(errno: Errno, path: &str) -> ToolError {
    let (kind, what) = match errno {
        Errno::NOENT | Errno::NOTDIR => (ErrorKind::NotFound, "does not exist"),
        Errno::XDEV => return outside(path),
        Errno::LOOP => (ErrorKind::NotFound, "is part of a loop of symbolic links"),
        Errno::ACCESS | Errno::PERM => {
            (ErrorKind::Permission, "cannot be opened: permission denied")
        }
        Errno::ROFS => (ErrorKind::Permission, "is on a read-only file system"),
        Errno::NAMETOOLONG => (ErrorKind::BadArgs, "is too long for a path"),
        Errno::ISDIR => (ErrorKind::IsDirectory, "is a directory"),
        Errno::EXIST | Errno::NOTEMPTY => (ErrorKind::Exists, "already exists"),
        Errno::NXIO | Errno::NODEV => (ErrorKind::NotRegular, "is not a regular file"),
        Errno::NOSPC | Errno::DQUOT => (ErrorKind::Io, "could not be written: the disk is full"),
        Errno::FBIG => {
            (ErrorKind::Io, "could not be written: the file would exceed the file size limit")
        }
        Errno::NOSYS => {
            return ToolError::new(ErrorKind::Unavailable, NO_OPENAT2).hint(OPENAT2_HINT).at(path);
        }
        other => {
            let error = std::io::Error::from_raw_os_error(other.raw_os_error());
            let message = format!("`{path}`: {error}");
            return ToolError::new(ErrorKind::Io, message).at(path);
        }
    };
    ToolError::new(kind, format!("`{path}` {what}")).at(path)
}

/// Returns the error for a path that leads outside. It is the same whatever is or is not there.
pub(crate) fn outside(path: &str) -> ToolError {
    ToolError::new(ErrorKind::Outside, format!("`{path}` leads outside the workspace"))
        .hint("use a path inside the workspace; links may neither leave it nor be absolute")
        .at(path)
}

/// Returns the error for a file that another program changed during the call.
pub(crate) fn changed(path: &str) -> ToolError {
    ToolError::new(ErrorKind::Changed, format!("`{path}` was changed by another program meanwhile"))
        .hint("read it again and repeat the call")
        .at(path)
}
