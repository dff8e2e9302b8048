//! A list in one file of the state folder. It is replaced as a whole and under a lock, and counts for nothing if other
//! users can write it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state::{StateFolder, open_append, read_regular};

/// A list of things with one name.
#[derive(Clone)]
pub(crate) struct ListFile {
    folder: PathBuf,
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

/// What tells one version of the file from another.
pub(crate) type ListVersion = Option<(u64, u64, i64, i64)>;

impl From<io::Error> for ListError {
    fn from(err: io::Error) -> Self {
        Self::Io(err)
    }
}

impl ListFile {
    pub(crate) fn new(state: &StateFolder, name: &'static str, noun: &'static str) -> Self {
        Self { folder: state.folder().to_owned(), name, noun }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// Returns the version of the file, if there is one.
    pub(crate) fn version(&self) -> ListVersion {
        let meta = fs::metadata(self.path()).ok()?;
        Some((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<Vec<T>, ListError> {
        let (noun, shown) = (self.noun, self.path().display().to_string());
        let others = |meta: fs::Metadata| {
            meta.mode() & 0o022 != 0 || meta.uid() != rustix::process::geteuid().as_raw()
        };
        if fs::metadata(self.path()).is_ok_and(others) {
            return Err(ListError::Untrusted(format!(
                "other users can write `{shown}`, so no {noun} counts; run `chmod 600` on it"
            )));
        }
        match read_regular(&self.path()) {
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
        let fresh = self.folder.join(format!("{}.{}.fresh", self.name, std::process::id()));
        let mut file = open_append(&fresh)?;
        file.set_len(0)?;
        let text = serde_json::to_vec_pretty(all)?;
        io::Write::write_all(&mut file, &text)?;
        file.sync_all()?;
        fs::rename(fresh, self.path())
    }

    fn lock(&self) -> io::Result<File> {
        let file = open_append(&self.folder.join(format!("{}.lock", self.name)))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}
