//! The versions of plugins: each is a folder named by its hash, and never changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_core::canonical;

use crate::plugin_declaration::PluginDeclaration;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::{MAX_MODULE_BYTES, PluginKind, PluginSource};
use crate::private_file::{
    READABLE_MODE, make_readable_folder, read_regular, sync_folder_of, write_synced,
};
use crate::program_files::ProgramFiles;
use crate::version_hash::VersionHash;
use crate::written_folder::write_files;

/// The largest text of what a version declares, in bytes. A module cannot export more than it can write down.
const MAX_ABOUT_BYTES: usize = 4 << 20;

/// The file that has what a version declares. The hash covers its bytes.
const ABOUT_FILE: &str = "plugin.json";

/// The folder of the version's own files.
const FILES_FOLDER: &str = "files";

/// What the name of a folder ends with that is not whole yet.
const FRESH_ENDING: &str = ".fresh";

/// A version that was loaded: its files are those that were hashed.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedVersion {
    /// The hash, compared with what was read.
    pub hash: VersionHash,
    /// What the plugin said of itself when it was proposed.
    pub declaration: PluginDeclaration,
    /// The code.
    pub source: PluginSource,
}

/// The folder of the versions.
#[derive(Clone, Debug)]
pub(crate) struct VersionStore {
    folder: PathBuf,
}

/// What `plugin.json` has.
#[derive(Serialize, Deserialize)]
struct About {
    kind: PluginKind,
    declaration: PluginDeclaration,
}

impl VersionStore {
    pub(crate) fn new(plugins: &Path) -> Self {
        Self { folder: plugins.join("versions") }
    }

    /// Returns the hash that a version has.
    pub(crate) fn hash_of(
        source: &PluginSource,
        declaration: &PluginDeclaration,
    ) -> Result<VersionHash, PluginError> {
        Ok(VersionHash::of(about(source, declaration)?.as_bytes(), source))
    }

    /// Saves a version. The caller holds the lock.
    pub(crate) fn put(
        &self,
        source: &PluginSource,
        declaration: &PluginDeclaration,
    ) -> Result<VersionHash, PluginError> {
        let about = about(source, declaration)?;
        if about.len() > MAX_ABOUT_BYTES {
            let message = format!("what the plugin declares is over {MAX_ABOUT_BYTES} bytes");
            return Err(PluginError::new(PluginErrorKind::TooLarge, message));
        }
        let hash = VersionHash::of(about.as_bytes(), source);
        if self.load(&hash).is_ok() {
            return Ok(hash);
        }
        make_readable_folder(&self.folder)?;
        let fresh = self.folder.join(format!("{}{FRESH_ENDING}", ulid::Ulid::generate()));
        let written = self.write(&fresh, about.as_bytes(), source, &hash);
        if written.is_err() {
            let _ = fs::remove_dir_all(&fresh);
        }
        written?;
        Ok(hash)
    }

    /// Loads a version. What lies on the disk is hashed again, so a file that somebody changed is refused.
    pub(crate) fn load(&self, hash: &VersionHash) -> Result<SavedVersion, PluginError> {
        let folder = self.folder.join(hash.as_str());
        let read = |path: PathBuf, most: usize| {
            read_regular(&path, most as u64).map_err(|err| unreadable(hash, &err))
        };
        let about = read(folder.join(ABOUT_FILE), MAX_ABOUT_BYTES)?;
        let damaged = |why: &str| {
            let message = format!("version {} is damaged: {why}", hash.short());
            PluginError::new(PluginErrorKind::Store, message)
                .hint("propose the same code again, or roll back to another version")
        };
        let About { kind, declaration } = serde_json::from_slice(&about)
            .map_err(|err| damaged(&format!("`{ABOUT_FILE}` cannot be parsed: {err}")))?;
        let source = match kind {
            PluginKind::Module => {
                let path = folder.join(FILES_FOLDER).join(PluginSource::MODULE_PATH);
                PluginSource::of_module(read(path, MAX_MODULE_BYTES)?)?
            }
            PluginKind::Program => {
                PluginSource::Program(ProgramFiles::read_all(&self.files_of(hash))?)
            }
        };
        if VersionHash::of(&about, &source) != *hash {
            return Err(damaged("its files are not those that were saved"));
        }
        Ok(SavedVersion { hash: hash.clone(), declaration, source })
    }

    /// Returns the folder of a version's own files.
    pub(crate) fn files_of(&self, hash: &VersionHash) -> PathBuf {
        self.folder.join(hash.as_str()).join(FILES_FOLDER)
    }

    /// Removes a version. The caller holds the lock, and nobody has approved the version.
    pub(crate) fn remove(&self, hash: &VersionHash) -> io::Result<()> {
        remove_folder(&self.folder.join(hash.as_str()))
    }

