//! Content kept by its hash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolcrib_core::canonical::hex;

/// A folder of content, each file named by the SHA-256 of what is in it.
pub(crate) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Stores content and returns its hash and size. What was returned survives our death.
    pub(crate) fn keep(&self, content: &mut dyn Read) -> io::Result<(String, u64)> {
        let temporary = self.folder.join(format!("new-{}", ulid::Ulid::generate()));
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let kept = copy(content, &mut file).and_then(|(hash, size)| {
            let place = self.place(&hash);
            // One of another size was damaged, and is put right.
            if place.metadata().is_ok_and(|meta| meta.len() == size) {
                return Ok((hash, size));
            }
            {
                file.sync_data()?;
                if let Some(folder) = place.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::rename(&temporary, &place)?;
            }
            Ok((hash, size))
        });
        let _ = fs::remove_file(&temporary);
        kept
    }

    /// Returns content by its hash, checked against it.
    pub(crate) fn load(&self, hash: &str) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.place(hash))?;
        if hash_of(&bytes) != hash {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its content was altered"));
        }
        Ok(bytes)
    }

    fn place(&self, hash: &str) -> PathBuf {
        let (folder, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.folder.join(Path::new(folder)).join(rest)
    }
}

/// Returns the hash that content is kept by.
pub fn hash_of(content: &[u8]) -> String {
    let mut hash = String::with_capacity(64);
    let _ = hex(&Sha256::digest(content), &mut hash);
    hash
}

fn copy(content: &mut dyn Read, file: &mut File) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
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
    fn content_is_kept_once_and_checked_when_it_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().to_owned());
        let (hash, size) = objects.keep(&mut &b"hello"[..]).unwrap();
        assert_eq!(size, 5);
        assert_eq!(objects.keep(&mut &b"hello"[..]).unwrap().0, hash);
        assert_eq!(objects.load(&hash).unwrap(), b"hello");

        fs::write(objects.place(&hash), "altered").unwrap();
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
        assert!(objects.keep(&mut Broken).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
