//! The files of an archive by their ids. The id is computed of the content, so what the archive leaves out or changes,
//! as attributes of the repository can ask for, is simply not there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use toolcrib_core::ToolError;

use crate::github::archive::{decompressed, unreadable};
use crate::github::sha1::id_of;
use crate::github::tar_reader::{TarEntryKind, TarReader};
use crate::object_id::ObjectId;

/// The files of an archive.
pub(super) struct ArchiveBlobs {
    blobs: HashMap<ObjectId, ArchiveBlob>,
    /// How many of them nobody has asked for.
    unread: AtomicUsize,
    /// The bytes of all of them.
    pub(super) bytes: usize,
}

struct ArchiveBlob {
    content: Arc<[u8]>,
    was_read: AtomicBool,
}

/// Which files of an archive are kept.
pub(super) struct KeptBlobs<'a> {
    /// Whether the revision has a file with this id.
    pub(super) is_wanted: &'a dyn Fn(&ObjectId) -> bool,
    /// The most bytes of a file.
    pub(super) most_file_bytes: usize,
    /// The most bytes of all files.
    pub(super) most_bytes: usize,
    pub(super) is_stopped: &'a dyn Fn() -> bool,
}

impl ArchiveBlobs {
    /// Reads the files of an archive.
    pub(super) fn read(archive: &[u8], kept: &KeptBlobs<'_>) -> Result<Self, ToolError> {
        let mut reader = TarReader::new(decompressed(archive));
        let (mut blobs, mut bytes) = (HashMap::new(), 0);
        while let Some(entry) = reader.next_entry().map_err(|err| unreadable(&err))? {
            if (kept.is_stopped)() {
                break;
            }
            let is_kept = entry.kind == TarEntryKind::File
                && entry.size <= kept.most_file_bytes as u64
                && bytes + entry.size as usize <= kept.most_bytes;
            if !is_kept {
                continue;
            }
            let mut content = Vec::new();
            reader.read_content(&mut content).map_err(|err| unreadable(&err))?;
            let Some(id) = id_of("blob", &content).filter(|id| (kept.is_wanted)(id)) else {
                continue;
            };
            let size = content.len();
            let (content, was_read) = (content.into(), AtomicBool::new(false));
            if blobs.insert(id, ArchiveBlob { content, was_read }).is_none() {
                bytes += size;
            }
        }
        let unread = AtomicUsize::new(blobs.len());
        Ok(Self { blobs, unread, bytes })
    }

    /// Returns a file.
    pub(super) fn get(&self, id: &ObjectId) -> Option<&Arc<[u8]>> {
        let blob = self.blobs.get(id)?;
        if !blob.was_read.swap(true, Ordering::Relaxed) {
            self.unread.fetch_sub(1, Ordering::Relaxed);
        }
        Some(&blob.content)
    }

    /// Whether every file was read at least once.
    pub(super) fn are_all_read(&self) -> bool {
        self.unread.load(Ordering::Relaxed) == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectId, &Arc<[u8]>)> {
        self.blobs.iter().map(|(id, blob)| (id, &blob.content))
    }
}
