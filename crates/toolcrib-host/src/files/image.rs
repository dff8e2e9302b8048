//! Images of files: content by its hash, mode, owner and attributes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Stat, readlinkat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolcrib_core::canonical::hex;
use toolcrib_core::{Image, ToolError};

use crate::files::attribute;
use crate::files::errno::errno_error;
use crate::files::target::Target;
use crate::files::workspace::CallFiles;

/// How many bytes of a file are hashed at once.
const HASH_CHUNK_BYTES: usize = 256 << 10;

impl CallFiles {
    /// Returns the image of the file or link at a target, or `None` if there is none.
    pub(crate) fn image(&self, target: &Target<'_>) -> Result<Option<Image>, ToolError> {
        let Some((file, meta)) = &target.existing else { return Ok(None) };
        let failed = |errno: Errno| errno_error(errno, target.shown);
        if target.is_link() {
            let link = readlinkat(&target.parent, &target.name, Vec::new()).map_err(failed)?;
            let bytes = link.as_bytes();
            let (sha256, size) = (sha256(bytes), bytes.len() as u64);
            return Ok(Some(Image { sha256, size, ..image_without_content(file.as_fd(), meta) }));
        }
        let mut hasher = Sha256::new();
        let mut reader = File::from(file.try_clone().map_err(|_| failed(Errno::MFILE))?);
        let mut buffer = vec![0; HASH_CHUNK_BYTES];
        let mut size = 0;
        loop {
            self.cancel.check()?;
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => {
                    hasher.update(&buffer[..got]);
                    size += got as u64;
                }
                Err(err) if err.kind() == std::io::ErrorKind::Interrupted => {}
                Err(err) => return Err(failed(Errno::from_io_error(&err).unwrap_or(Errno::IO))),
            }
        }
        let mut sha256 = String::with_capacity(64);
        let _ = hex(&hasher.finalize(), &mut sha256);
        Ok(Some(Image { sha256, size, ..image_without_content(file.as_fd(), meta) }))
    }
}

/// Returns the image of a file with its hash and size left empty.
pub(crate) fn image_without_content(file: BorrowedFd<'_>, meta: &Stat) -> Image {
    let is_link = FileType::from_raw_mode(meta.st_mode) == FileType::Symlink;
    Image {
        sha256: String::new(),
        size: 0,
        mode: meta.st_mode & 0o7777,
        uid: meta.st_uid,
        gid: meta.st_gid,
        is_link,
        attributes: if is_link { BTreeMap::new() } else { attribute::read(file) },
    }
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    let _ = hex(&Sha256::digest(bytes), &mut text);
    text
}

/// Whether two images have the same kind and content, or both are missing.
pub(crate) fn is_same_image(a: Option<&Image>, b: Option<&Image>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_same(b),
        (None, None) => true,
        _ => false,
    }
}
