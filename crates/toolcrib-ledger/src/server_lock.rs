//! The lock of the server: one process serves a state folder.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};

use rustix::fs::{FlockOperation, flock};

use crate::state::{StateFolder, open_append};

/// The lock of a server, held until this is dropped or the process ends.
#[derive(Debug)]
pub struct ServerLock {
    _file: File,
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
        Ok(Self { _file: file })
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
}
