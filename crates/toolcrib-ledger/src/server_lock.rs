//! The lock of the server: one process serves a state folder.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::state::{StateFolder, open_append};

/// The lock of a server, held until this is dropped or the process ends.
#[derive(Debug)]
pub struct ServerLock {
    path: PathBuf,
    file: File,
}

/// What became of the state folder of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostState {
    /// It cannot be found.
    Gone(PathBuf),
    /// Another folder is in its place.
    Replaced(PathBuf),
}

impl fmt::Display for LostState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(folder) => write!(
                f,
                "the state folder `{}` is gone; put it back, or restart the server",
                folder.display()
            ),
            Self::Replaced(folder) => write!(
                f,
                "another folder is in the place of the state folder `{}`; put the old one back, or restart the server",
                folder.display()
            ),
        }
    }
}

/// Why the lock cannot be had.
#[derive(Debug)]
pub enum ServerLockError {
    /// Another process serves the state folder. The text says which.
    Held(String),
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for ServerLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(by) => write!(f, "another server uses this state folder: {by}"),
            Self::Io(err) => write!(f, "the lock of the server cannot be taken: {err}"),
        }
    }
}

impl std::error::Error for ServerLockError {}

impl ServerLock {
    /// Takes the lock. `about` tells other processes who holds it.
    pub fn take(state: &StateFolder, about: &str) -> Result<Self, ServerLockError> {
        let path = state.folder().join("server.lock");
        let mut file = open_append(&path).map_err(ServerLockError::Io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let by = fs::read_to_string(&path).unwrap_or_default();
                return Err(ServerLockError::Held(by.trim().to_owned()));
            }
            Err(err) => return Err(ServerLockError::Io(err.into())),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            writeln!(file, "process {}, {about}", std::process::id())
        };
        write(&mut file).map_err(ServerLockError::Io)?;
        Ok(Self { path, file })
    }

    /// Returns what became of the state folder, unless it is still the one of this lock.
    pub fn lost_state(&self) -> Option<LostState> {
        let folder = || self.path.parent().unwrap_or(&self.path).to_owned();
        let is_own = |found: &fs::Metadata| {
            let own = self.file.metadata();
            own.is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        match fs::symlink_metadata(&self.path) {
            Ok(found) if is_own(&found) => None,
            Ok(_) => Some(LostState::Replaced(folder())),
            Err(_) if folder().exists() => Some(LostState::Replaced(folder())),
            Err(_) => Some(LostState::Gone(folder())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_server_is_told_which_process_is_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let first = ServerLock::take(&state, "http://127.0.0.1:1").unwrap();
        let err = ServerLock::take(&state, "http://127.0.0.1:2").unwrap_err().to_string();
        let expect = format!("process {}, http://127.0.0.1:1", std::process::id());
        assert!(err.contains(&expect), "{err}");
        drop(first);
        assert!(ServerLock::take(&state, "http://127.0.0.1:2").is_ok());
    }

    #[test]
    fn a_state_folder_that_is_gone_or_replaced_is_lost_until_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let (path, away) = (folder.path().join("state"), folder.path().join("away"));
        let lock = ServerLock::take(&StateFolder::open(&path).unwrap(), "").unwrap();
        assert_eq!(lock.lost_state(), None);
        fs::rename(&path, &away).unwrap();
        assert_eq!(lock.lost_state(), Some(LostState::Gone(path.clone())));
        let other = StateFolder::open(&path).unwrap();
        assert_eq!(lock.lost_state(), Some(LostState::Replaced(path.clone())));
        let _other_lock = ServerLock::take(&other, "").unwrap();
        assert_eq!(lock.lost_state(), Some(LostState::Replaced(path.clone())));
        fs::remove_dir_all(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        assert_eq!(lock.lost_state(), None);
    }
}
