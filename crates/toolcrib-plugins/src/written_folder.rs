//! The files of a plugin, written to a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::plugin_source::PluginFile;
use crate::private_file::{make_readable_folder, sync_folder_of, write_synced};

/// Writes files to a folder, and waits until they are on the disk. The sandbox's user can read them.
pub(crate) fn write_files(folder: &Path, files: &[PluginFile<'_>]) -> io::Result<()> {
    make_readable_folder(folder)?;
    let mut folders = vec![folder.to_owned()];
    for PluginFile { path, mode, bytes } in files {
        let place = folder.join(path);
        let above = place.ancestors().skip(1).take_while(|it| *it != folder);
        let missing: Vec<_> = above.filter(|it| !folders.iter().any(|had| had == it)).collect();
        for fresh in missing.into_iter().rev() {
            make_readable_folder(fresh)?;
            folders.push(fresh.to_owned());
        }
        write_synced(&place, bytes, *mode)?;
    }
    folders.iter().try_for_each(|it| sync_folder_of(&it.join(".")))
}

/// A folder with a plugin's files for as long as somebody looks at them.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Writes files to a new folder below `above`, which is made if it is not there.
    pub(crate) fn with(above: &Path, files: &[PluginFile<'_>]) -> io::Result<Self> {
        make_readable_folder(above)?;
        // Without links in its path, as the sandbox wants it.
        let folder = Self(above.canonicalize()?.join(ulid::Ulid::generate().to_string()));
        write_files(&folder.0, files)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What stays takes room and does nothing else.
        let _ = fs::remove_dir_all(&self.0);
    }
}
