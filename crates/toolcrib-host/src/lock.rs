//! One change at a time per directory, across threads, processes and users.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;
use toolcrib_core::{Cancel, ToolError};

use crate::fault::fault;
use crate::target::Target;

/// A directory in which nobody else of us changes anything; let go when dropped.
pub(crate) struct Held {
    _directory: OwnedFd,
}

/// Waits until nobody else changes anything in the directory of `target`, or the call is cancelled. The lock is on
/// the directory itself, so that runtimes of different users with different state folders meet.
pub(crate) fn hold(target: &Target<'_>, cancel: &Cancel) -> Result<Held, ToolError> {
    let shown = target.shown;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle =
        openat(&target.parent, ".", flags, Mode::empty()).map_err(|errno| fault(errno, shown))?;
    let mut pause = Duration::from_micros(50);
    loop {
        match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Held { _directory: handle }),
            Err(Errno::AGAIN | Errno::INTR) => {
                cancel.check()?;
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            // A file system that cannot lock: changes by others are still noticed.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK) => {
                return Ok(Held { _directory: handle });
            }
            Err(errno) => return Err(fault(errno, shown)),
        }
    }
}
