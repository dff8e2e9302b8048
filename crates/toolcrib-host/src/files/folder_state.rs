//! The state of a folder: which folder it is, and a digest of each file below it, up to a bound. An approval is bound
//! to it.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use toolcrib_core::canonical::Digest;
use toolcrib_core::escape::name as spelt_name;
use toolcrib_core::pin::FolderState;
use toolcrib_core::{ErrorKind, ToolError};

use crate::files::errno::errno_error;
use crate::files::root::{identify, is_special, real_path};
use crate::files::stamp::stamp_of;
use crate::files::temporary_name::is_temporary;
use crate::files::workspace::CallFiles;

/// How many bytes of the files in one folder are read. Of further files, the stamp counts.
const MOST_PINNED_BYTES: u64 = 8 << 20;

/// How many levels of folders are read.
const MOST_PINNED_LEVELS: usize = 64;

/// How many letters of a digest are kept: 128 bits.
const DIGEST_LETTERS: usize = 32;

impl CallFiles {
    /// Returns the state of the folder at a path. At most `most` entries below it are looked at.
    pub(crate) fn read_folder_state(
        &self,
        path: &str,
        most: usize,
    ) -> Result<FolderState, ToolError> {
        let place = self.workspace.locate(path)?;
        let (folder, meta) = self.workspace.open(&place)?;
        if FileType::from_raw_mode(meta.st_mode) != FileType::Directory {
            let message = format!("`{path}` is not a directory");
            return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
        }
        let id = identify(&folder).map_err(|errno| errno_error(errno, path))?;
        let real = real_path(folder.as_fd()).unwrap_or_default();
        let state = FolderState { id, files: Vec::new(), is_cut: false };
        let mut reader =
            FolderReader { files: self, entries_left: most, bytes_left: MOST_PINNED_BYTES, state };
        reader.add_folder(&folder, &real, "", MOST_PINNED_LEVELS)?;
        Ok(reader.state)
    }
}

/// Reads the state of a folder, within bounds.
struct FolderReader<'a> {
    files: &'a CallFiles,
    entries_left: usize,
    bytes_left: u64,
    state: FolderState,
}

impl FolderReader<'_> {
    /// Adds everything below an open folder. `real` is its path, and `below` its path below the folder that is pinned.
    fn add_folder(
        &mut self,
        folder: &OwnedFd,
        real: &Path,
        below: &str,
        levels: usize,
    ) -> Result<(), ToolError> {
        let Some(names) = self.names(folder)?.filter(|_| levels > 0) else {
            self.state.is_cut = true;
            return Ok(());
        };
        for name in names {
            let plain = OsStr::from_bytes(name.to_bytes());
            if is_temporary(plain) || self.files.workspace.is_hidden(&real.join(plain)) {
                continue;
            }
            if self.entries_left == 0 {
                self.state.is_cut = true;
                return Ok(());
            }
            let Ok(meta) = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            self.entries_left -= 1;
            let shown = spelt_name(name.to_bytes());
            let path =
                if below.is_empty() { shown.into_owned() } else { format!("{below}/{shown}") };
            if FileType::from_raw_mode(meta.st_mode) != FileType::Directory {
                let state = self.state_of(folder, &name, &meta);
                self.state.files.push((path, state));
            } else if name.as_c_str() != c".git" {
                // Git writes into its folder even while it only reads, so that folder does not count.
                self.add_below(folder, &name, real.join(plain), &path, levels)?;
            }
        }
        Ok(())
    }

    /// Adds what is in a folder of a folder. Of one that cannot be read, nothing is known.
    fn add_below(
        &mut self,
        above: &OwnedFd,
        name: &CStr,
        real: PathBuf,
        path: &str,
        levels: usize,
    ) -> Result<(), ToolError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(above, name, flags, Mode::empty()) {
            Ok(folder) if !is_special(&folder) => self.add_folder(&folder, &real, path, levels - 1),
            Ok(_) | Err(_) => {
                self.state.is_cut = true;
                Ok(())
            }
        }
    }

    /// Returns the names in a folder, in order; nothing if the folder cannot be read.
    fn names(&self, folder: &OwnedFd) -> Result<Option<Vec<CString>>, ToolError> {
        let Ok(entries) = Dir::read_from(folder) else { return Ok(None) };
        let mut names = Vec::new();
        for (at, entry) in entries.enumerate() {
            if at % 1024 == 0 {
                self.files.cancel.check()?;
            }
            let Ok(entry) = entry else { return Ok(None) };
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push(entry.file_name().to_owned());
            }
        }
        names.sort_unstable();
        Ok(Some(names))
    }

    /// Returns a digest of the state of a file, link or special file: of its content if there is room, otherwise of
    /// its stamp. The content is better, because two writes within one tick of the clock have the same stamp.
    fn state_of(&mut self, folder: &OwnedFd, name: &CStr, meta: &Stat) -> String {
        let content = match FileType::from_raw_mode(meta.st_mode) {
            FileType::Symlink => readlinkat(folder, name, Vec::new()).ok().map(CString::into_bytes),
            FileType::RegularFile => self.content(folder, name, meta),
            _ => None,
        };
        let content = content.map(|bytes| Digest::of_bytes(&bytes).to_string());
        let state = match content {
            Some(content) => format!("{:o} {content}", meta.st_mode),
            None => format!("{:o} {:?}", meta.st_mode, stamp_of(meta)),
        };
        let mut digest = Digest::of_bytes(state.as_bytes()).to_string();
        digest.truncate(DIGEST_LETTERS);
        digest
    }

    /// Returns the content of a regular file; nothing if there is no room for it, or if it cannot be read.
    fn content(&mut self, folder: &OwnedFd, name: &CStr, meta: &Stat) -> Option<Vec<u8>> {
        let size = u64::try_from(meta.st_size).ok().filter(|size| *size <= self.bytes_left)?;
        // Another name of the file may be outside the workspace.
        if meta.st_nlink > 1 {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::empty()).ok()?;
        let now = fstat(&file).ok()?;
        if (now.st_dev, now.st_ino) != (meta.st_dev, meta.st_ino) {
            return None;
        }
        let content = self.files.read_up_to(&file, &now, size + 1, "").ok()?;
        self.bytes_left -= size;
        Some(content.bytes)
    }
}
