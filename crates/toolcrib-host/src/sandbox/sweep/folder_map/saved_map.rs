//! A map of folders as a file, so that the next process need not read every folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;

use super::{Folder, FolderMap, FolderRoles};
use crate::sandbox::folder_stamp::FolderStamp;

/// The first bytes of a saved map. The number grows when the format changes.
const HEADER: &[u8] = b"toolcrib folders 3\n";

impl FolderMap {
    /// Loads a map that was saved. A file that is missing or damaged is an empty map, and everything is read again.
    pub(crate) fn load(file: &Path) -> Self {
        fs::read(file).ok().and_then(|bytes| Self::decode(&bytes)).unwrap_or_default()
    }

    /// Saves the map.
    pub(crate) fn save(&self, file: &Path) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        // Renamed into place, so that other processes read all of it or nothing.
        let id = thread::current().id();
        let fresh = file.with_extension(format!("{}-{id:?}.fresh", std::process::id()));
        fs::write(&fresh, self.encode())?;
        fs::rename(fresh, file)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        for (path, folder) in &self.folders {
            let path = path.as_os_str().as_bytes();
            let Ok(length) = u32::try_from(path.len()) else { continue };
            bytes.extend(folder.stamp.inode.to_le_bytes());
            bytes.extend(folder.stamp.changed.to_le_bytes());
            bytes.push(folder.roles.0);
            bytes.push(u8::from(folder.is_stable));
            bytes.extend(length.to_le_bytes());
            let names = folder.denied.join(OsStr::new("/"));
            bytes.extend(u32::try_from(names.len()).unwrap_or(0).to_le_bytes());
            let links = folder.links.join(OsStr::new("/"));
            bytes.extend(u32::try_from(links.len()).unwrap_or(0).to_le_bytes());
            bytes.extend(path);
            bytes.extend(names.as_bytes());
            bytes.extend(links.as_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(HEADER)?;
        let mut map = Self::default();
        while !rest.is_empty() {
            let (fixed, after) = rest.split_at_checked(30)?;
            let number =
                |at: usize| Some(u64::from_le_bytes(fixed.get(at..at + 8)?.try_into().ok()?));
            let stamp = FolderStamp { inode: number(0)?, changed: number(8)? };
            let roles = FolderRoles(fixed[16]);
            let length = |at: usize| {
                Some(u32::from_le_bytes(fixed.get(at..at + 4)?.try_into().ok()?) as usize)
            };
            let (path, after) = after.split_at_checked(length(18)?)?;
            let (names, after) = after.split_at_checked(length(22)?)?;
            let (links, after) = after.split_at_checked(length(26)?)?;
            let split = |names: &[u8]| -> Vec<OsString> {
                let names = names.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
                names.map(|name| OsStr::from_bytes(name).to_owned()).collect()
            };
            let (denied, links, is_stable) = (split(names), split(links), fixed[17] == 1);
            let folder = Folder { stamp, roles, denied, links, is_stable };
            map.insert(OsStr::from_bytes(path).into(), folder);
            rest = after;
        }
        Some(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_an_empty_map() {
        let mut bytes = HEADER.to_vec();
        bytes.extend([7; 30]);
        assert_eq!(FolderMap::decode(&bytes), None);
        assert_eq!(FolderMap::decode(b""), None);
        assert_eq!(FolderMap::decode(HEADER), Some(FolderMap::default()));
    }
}
