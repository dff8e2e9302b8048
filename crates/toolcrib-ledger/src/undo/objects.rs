//! The object store: content, stored by its hash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolcrib_core::canonical::hex;

/// How many bytes are copied at once. Most files of a project have fewer.
const COPY_BYTES: usize = 16 << 10;

/// A folder of objects. The name of each file is the SHA-256 of its content.
pub(crate) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Stores content and returns its hash and size. The object is on the disk when this returns.
    pub(crate) fn store(&self, content: &mut dyn Read) -> io::Result<(String, u64)> {
        let temporary = self.folder.join(format!("new-{}", ulid::Ulid::generate()));
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let stored = copy(content, &mut file).and_then(|(hash, size)| {
            // An object of another size is damaged, and is replaced.
            let is_whole = |path: PathBuf| path.metadata().is_ok_and(|meta| meta.len() == size);
            if is_whole(self.path(&hash)) || is_whole(self.former_path(&hash)) {
                fs::remove_file(&temporary)?;
                return Ok((hash, size));
            }
            file.sync_data()?;
            fs::rename(&temporary, self.path(&hash))?;
            Ok((hash, size))
        });
        if stored.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        stored
    }

    /// Returns the content with this hash. Fails if the content does not have it.
    pub(crate) fn load(&self, hash: &str) -> io::Result<Vec<u8>> {
        let bytes = match fs::read(self.path(hash)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => fs::read(self.former_path(hash))?,
            read => read?,
        };
        if hash_of(&bytes) != hash {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the stored content was altered",
            ));
        }
        Ok(bytes)
    }

    /// Returns the place of an object. All are in one folder: to make a folder for the first of its objects took longer
    /// than to sync the object.
    fn path(&self, hash: &str) -> PathBuf {
        self.folder.join(hash)
    }

    /// Returns the place of an object from a version that had 256 folders.
    fn former_path(&self, hash: &str) -> PathBuf {
        let (folder, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.folder.join(Path::new(folder)).join(rest)
    }
}

/// Returns the hash of a content, as the object store names it.
pub fn hash_of(content: &[u8]) -> String {
    let mut hash = String::with_capacity(64);
    let _ = hex(&Sha256::digest(content), &mut hash);
    hash
}

/// Copies content into a file and returns its hash and size.
fn copy(content: &mut dyn Read, file: &mut File) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut size = 0;
    loop {
        let got = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(err),
        };
        hasher.update(&buffer[..got]);
        file.write_all(&buffer[..got])?;
        size += got as u64;
    }
    let mut hash = String::with_capacity(64);
    let _ = hex(&hasher.finalize(), &mut hash);
    Ok((hash, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_stored_once_and_checked_when_it_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().to_owned());
        let (hash, size) = objects.store(&mut &b"hello"[..]).unwrap();
        assert_eq!(size, 5);
        assert_eq!(objects.store(&mut &b"hello"[..]).unwrap().0, hash);
        assert_eq!(objects.load(&hash).unwrap(), b"hello");

        fs::create_dir_all(objects.former_path(&hash).parent().unwrap()).unwrap();
        fs::rename(objects.path(&hash), objects.former_path(&hash)).unwrap();
        assert_eq!(objects.load(&hash).unwrap(), b"hello", "from an earlier version");
        assert_eq!(objects.store(&mut &b"hello"[..]).unwrap().0, hash);
        assert!(!objects.path(&hash).exists(), "it is stored once");

        fs::write(objects.former_path(&hash), "other").unwrap();
        assert_eq!(objects.load(&hash).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn content_that_cannot_be_read_leaves_nothing_behind() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().to_owned());
        assert!(objects.store(&mut Broken).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
