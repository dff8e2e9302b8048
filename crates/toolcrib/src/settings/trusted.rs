//! Reads files that the operator wrote, and refuses those that somebody else could have written.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::{SettingsError, SettingsErrorKind};

/// Reads a file of the operator's settings or rules; returns nothing if the file does not exist.
///
/// A file is trusted if root or the current user owns it and nobody else can write to it or replace it.
pub(crate) fn read_trusted(path: &Path) -> Result<Option<String>, SettingsError> {
    let place = format!("`{}`", path.display());
    let refuse = |kind, what: &str| SettingsError::new(kind, what).at(&place);
    let unreadable = |err: &io::Error| refuse(SettingsErrorKind::File, &err.to_string());
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                let what = "this symbolic link points to a file that does not exist";
                return Err(refuse(SettingsErrorKind::File, what));
            }
            return Ok(None);
        }
        Err(err) => return Err(unreadable(&err)),
    };
    let is_shared = |mode: u32| mode & 0o022 != 0;
    let untrusted = |what: &str| refuse(SettingsErrorKind::Untrusted, what);
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    // In a sticky folder, others can add files and not replace this one.
    if folder.is_some_and(|folder| is_shared(folder.mode()) && folder.mode() & 0o1000 == 0) {
        let what = "other users can write to its folder, so the file is not trusted";
        return Err(untrusted(what).hint("run `chmod go-w` on the folder"));
    }
    if !meta.is_file() {
        return Err(refuse(SettingsErrorKind::File, "not a regular file"));
    }
    let ours = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != ours {
        return Err(untrusted("another user owns the file, so it is not trusted"));
    }
    if is_shared(meta.mode()) {
        let what = "other users can write to the file, so it is not trusted";
        return Err(untrusted(what).hint("run `chmod go-w` on the file"));
    }
    fs::read_to_string(path).map(Some).map_err(|err| unreadable(&err))
}
