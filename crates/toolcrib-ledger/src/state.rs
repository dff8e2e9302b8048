//! The state folder: private to its owner, outside every root.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder that holds the record.
#[derive(Clone, Debug)]
pub struct State {
    folder: PathBuf,
    /// Files of the record that could not be read, and why.
    damaged: Damaged,
}

/// Files that could not be read, and why.
pub(crate) type Damaged = Arc<Mutex<BTreeMap<String, String>>>;

/// Why the state folder cannot be used.
#[derive(Debug)]
pub struct StateError(pub String);

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StateError {}

impl State {
    /// Opens the folder, making it if need be. It must be ours and closed to everyone else.
    pub fn open(folder: &Path) -> Result<Self, StateError> {
        let (state, missing) = Self::open_as_it_is(folder)?;
        missing.map_or(Ok(state), Err)
    }

    /// Opens the folder, and says why it cannot be made or used, if so: nothing is kept then, and whoever can do
    /// without that goes on. One that is not ours alone is refused.
    pub fn open_as_it_is(folder: &Path) -> Result<(Self, Option<StateError>), StateError> {
        let shown = folder.display();
        let state = Self { folder: folder.to_owned(), damaged: Damaged::default() };
        let missing = |place: &Path, err: io::Error| {
            let place = place.display();
            StateError(format!(
                "no state folder at `{shown}`: `{place}`: {err}; set TOOLCRIB_STATE to a folder that can be made"
            ))
        };
        let made = make(folder).and_then(|()| fs::metadata(folder));
        let meta = match made {
            Ok(meta) => meta,
            Err(err) => return Ok((state, Some(missing(folder, err)))),
        };
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(StateError(format!(
                "the state folder `{shown}` belongs to user {}, not to us; set TOOLCRIB_STATE to a \
                 folder of your own",
                meta.uid()
            )));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(StateError(format!(
                "the state folder `{shown}` can be written by others; run `chmod 700 {shown}`"
            )));
        }
        for part in ["context_log", "objects"] {
            let part = folder.join(part);
            if !part.is_dir()
                && let Err(err) = make(&part)
            {
                return Ok((state, Some(missing(&part, err))));
            }
        }
        Ok((state, None))
    }

    /// What was passed over in the record since this was opened, each with a sentence.
    pub fn passed_over(&self) -> Vec<String> {
        let damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        let said = damaged.values().map(|why| {
            format!("{why}; it was passed over, and `toolcrib audit verify` has all that is wrong")
        });
        said.collect()
    }

    pub(crate) fn damaged(&self) -> &Damaged {
        &self.damaged
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Opens a file of the record for appending: private, never through a link, and a plain one.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    let options = options.read(true).append(true).create(true).mode(0o600).custom_flags(flags);
    plain(options.open(path)?, path)
}

/// Fails if a file is none: a pipe would swallow what is written, or make us wait.
pub(crate) fn plain(file: File, path: &Path) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let message = format!("`{}` is no plain file; move it away", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Opens a file of ours for reading: a plain one, so that nothing put in its place makes us wait.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no plain file"));
    }
    Ok(file)
}

/// Reads such a file.
pub(crate) fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_plain(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the last line was torn, by a crash or a full disk: the next one must not be glued to it.
pub(crate) fn is_torn(file: &File) -> io::Result<bool> {
    let size = file.metadata()?.len();
    let mut last = [b'\n'];
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    Ok(last != [b'\n'])
}
