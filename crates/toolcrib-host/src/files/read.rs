//! Reading below the roots: `stat`, file contents and directory listings, as one call sees them.

use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};
use toolcrib_core::escape::name;
use toolcrib_core::policy::{DeniedPaths, PathAccess};
use toolcrib_core::{Content, Entry, EntryKind, ErrorKind, Listing, Meta, ToolError, Tree};

use crate::files::errno::{changed, errno_error};
use crate::files::root::real_path;
use crate::files::rooted_path::RootedPath;
use crate::files::target::MOST_LOOKUPS;
use crate::files::workspace::{CallFiles, Purpose, kind_of, open_path};

/// How many bytes of a file are read at once. Between two reads the call checks whether it was cancelled.
const READ_CHUNK_BYTES: usize = 256 << 10;

impl CallFiles {
    /// Opens a regular file for reading that policy decided about. Looks again if another call replaced it in the
    /// very moment.
    pub(crate) fn open_decided(
        &self,
        place: &RootedPath<'_>,
    ) -> Result<(OwnedFd, Stat), ToolError> {
        let mut failed = None;
        for _ in 0..MOST_LOOKUPS {
            let (file, meta) = self.workspace.open_file(place, Purpose::Read)?;
            match self.check_opened(place.root, &file, place.shown, PathAccess::Read) {
                Ok(()) => return Ok((file, meta)),
                Err(err) if err.kind == ErrorKind::Refused => return Err(err),
                Err(err) => failed = Some(err),
            }
        }
        Err(failed.unwrap_or_else(|| changed(place.shown)))
    }

    /// Reads up to `most` bytes of an open file, whatever its stated size.
    pub(crate) fn read_up_to(
        &self,
        file: &OwnedFd,
        meta: &Stat,
        most: u64,
        shown: &str,
    ) -> Result<Content, ToolError> {
        let size = u64::try_from(meta.st_size).unwrap_or(0);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // One byte past the stated size tells a file that ended from one that grew.
        let stated = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
        let mut bytes: Vec<u8> = Vec::with_capacity(stated.min(most).min(READ_CHUNK_BYTES));
        while bytes.len() < most {
            let want = (most - bytes.len()).min(READ_CHUNK_BYTES);
            bytes.reserve(want.min(stated.saturating_sub(bytes.len()).max(4096)));
            let room = want.min(bytes.capacity() - bytes.len());
            let start = bytes.len();
            bytes.resize(start + room, 0);
            let got = match rustix::io::read(file, &mut bytes[start..]) {
                Ok(got) => got,
                Err(rustix::io::Errno::INTR) => {
                    bytes.truncate(start);
                    continue;
                }
                Err(errno) => return Err(errno_error(errno, shown)),
            };
            bytes.truncate(start + got);
            // More was asked for than the stated size, and no more came: a second read would tell nothing new.
            let is_whole = got < room && bytes.len() + 1 == stated;
            if got == 0 || is_whole {
                break;
            }
            self.cancel.check()?;
        }
        let size = size.max(bytes.len() as u64);
        // A file that was truncated since ends where its bytes end.
        let size = if bytes.len() < most { bytes.len() as u64 } else { size };
        Ok(Content { bytes, size })
    }
}

impl Tree for CallFiles {
    fn stat(&self, path: &str) -> Result<Meta, ToolError> {
        let place = self.workspace.locate(path)?;
        let (file, meta) = open_path(&place)?;
        self.workspace.check_reachable(place.root, &file, path)?;
        self.check_opened(place.root, &file, path, PathAccess::Read)?;
        let kind = kind_of(FileType::from_raw_mode(meta.st_mode));
        if kind == EntryKind::File {
            self.workspace.check_file(&file, &meta, path, Purpose::Read)?;
        }
        Ok(Meta { kind, size: u64::try_from(meta.st_size).unwrap_or(0) })
    }

    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError> {
        let place = self.workspace.locate(path)?;
        let (file, meta) = self.open_decided(&place)?;
        self.read_up_to(&file, &meta, most, path)
    }

    fn count_lines(&self, path: &str) -> Result<u64, ToolError> {
        let place = self.workspace.locate(path)?;
        let (file, _) = self.open_decided(&place)?;
        let mut buffer = vec![0; READ_CHUNK_BYTES];
        let (mut ends, mut last) = (0, b'\n');
        loop {
            self.cancel.check()?;
            let got = match rustix::io::read(&file, &mut buffer) {
                Ok(0) => return Ok(ends + u64::from(last != b'\n')),
                Ok(got) => got,
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno_error(errno, path)),
            };
            ends += memchr::memchr_iter(b'\n', &buffer[..got]).count() as u64;
            last = buffer[got - 1];
        }
    }

    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError> {
        let place = self.workspace.locate(path)?;
        let (file, meta) = self.workspace.open(&place)?;
        if FileType::from_raw_mode(meta.st_mode) != FileType::Directory {
            let message = format!("`{path}` is not a directory");
            return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
        }
        self.workspace.check_access(&file, &meta, path, Purpose::Read)?;
        self.check_opened(place.root, &file, path, PathAccess::Read)?;
        let denied = self.denied_paths().zip(real_path(file.as_fd()));
        let directory = Dir::read_from(&file).map_err(|errno| errno_error(errno, path))?;
        let mut first: BinaryHeap<(OsString, u8)> = BinaryHeap::new();
        let mut listing = Listing::default();
        for (index, entry) in directory.enumerate() {
            if index % 1024 == 0 {
                self.cancel.check()?;
            }
            let entry = entry.map_err(|errno| errno_error(errno, path))?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            if let Some((denied, folder)) = &denied
                && denied.rule(&folder.join(OsStr::from_bytes(bytes)), PathAccess::Read).is_some()
            {
                listing.denied += 1;
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&file, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |meta| FileType::from_raw_mode(meta.st_mode)),
                known => known,
            };
            let kind = kind_of(kind);
            match kind {
                EntryKind::Directory => listing.directories += 1,
                EntryKind::File | EntryKind::Link | EntryKind::Special => listing.files += 1,
            }
            first.push((OsString::from_vec(bytes.to_vec()), kind as u8));
            if first.len() > most {
                first.pop();
            }
        }
        let kinds = [EntryKind::File, EntryKind::Directory, EntryKind::Link, EntryKind::Special];
        listing.entries = first
            .into_sorted_vec()
            .into_iter()
            .map(|(bytes, kind)| Entry {
                name: name(bytes.as_encoded_bytes()).into_owned(),
                kind: kinds[usize::from(kind)],
            })
            .collect();
        Ok(listing)
    }

    fn deny(&self, denied: DeniedPaths) {
        // A call is decided on once, so nothing was denied to it before.
        let _ = self.denied.set(denied);
    }
}
