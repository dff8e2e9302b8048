//! One change at a time per directory, across threads, processes and users.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::Errno;
use toolcrib_core::{Cancel, ToolError};

use crate::files::errno::{changed, errno_error};
use crate::files::target::Target;

/// A directory in which nobody else of us changes anything; let go when dropped.
pub(crate) struct DirectoryLock {
    directory: Option<OwnedFd>,
}

impl DirectoryLock {
    /// Fails if `target` is in another directory than the one that is held.
    pub(crate) fn check(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let (Ok(held), Ok(now)) = (fstat(directory), fstat(&target.parent)) else {
            return Err(changed(target.shown));
        };
        if (held.st_dev, held.st_ino) == (now.st_dev, now.st_ino) {
            return Ok(());
        }
        Err(changed(target.shown))
    }
}

/// Waits until nobody else changes anything in the directory of `target`, or the call is cancelled. The lock is on
/// the directory itself, so that runtimes of different users with different state folders meet.
pub(crate) fn hold(target: &Target<'_>, cancel: &Cancel) -> Result<DirectoryLock, ToolError> {
    let shown = target.shown;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = match openat(&target.parent, ".", flags, Mode::empty()) {
        Ok(handle) => handle,
        // It may be written and not read: changes by others are still noticed.
        Err(Errno::ACCESS) => return Ok(DirectoryLock { directory: None }),
        Err(errno) => return Err(errno_error(errno, shown)),
    };
    let mut pause = Duration::from_micros(50);
    loop {
        match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(DirectoryLock { directory: Some(handle) }),
            Err(Errno::AGAIN | Errno::INTR) => {
                cancel.check().map_err(|err| {
                    err.hint(format!(
                        "another program holds the lock on the directory of `{shown}`"
                    ))
                })?;
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            // A file system that cannot lock: changes by others are still noticed.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK) => {
                return Ok(DirectoryLock { directory: None });
            }
            Err(errno) => return Err(errno_error(errno, shown)),
        }
    }
}
