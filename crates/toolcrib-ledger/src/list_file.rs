//! A list in one file of the state folder. It is replaced as a whole and under a lock, and counts for nothing if other
//! users can write it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state::{StateFolder, open_append, read_regular, require_regular};

/// A list of things with one name.
#[derive(Clone)]
pub(crate) struct ListFile {
    folder: PathBuf,
    /// The file. Its version is looked at for every request.
    path: PathBuf,
    /// The name of the file, without `.json`.
    name: &'static str,
    /// What one of the things is called.
    noun: &'static str,
}

/// Why a list cannot be used.
#[derive(Debug)]
pub(crate) enum ListError {
    /// Other users can change the list. The text says which file.
    Untrusted(String),
    /// The list cannot be parsed. The text says why.
    Malformed(String),
    /// The system refused.
    Io(io::Error),
}

/// How many blanks end a list, so that it can become longer where the disk is full: enough to revoke some tokens.
const RESERVE_BYTES: usize = 512;

/// A time in which the kernel's clock for changes of files ticks.
const CHANGE_TICK: Duration = Duration::from_millis(20);

/// Whether there is no room for a file.
fn is_full(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// What tells one version of the file from another.
pub(crate) type ListVersion = Option<(u64, u64, i64, i64)>;

impl From<io::Error> for ListError {
    fn from(err: io::Error) -> Self {
        Self::Io(err)
    }
}

impl ListFile {
    pub(crate) fn new(state: &StateFolder, name: &'static str, noun: &'static str) -> Self {
        let folder = state.folder().to_owned();
        Self { path: folder.join(format!("{name}.json")), folder, name, noun }
    }

    /// Returns the version of the file, if there is one.
    pub(crate) fn version(&self) -> ListVersion {
        let meta = fs::metadata(&self.path).ok()?;
        Some((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<Vec<T>, ListError> {
        let (noun, shown) = (self.noun, self.path.display().to_string());
        let others = |meta: fs::Metadata| {
            meta.mode() & 0o022 != 0 || meta.uid() != rustix::process::geteuid().as_raw()
        };
        if fs::metadata(&self.path).is_ok_and(others) {
            return Err(ListError::Untrusted(format!(
                "other users can write `{shown}`, so no {noun} counts; run `chmod 600` on it"
            )));
        }
        match read_regular(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|err| {
                ListError::Malformed(format!(
                    "`{shown}` cannot be parsed, so no {noun} counts: {err}"
                ))
            }),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(err.into()),
        }
    }

    /// Changes the list, unless `change` fails.
    pub(crate) fn change<T: Serialize + DeserializeOwned, R, E: From<ListError>>(
        &self,
        change: impl FnOnce(&mut Vec<T>) -> Result<R, E>,
    ) -> Result<R, E> {
        let _lock = self.lock().map_err(ListError::Io)?;
        let mut all = self.read()?;
        let result = change(&mut all)?;
        self.replace(&all).map_err(ListError::Io)?;
        Ok(result)
    }

    fn replace<T: Serialize>(&self, all: &[T]) -> io::Result<()> {
        match self.replace_by_fresh(all) {
            Err(err) if is_full(&err) => self.overwrite(all).map_err(|_| err),
            replaced => replaced,
        }
    }

    fn replace_by_fresh<T: Serialize>(&self, all: &[T]) -> io::Result<()> {
        let fresh = self.folder.join(format!("{}.{}.fresh", self.name, std::process::id()));
        let mut file = open_append(&fresh)?;
        file.set_len(0)?;
        let mut text = serde_json::to_vec_pretty(all)?;
        text.extend_from_slice(&[b' '; RESERVE_BYTES]);
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        if written.is_err() {
            // What was written of it takes room that is needed elsewhere.
            let _ = fs::remove_file(&fresh);
        }
        written?;
        fs::rename(fresh, &self.path)
    }

    /// Writes a list over the old one, if it is not longer: the disk has no room for another file, and to take a token
    /// or a grant back must be possible then. A process that reads in the middle of this sees a list that counts for
    /// nothing, and reads it again because its time changes after the last byte.
    fn overwrite<T: Serialize>(&self, all: &[T]) -> io::Result<()> {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new().write(true).custom_flags(flags).open(&self.path)?;
        let file = require_regular(file, &self.path)?;
        let mut text = serde_json::to_vec(all)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        if text.len() > length {
            return Err(io::ErrorKind::StorageFull.into());
        }
        text.resize(length, b' ');
        file.write_all_at(&text, 0)?;
        file.sync_all()?;
        // The kernel counts the time of changes in ticks of a few milliseconds.
        thread::sleep(CHANGE_TICK);
        file.set_modified(SystemTime::now())
    }

    fn lock(&self) -> io::Result<File> {
        let file = open_append(&self.folder.join(format!("{}.lock", self.name)))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_can_be_written_over_itself_until_its_reserve_is_used_up() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let list = ListFile::new(&state, "tokens", "token");
        let name = |number: usize| format!("token {number}");
        let mut all: Vec<String> = (0..3).map(name).collect();
        list.replace(&all).unwrap();
        let (length, version) = (fs::metadata(&list.path).unwrap().len(), list.version());
        all.push("revoked at some time".repeat(10));
        list.overwrite(&all).unwrap();
        assert_eq!(list.read::<String>().unwrap(), all);
        assert_eq!(fs::metadata(&list.path).unwrap().len(), length, "it takes no more room");
        assert_ne!(list.version(), version, "others notice it");
        let longer: Vec<String> = (0..1000).map(name).collect();
        assert!(list.overwrite(&longer).is_err_and(|err| is_full(&err)));
        assert_eq!(list.read::<String>().unwrap(), all, "the old list stays whole");
        list.replace(&longer).unwrap();
        assert_eq!(list.read::<String>().unwrap(), longer, "the control");
    }
}
