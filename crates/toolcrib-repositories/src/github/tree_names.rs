//! Names that are not Unicode. The API's answers cannot carry them, but the archive of the revision does.

use std::collections::{HashMap, HashSet};

use toolcrib_core::ToolError;

use crate::github::archive::{decompressed, unreadable};
use crate::github::tar_reader::TarReader;
use crate::github::tree_items::TreeItem;

/// The names in the directories of an archive, by the paths of those, in the order of the archive.
pub(super) struct ArchiveNames(HashMap<Vec<u8>, Vec<Vec<u8>>>);

impl ArchiveNames {
    /// Reads the names in an archive.
    pub(super) fn read(archive: &[u8]) -> Result<Self, ToolError> {
        let mut reader = TarReader::new(decompressed(archive));
        let mut names: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
        while let Some(entry) = reader.next_entry().map_err(|err| unreadable(&err))? {
            // All files are in one directory, which is not the repository's.
            let Some(top) = memchr::memchr(b'/', &entry.path) else { continue };
            let path = entry.path[top + 1..].strip_suffix(b"/").unwrap_or(&entry.path[top + 1..]);
            let (above, name) = match memchr::memrchr(b'/', path) {
                Some(at) => (&path[..at], &path[at + 1..]),
                None => (&b""[..], path),
            };
            if !name.is_empty() {
                names.entry(above.to_vec()).or_default().push(name.to_vec());
            }
        }
        Ok(Self(names))
    }

    /// Gives the entries of a directory their own names back. Both lists have the order of the tree, so those that
    /// are left when equal names were paired belong together.
    pub(super) fn restore(&self, directory: &[u8], items: &mut [TreeItem]) {
        let Some(names) = self.0.get(directory) else { return };
        let own: HashSet<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let listed: HashSet<Vec<u8>> = items.iter().map(|item| item.name.clone()).collect();
        let lost = items.iter_mut().filter(|item| !own.contains(item.name.as_slice()));
        let lost: Vec<&mut TreeItem> = lost.collect();
        let left: Vec<&Vec<u8>> = names.iter().filter(|name| !listed.contains(*name)).collect();
        if lost.len() == left.len() {
            for (item, name) in lost.into_iter().zip(left) {
                item.name.clone_from(name);
            }
        }
    }
}
