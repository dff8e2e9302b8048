//! The state folder: private to its owner, outside every root.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder that holds everything the ledger keeps.
#[derive(Clone, Debug)]
pub struct StateFolder {
    folder: PathBuf,
    damaged: DamagedFiles,
}

/// The files of the record that could not be read, each with the reason.
pub(crate) type DamagedFiles = Arc<Mutex<BTreeMap<String, String>>>;

/// Why the state folder cannot be used.
#[derive(Debug)]
pub struct StateError {
    /// The kind of the failure.
    pub kind: StateErrorKind,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// The kinds of [`StateError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateErrorKind {
    /// The folder does not exist and cannot be made.
    Missing,
    /// The folder belongs to another user.
    ForeignOwner,
    /// Other users can write the folder.
    WritableByOthers,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for StateError {}

impl StateFolder {
    /// Opens the folder and makes it if necessary. The folder must be ours and closed to everyone else.
    pub fn open(folder: &Path) -> Result<Self, StateError> {
        let (state, missing) = Self::open_if_possible(folder)?;
        missing.map_or(Ok(state), Err)
    }

    /// Opens the folder. If the folder cannot be made or used, the second value says why: nothing is kept then,
    /// and a caller that can do without state may go on. A folder that is not ours alone is refused.
    pub fn open_if_possible(folder: &Path) -> Result<(Self, Option<StateError>), StateError> {
        let shown = folder.display();
        let state = Self { folder: folder.to_owned(), damaged: DamagedFiles::default() };
        let missing = |place: &Path, err: io::Error| StateError {
            kind: StateErrorKind::Missing,
            message: format!("no state folder at `{shown}`: `{}`: {err}", place.display()),
            hint: "set TOOLCRIB_STATE to a folder that can be created".to_owned(),
        };
        let made = make_private_folder(folder).and_then(|()| fs::metadata(folder));
        let meta = match made {
            Ok(meta) => meta,
            Err(err) => return Ok((state, Some(missing(folder, err)))),
        };
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(StateError {
                kind: StateErrorKind::ForeignOwner,
                message: format!("the state folder `{shown}` belongs to user {}", meta.uid()),
                hint: "set TOOLCRIB_STATE to a folder of your own".to_owned(),
            });
        }
        if meta.mode() & 0o022 != 0 {
            return Err(StateError {
                kind: StateErrorKind::WritableByOthers,
                message: format!("other users can write the state folder `{shown}`"),
                hint: format!("run `chmod 700 {shown}`"),
            });
        }
        for part in ["context_log", "objects"] {
            let part = folder.join(part);
            if !part.is_dir()
                && let Err(err) = make_private_folder(&part)
            {
                return Ok((state, Some(missing(&part, err))));
            }
        }
        Ok((state, None))
    }

    /// Returns a warning for each file of the record that was skipped because it could not be read.
    pub fn skipped_files(&self) -> Vec<String> {
        let damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        let warnings = damaged.values().map(|why| {
            format!("{why}; the file was skipped, run `toolcrib audit verify` for all problems")
        });
        warnings.collect()
    }

    pub(crate) fn damaged(&self) -> &DamagedFiles {
        &self.damaged
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the record's segments.
    pub(crate) fn record_folder(&self) -> PathBuf {
        self.folder.join("context_log")
    }

    /// Returns the path of the key that signs the record.
    pub(crate) fn record_key(&self) -> PathBuf {
        self.folder.join("record.key")
    }
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Opens a file of ours for appending: private, never through a link, and only a regular file.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    let options = options.read(true).append(true).create(true).mode(0o600).custom_flags(flags);
    require_regular(options.open(path)?, path)
}

/// Returns the file if it is a regular one: a pipe would swallow what is written, or make us wait.
pub(crate) fn require_regular(file: File, path: &Path) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let message = format!("`{}` is not a regular file; move it away", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Opens a file of ours for reading. Only a regular file is opened, so that nothing put in its place makes us wait.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok(file)
}

/// Reads a whole regular file of ours.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether the last line of a file was torn by a crash or a full disk. The next line must not be glued
/// to a torn one.
pub(crate) fn is_torn(file: &File) -> io::Result<bool> {
    let size = file.metadata()?.len();
    is_torn_at(file, size)
}

/// Returns whether the first `size` bytes of a file end within a line.
pub(crate) fn is_torn_at(file: &File, size: u64) -> io::Result<bool> {
    let mut last = [b'\n'];
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    Ok(last != [b'\n'])
}
