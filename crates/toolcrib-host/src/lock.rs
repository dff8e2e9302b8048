//! One change at a time per file, across threads and processes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use toolcrib_core::{Cancel, ErrorKind, ToolError};

/// Lock files shared by all runtimes on one state folder. Paths are spread over a fixed number of
/// them, so none is ever left behind.
pub(crate) struct Locks {
    folder: PathBuf,
}

/// Held while a file is being changed; let go when dropped.
pub(crate) struct Held {
    _file: OwnedFd,
}

const STRIPES: u64 = 256;

impl Locks {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Waits until nobody else changes `path`, or the call is cancelled.
    pub(crate) fn hold(&self, path: &Path, cancel: &Cancel) -> Result<Held, ToolError> {
        // Any hash will do as long as every process of this build agrees on it.
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let name = format!("{:02x}", hasher.finish() % STRIPES);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let broken = |errno: Errno| {
            let reason = std::io::Error::from(errno);
            ToolError::new(ErrorKind::Unavailable, format!("no lock in the state folder: {reason}"))
                .hint("check that the state folder can be written")
        };
        let file = open(self.folder.join(name), flags, Mode::RUSR | Mode::WUSR).map_err(broken)?;
        let mut pause = Duration::from_micros(50);
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Held { _file: file }),
                Err(Errno::AGAIN | Errno::INTR) => {
                    cancel.check()?;
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(errno) => return Err(broken(errno)),
            }
        }
    }
}
