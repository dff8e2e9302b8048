//! Files that one process can make, once: whoever is first wins, and what is there is whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state::read_regular;

/// Returns whether a file was made, or was there already.
pub(crate) fn is_first(made: io::Result<()>) -> io::Result<bool> {
    match made {
        Ok(()) => Ok(true),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(err) => Err(err),
    }
}

/// Makes a file that must not exist yet, whole or not at all.
pub(crate) fn write_new<T: Serialize>(path: &Path, content: &T) -> io::Result<()> {
    let fresh =
        path.with_extension(format!("{}.{}.fresh", std::process::id(), ulid::Ulid::generate()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.sync_all()?;
    // A hard link fails if the name exists. Removing the first name leaves the second one.
    let linked = fs::hard_link(&fresh, path);
    fs::remove_file(&fresh)?;
    linked
}

pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    serde_json::from_slice(&read_regular(path)?).map_err(|err| {
        let why = format!("`{}` cannot be parsed: {err}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Removes the files of a folder that were made longer ago than `time`.
pub(crate) fn forget_older(folder: &Path, time: Duration) {
    let is_old = |meta: fs::Metadata| {
        let age = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age > time)
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.metadata().is_ok_and(is_old) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
