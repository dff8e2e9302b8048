//! Files of the plugins' state: each is written whole or not at all, never through a link, and read within a size.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::plugin_error::{PluginError, PluginErrorKind};

/// The mode of a file that only its owner reads.
pub(crate) const PRIVATE_MODE: u32 = 0o600;

/// The mode of a file that the sandbox's user reads, too.
pub(crate) const READABLE_MODE: u32 = 0o644;

impl From<io::Error> for PluginError {
    fn from(err: io::Error) -> Self {
        let message = format!("the folder of the plugins cannot be used: {err}");
        Self::new(PluginErrorKind::Store, message)
    }
}

/// Makes a folder that only its owner can enter, with those above it.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a file that must not exist yet, whole or not at all. Returns whether this call made it.
pub(crate) fn write_once<T: Serialize>(path: &Path, content: &T) -> io::Result<bool> {
    let fresh = beside(path);
    write_synced(&fresh, &serde_json::to_vec(content)?, PRIVATE_MODE)?;
    // A hard link fails if the name exists, so of two processes one is first.
    let linked = fs::hard_link(&fresh, path);
    fs::remove_file(&fresh)?;
    match linked {
        Ok(()) => sync_folder_of(path).map(|()| true),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(err) => Err(err),
    }
}

/// Puts bytes in the place of a file, whole or not at all. If a link is there, the link is replaced.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let fresh = beside(path);
    let written = write_synced(&fresh, bytes, mode).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // What was written of it takes room that is needed elsewhere.
        let _ = fs::remove_file(&fresh);
    }
    written?;
    sync_folder_of(path)
}

/// Writes a new file and waits until it is on the disk.
pub(crate) fn write_synced(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(path)?;
    file.write_all(bytes)?;
    // Set here because the process's own mask takes bits away when a file is made.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Waits until the entries of the folder above `path` are on the disk: a later step must not survive a power cut
/// that an earlier one does not.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Reads a file of JSON.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, most_bytes: u64) -> io::Result<T> {
    serde_json::from_slice(&read_regular(path, most_bytes)?).map_err(|err| {
        let why = format!("`{}` cannot be parsed: {err}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Reads a regular file that is no link. A larger one fails with [`io::ErrorKind::FileTooLarge`].
pub(crate) fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // The file can grow after it was measured, so what is read is limited, too.
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(most_bytes)).unwrap_or(0));
    file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Waits for the lock of a file, which is held until the file is dropped, or its process ends.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    let options = options.read(true).append(true).create(true).mode(PRIVATE_MODE);
    let file = options.custom_flags(flags).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Makes a folder that the sandbox's user can read.
pub(crate) fn make_readable_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}

/// Returns what `read` returns, and nothing where there is no such file.
pub(crate) fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(content) => Ok(Some(content)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Returns a name in the same folder that no other process uses, and that no listing takes for a whole file.
fn beside(path: &Path) -> PathBuf {
    path.with_extension(format!("{}.fresh", ulid::Ulid::generate()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_made_once_and_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert!(write_once(&path, &1).unwrap());
        assert!(!write_once(&path, &2).unwrap(), "the first one stays");
        assert_eq!(read_json::<u8>(&path, 10).unwrap(), 1);
        replace(&path, b"3", PRIVATE_MODE).unwrap();
        assert_eq!(read_json::<u8>(&path, 10).unwrap(), 3);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, PRIVATE_MODE);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn links_pipes_and_large_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&path, "12345").unwrap();
        symlink(&path, &link).unwrap();
        assert_eq!(read_regular(&path, 5).unwrap(), b"12345");
        let too_large = read_regular(&path, 4).unwrap_err();
        assert_eq!(too_large.kind(), io::ErrorKind::FileTooLarge);
        assert!(read_regular(&link, 5).is_err());
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert!(read_regular(&pipe, 5).is_err(), "and nobody waits for a writer");
        replace(&link, b"new", READABLE_MODE).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"12345", "nothing is written through a link");
        assert_eq!(read_regular(&link, 5).unwrap(), b"new");
    }
}
