//! Directory locks: one change at a time per directory, across threads, processes and users.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::Errno;
use toolcrib_core::{Cancel, ToolError};

use crate::files::errno::{changed, errno_error};
use crate::files::target::Target;

/// The lock on a directory in which no other Toolcrib process changes anything. Released when dropped.
pub(crate) struct DirectoryLock {
    /// `None` where the directory cannot be locked.
    directory: Option<OwnedFd>,
}

impl DirectoryLock {
    /// Fails if `target` is in another directory than the locked one.
    pub(crate) fn check_covers(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let (Ok(locked), Ok(now)) = (fstat(directory), fstat(&target.parent)) else {
            return Err(changed(target.shown));
        };
        if (locked.st_dev, locked.st_ino) == (now.st_dev, now.st_ino) {
            return Ok(());
        }
        Err(changed(target.shown))
    }

    /// Waits until no other process changes anything in the directory of `target`, or the call is cancelled. The lock
    /// is on the directory itself, so that processes of different users with different state folders meet.
    pub(crate) fn acquire(target: &Target<'_>, cancel: &Cancel) -> Result<Self, ToolError> {
        let shown = target.shown;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = match openat(&target.parent, ".", flags, Mode::empty()) {
            Ok(handle) => handle,
            // The directory can be written but not read. Changes by others are still detected.
            Err(Errno::ACCESS) => return Ok(Self { directory: None }),
            Err(errno) => return Err(errno_error(errno, shown)),
        };
        let mut pause = Duration::from_micros(50);
        loop {
            match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { directory: Some(handle) }),
                Err(Errno::AGAIN | Errno::INTR) => {
                    cancel.check().map_err(|err| {
                        err.hint(format!(
                            "another program holds the lock on the directory of `{shown}`"
                        ))
                    })?;
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                // A file system without locks. Changes by others are still detected.
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK) => {
                    return Ok(Self { directory: None });
                }
                Err(errno) => return Err(errno_error(errno, shown)),
            }
        }
    }
}