    /// Removes what processes left that died while they saved a version. The caller holds the lock, so nobody is
    /// saving one now.
    pub(crate) fn remove_leftovers(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder).into_iter().flatten() {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().ends_with(FRESH_ENDING.as_bytes()) {
                remove_folder(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Writes a version beside its place, and moves it there when every byte is on the disk: a folder with the name of
    /// a hash is whole after a power cut, too.
    fn write(
        &self,
        fresh: &Path,
        about: &[u8],
        source: &PluginSource,
        hash: &VersionHash,
    ) -> io::Result<()> {
        let files = fresh.join(FILES_FOLDER);
        make_readable_folder(fresh)?;
        write_files(&files, &source.files())?;
        write_synced(&fresh.join(ABOUT_FILE), about, READABLE_MODE)?;
        sync_folder_of(&files)?;
        let place = self.folder.join(hash.as_str());
        // What is there could not be loaded. This is what it should have been.
        remove_folder(&place)?;
        fs::rename(fresh, &place)?;
        sync_folder_of(&place)
    }
}

/// Returns the text of what a version declares: one spelling, which is saved and hashed as it is.
fn about(source: &PluginSource, declaration: &PluginDeclaration) -> Result<String, PluginError> {
    let about = About { kind: source.kind(), declaration: declaration.clone() };
    let about = serde_json::to_value(about).map_err(io::Error::from)?;
    Ok(canonical::text(&about))
}

fn unreadable(hash: &VersionHash, err: &io::Error) -> PluginError {
    let kind = match err.kind() {
        io::ErrorKind::NotFound => PluginErrorKind::NotFound,
        _ => PluginErrorKind::Store,
    };
    PluginError::new(kind, format!("version {} cannot be read: {err}", hash.short()))
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use serde_json::json;

    use super::*;

    fn declaration(permissions: &serde_json::Value) -> PluginDeclaration {
        let exports = json!({
            "name": "a", "description": "A.", "parameters": {"maximum": 0.1, "most": 1e300},
            "permissions": permissions,
        });
        PluginDeclaration::of_exports(&exports).unwrap()
    }

    fn store() -> (tempfile::TempDir, VersionStore) {
        let folder = tempfile::tempdir().unwrap();
        let versions = VersionStore::new(folder.path());
        (folder, versions)
    }

    #[test]
    fn a_version_is_loaded_as_it_was_saved() {
        let (_folder, versions) = store();
        let source = PluginSource::of_module("export {}").unwrap();
        let saved = declaration(&json!({}));
        let hash = versions.put(&source, &saved).unwrap();
        assert_eq!(hash, versions.put(&source, &saved).unwrap(), "twice is once");
        assert_eq!(hash, VersionStore::hash_of(&source, &saved).unwrap());
        let loaded = versions.load(&hash).unwrap();
        assert_eq!((loaded.hash, loaded.source), (hash.clone(), source.clone()));
        assert_eq!(loaded.declaration, saved);
        let wider = versions.put(&source, &declaration(&json!({"read": ["."]}))).unwrap();
        assert_ne!(hash, wider, "other permissions are another version");
        let place = versions.folder.join(hash.as_str());
        let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(place.join("files")), 0o755, "the sandbox's user reads it");
        assert_eq!(mode(place.join("files/tool.mjs")), 0o644);
        assert_eq!(fs::read_dir(&versions.folder).unwrap().count(), 2, "nothing is left beside");
    }

    #[test]
    fn a_changed_version_is_refused_and_saving_it_again_mends_it() {
        let (_folder, versions) = store();
        let source = PluginSource::of_module("export {}").unwrap();
        let hash = versions.put(&source, &declaration(&json!({}))).unwrap();
        let place = versions.folder.join(hash.as_str());
        let (about, code) = (place.join("plugin.json"), place.join("files/tool.mjs"));
        let wider = fs::read_to_string(&about).unwrap().replace(r#""read":[]"#, r#""read":["."]"#);
        let link = |path: &Path| {
            let moved = path.with_extension("moved");
            fs::rename(path, &moved).unwrap();
            symlink(moved, path).unwrap();
        };
        let changes: [&dyn Fn(); 7] = [
            &|| fs::write(&code, "export { }").unwrap(),
            &|| fs::write(&code, b"\xff").unwrap(),
            &|| fs::write(&about, &wider).unwrap(),
            &|| fs::write(&about, "{").unwrap(),
            &|| fs::File::create(&code).unwrap().set_len(1 << 40).unwrap(),
            &|| fs::remove_file(&code).unwrap(),
            &|| link(&code),
        ];
        for (number, change) in changes.iter().enumerate() {
            assert!(versions.load(&hash).is_ok(), "{number}");
            change();
            assert!(versions.load(&hash).is_err(), "{number}");
            assert_eq!(versions.put(&source, &declaration(&json!({}))).unwrap(), hash);
        }
    }

    #[test]
    fn what_a_dead_process_left_is_no_version_and_is_removed() {
        let (_folder, versions) = store();
        versions.remove_leftovers().unwrap();
        let source = PluginSource::of_module("export {}").unwrap();
        let hash = versions.put(&source, &declaration(&json!({}))).unwrap();
        let half = versions.folder.join("01A.fresh");
        fs::create_dir_all(half.join("files")).unwrap();
        versions.remove_leftovers().unwrap();
        assert!(!half.exists() && versions.load(&hash).is_ok());
        versions.remove(&hash).unwrap();
        assert_eq!(versions.load(&hash).unwrap_err().kind, PluginErrorKind::NotFound);
    }
}
