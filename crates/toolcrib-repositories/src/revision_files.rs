//! The files of a revision as one call sees them.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use toolcrib_core::policy::{DeniedPaths, PathAccess};
use toolcrib_core::{
    Cancel, Content, Entry, EntryKind, ErrorKind, Listing, Meta, ToolError, Tree, escape,
};

use crate::path_lookup::{PlaceKind, RevisionPlace};
use crate::revision::Revision;
use crate::tree_object::TreeEntryKind;

/// The first line of a Git LFS pointer, a small file in the place of a large one.
const LFS_POINTER_LINE: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// A Git LFS pointer is smaller than this.
const MOST_LFS_POINTER_BYTES: u64 = 1024;

/// The files of a revision as one call sees them.
pub struct RevisionFiles {
    revision: Arc<Revision>,
    cancel: Cancel,
    /// The paths that policy denies to the call.
    denied: OnceLock<DeniedPaths>,
}

impl RevisionFiles {
    pub(crate) fn new(revision: Arc<Revision>, cancel: Cancel) -> Self {
        Self { revision, cancel, denied: OnceLock::new() }
    }

    /// Finds what is at a path. Fails if policy denies it.
    fn find(&self, path: &str) -> Result<RevisionPlace, ToolError> {
        let place = self.revision.find(path, &self.cancel)?;
        let Some(denied) = self.denied.get() else { return Ok(place) };
        match denied.rule(&self.revision.absolute(&place.names), PathAccess::Read) {
            None => Ok(place),
            Some(rule) => {
                let message = format!("policy denies `{path}`: rule {rule}");
                Err(ToolError::new(ErrorKind::Refused, message)
                    .hint("a rule forbids this; use another file, or ask the operator to change the rule")
                    .at(path)
                    .with("rule", rule))
            }
        }
    }

    /// Finds the file at a path.
    fn find_file(&self, path: &str) -> Result<RevisionPlace, ToolError> {
        let place = self.find(path)?;
        if place.kind == PlaceKind::Directory {
            let message = format!("`{path}` is a directory");
            return Err(ToolError::new(ErrorKind::IsDirectory, message).at(path));
        }
        Ok(place)
    }
}

impl Tree for RevisionFiles {
    fn stat(&self, path: &str) -> Result<Meta, ToolError> {
        let place = self.find(path)?;
        match place.kind {
            PlaceKind::Directory => Ok(Meta { kind: EntryKind::Directory, size: 0 }),
            PlaceKind::File => {
                let size = self.revision.source.blob_size(&place.id, &self.cancel)?;
                Ok(Meta { kind: EntryKind::File, size })
            }
        }
    }

    fn stat_each(&self, paths: &[String]) -> Vec<Result<Meta, ToolError>> {
        let places: Vec<_> = paths.iter().map(|path| self.find(path)).collect();
        let files = places.iter().flatten().filter(|place| place.kind == PlaceKind::File);
        let ids: Vec<_> = files.map(|place| place.id).collect();
        let Ok(sizes) = self.revision.source.blob_sizes(&ids, &self.cancel) else {
            return paths.iter().map(|path| self.stat(path)).collect();
        };
        let mut sizes = sizes.into_iter();
        let metas = places.into_iter().zip(paths).map(|(place, path)| match place?.kind {
            PlaceKind::Directory => Ok(Meta { kind: EntryKind::Directory, size: 0 }),
            PlaceKind::File => match sizes.next().flatten() {
                Some(size) => Ok(Meta { kind: EntryKind::File, size }),
                // Asked alone, it says what is wrong.
                None => self.stat(path),
            },
        });
        metas.collect()
    }

    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError> {
        let place = self.find_file(path)?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let wanted = most.max(LFS_POINTER_LINE.len());
        let mut bytes: Vec<u8> = Vec::new();
        let size = self.revision.source.read_blob(&place.id, &self.cancel, &mut |piece| {
            let room = wanted - bytes.len();
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            if bytes.len() == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        check_lfs(path, size, &bytes)?;
        bytes.truncate(most);
        Ok(Content { bytes, size })
    }

    fn count_lines(&self, path: &str) -> Result<u64, ToolError> {
        let place = self.find_file(path)?;
        let (mut ends, mut last) = (0, b'\n');
        let mut start: Vec<u8> = Vec::new();
        let size = self.revision.source.read_blob(&place.id, &self.cancel, &mut |piece| {
            let room = LFS_POINTER_LINE.len() - start.len();
            start.extend_from_slice(&piece[..piece.len().min(room)]);
            ends += memchr::memchr_iter(b'\n', piece).count() as u64;
            last = piece.last().copied().unwrap_or(last);
            ControlFlow::Continue(())
        })?;
        check_lfs(path, size, &start)?;
        Ok(ends + u64::from(last != b'\n'))
    }

    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError> {
        let place = self.find(path)?;
        if place.kind != PlaceKind::Directory {
            let message = format!("`{path}` is not a directory");
            return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
        }
        let tree = self.revision.tree_to_list(&place.id, place.above.as_ref(), &self.cancel)?;
        let denied = self.denied.get().map(|it| (it, self.revision.absolute(&place.names)));
        let mut listing = Listing::default();
        for (index, entry) in tree.entries().enumerate() {
            if index % 1024 == 0 {
                self.cancel.check()?;
            }
            if let Some((denied, folder)) = &denied {
                use std::os::unix::ffi::OsStrExt;
                let path = folder.join(std::ffi::OsStr::from_bytes(entry.name));
                if denied.rule(&path, PathAccess::Read).is_some() {
                    listing.denied += 1;
                    continue;
                }
            }
            let kind = match entry.kind {
                TreeEntryKind::File => EntryKind::File,
                TreeEntryKind::Link => EntryKind::Link,
                // A checkout has an empty directory for a submodule.
                TreeEntryKind::Directory | TreeEntryKind::Submodule => EntryKind::Directory,
            };
            match kind {
                EntryKind::Directory => listing.directories += 1,
                EntryKind::File | EntryKind::Link | EntryKind::Special => listing.files += 1,
            }
            if listing.entries.len() < most {
                listing.entries.push(Entry { name: escape::name(entry.name).into_owned(), kind });
            }
        }
        Ok(listing)
    }

    fn deny(&self, denied: DeniedPaths) {
        // A call is decided on once, so nothing was denied to it before.
        let _ = self.denied.set(denied);
    }
}

/// Fails if a file that begins like this only points to content that is kept elsewhere.
fn check_lfs(path: &str, size: u64, start: &[u8]) -> Result<(), ToolError> {
    if size >= MOST_LFS_POINTER_BYTES || !start.starts_with(LFS_POINTER_LINE) {
        return Ok(());
    }
    let message = format!("`{path}` is a Git LFS pointer; its content is not in the repository");
    Err(ToolError::new(ErrorKind::Unavailable, message)
        .hint("connect a folder in which `git lfs pull` was run to read it")
        .at(path))
}
