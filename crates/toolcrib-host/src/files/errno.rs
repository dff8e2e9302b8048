//! Words the operating system's refusals as errors of ours.

use rustix::io::Errno;
use toolcrib_core::{ErrorKind, ToolError};

/// Returns the error for a system call about `path` that failed.
pub(crate) fn errno_error(errno: Errno, path: &str) -> ToolError {
    let (kind, what) = match errno {
        Errno::NOENT | Errno::NOTDIR => (ErrorKind::NotFound, "does not exist"),
        Errno::XDEV => return outside(path),
        Errno::LOOP => (ErrorKind::NotFound, "is a link that leads in circles"),
        Errno::ACCESS | Errno::PERM => {
            (ErrorKind::Permission, "may not be opened: permission denied")
        }
        Errno::ROFS => (ErrorKind::Permission, "is on a read-only file system"),
        Errno::NAMETOOLONG => (ErrorKind::BadArgs, "is too long a path"),
        Errno::ISDIR => (ErrorKind::IsDirectory, "is a directory"),
        Errno::EXIST | Errno::NOTEMPTY => (ErrorKind::Exists, "already exists"),
        Errno::NXIO | Errno::NODEV => (ErrorKind::NotRegular, "is not a regular file"),
        Errno::NOSPC | Errno::DQUOT => (ErrorKind::Io, "could not be written: the disk is full"),
        Errno::FBIG => (ErrorKind::Io, "could not be written: over the file size limit"),
        Errno::NOSYS => {
            return ToolError::new(
                ErrorKind::Unavailable,
                "this kernel has no openat2, without which no path can be confined",
            )
            .hint("use Linux 5.6 or newer, and let the container's seccomp profile allow openat2")
            .at(path);
        }
        other => {
            let error = std::io::Error::from_raw_os_error(other.raw_os_error());
            let message = format!("`{path}` failed: {error}");
            return ToolError::new(ErrorKind::Io, message).at(path);
        }
    };
    ToolError::new(kind, format!("`{path}` {what}")).at(path)
}

/// Returns the one error for every path that leads outside, whatever is or is not there.
pub(crate) fn outside(path: &str) -> ToolError {
    ToolError::new(ErrorKind::Outside, format!("`{path}` leads outside the workspace"))
        .hint("use a path below the workspace; links may not leave it, nor be absolute")
        .at(path)
}

/// Returns the error for a file that changed under a call's hands.
pub(crate) fn changed(path: &str) -> ToolError {
    ToolError::new(ErrorKind::Changed, format!("`{path}` was changed by someone else meanwhile"))
        .hint("read it again and repeat the call")
        .at(path)
}
