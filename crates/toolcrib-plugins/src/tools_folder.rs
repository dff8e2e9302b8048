//! The tools folder: modules that people put there, and those that were approved. What lies there is only a
//! candidate; what runs is the copy among the versions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toolcrib_core::canonical::Digest;
use toolcrib_core::escape;

use crate::name_form::check_form;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginSource;
use crate::private_file::{READABLE_MODE, if_there, make_private_folder, replace};

/// The most modules of one folder that are read.
const MAX_FOLDER_MODULES: usize = 1000;

/// What the names of modules end with.
const MODULE_ENDING: &str = ".mjs";

/// A file of the tools folder.
#[derive(Debug)]
pub(crate) struct ScannedFile {
    /// The tool's name by the file's name, escaped if it is no tool's name.
    pub(crate) name: String,
    /// The file.
    pub(crate) path: PathBuf,
    /// The module, or why it cannot be one.
    pub(crate) source: Result<PluginSource, PluginError>,
}

/// Returns the modules of a folder, by name. Links are not followed, and other files and folders are passed over.
pub(crate) fn scan(folder: &Path) -> Result<Vec<ScannedFile>, PluginError> {
    let unreadable = |err: io::Error| {
        let message = format!("the tools folder `{}` cannot be read: {err}", folder.display());
        PluginError::new(PluginErrorKind::Store, message)
    };
    let Some(entries) = if_there(fs::read_dir(folder)).map_err(unreadable)? else {
        return Ok(Vec::new());
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().as_encoded_bytes().ends_with(MODULE_ENDING.as_bytes()) {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    let left_out = paths.len().saturating_sub(MAX_FOLDER_MODULES);
    paths.truncate(MAX_FOLDER_MODULES);
    let mut files: Vec<ScannedFile> = paths.into_iter().map(read).collect();
    if left_out > 0 {
        let message = format!("{left_out} modules were not read, because there are too many");
        let source = Err(PluginError::new(PluginErrorKind::TooLarge, message));
        files.push(ScannedFile { name: String::new(), path: folder.to_owned(), source });
    }
    Ok(files)
}

/// Returns where the module of a tool lies in the folder.
pub(crate) fn module_path(folder: &Path, name: &str) -> Result<PathBuf, PluginError> {
    check_form(name)?;
    Ok(folder.join(format!("{name}{MODULE_ENDING}")))
}

/// Writes the module of a tool to the folder, whole or not at all.
pub(crate) fn write(folder: &Path, name: &str, code: &str) -> Result<PathBuf, PluginError> {
    let path = module_path(folder, name)?;
    let written =
        make_private_folder(folder).and_then(|()| replace(&path, code.as_bytes(), READABLE_MODE));
    written.map_err(|err| {
        let message = format!("`{}` cannot be written: {err}", path.display());
        PluginError::new(PluginErrorKind::Store, message)
    })?;
    Ok(path)
}

/// Returns the digest of the module of a tool in the folder, if it can be read.
pub(crate) fn digest_there(folder: &Path, name: &str) -> Option<String> {
    let path = module_path(folder, name).ok()?;
    PluginSource::of_module_file(&path).ok().map(|source| digest_of(source.code()))
}

/// Returns the digest by which code is found again.
pub(crate) fn digest_of(code: &str) -> String {
    Digest::of_bytes(code.as_bytes()).to_string()
}

fn read(path: PathBuf) -> ScannedFile {
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    let name = escape::name(stem).into_owned();
    let source = check_form(&name).and_then(|()| PluginSource::of_module_file(&path));
    ScannedFile { name, path, source }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_scan_tells_of_every_module_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (tools, outside) = (folder.path().join("tools"), folder.path().join("secret.mjs"));
        assert!(scan(&tools).unwrap().is_empty(), "no folder, no modules");
        fs::create_dir(&tools).unwrap();
        fs::write(&outside, "secret").unwrap();
        fs::write(tools.join("good.mjs"), "export {}").unwrap();
        fs::write(tools.join("README.md"), "about").unwrap();
        fs::write(tools.join("Bad-Name.mjs"), "export {}").unwrap();
        fs::write(tools.join(OsStr::from_bytes(b"b\xff.mjs")), "export {}").unwrap();
        fs::write(tools.join("binary.mjs"), b"\xff\xfe").unwrap();
        fs::File::create(tools.join("huge.mjs")).unwrap().set_len(1 << 40).unwrap();
        fs::create_dir(tools.join("folder.mjs")).unwrap();
        symlink(&outside, tools.join("link.mjs")).unwrap();
        symlink("nowhere", tools.join("dangling.mjs")).unwrap();
        let found = scan(&tools).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|it| (it.name.as_str(), it.source.as_ref().map_err(|err| err.kind).err()))
            .collect();
        let expect = [
            ("Bad-Name", Some(PluginErrorKind::BadName)),
            ("$'b\\xff'", Some(PluginErrorKind::BadName)),
            ("binary", Some(PluginErrorKind::BadModule)),
            ("dangling", Some(PluginErrorKind::BadModule)),
            ("folder", Some(PluginErrorKind::BadModule)),
            ("good", None),
            ("huge", Some(PluginErrorKind::TooLarge)),
            ("link", Some(PluginErrorKind::BadModule)),
        ];
        let mut told = told;
        told.sort_by_key(|(name, _)| name.replace("$'", ""));
        assert_eq!(told, expect);
    }

    #[test]
    fn a_module_is_written_in_the_folder_and_never_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (tools, outside) = (folder.path().join("tools"), folder.path().join("outside"));
        fs::write(&outside, "mine").unwrap();
        let path = write(&tools, "hello", "one").unwrap();
        assert_eq!(path, tools.join("hello.mjs"));
        fs::remove_file(&path).unwrap();
        symlink(&outside, &path).unwrap();
        assert_eq!(digest_there(&tools, "hello"), None);
        write(&tools, "hello", "two").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(digest_there(&tools, "hello"), Some(digest_of("two")));
        for bad in ["../hello", "/hello", "a/b", "..", ""] {
            assert_eq!(write(&tools, bad, "x").unwrap_err().kind, PluginErrorKind::BadName);
        }
        assert_eq!(fs::read_dir(&tools).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn too_many_modules_are_told() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FOLDER_MODULES {
            fs::write(folder.path().join(format!("t{number}.mjs")), "").unwrap();
        }
        let found = scan(folder.path()).unwrap();
        assert_eq!(found.len(), MAX_FOLDER_MODULES + 1);
        let last = found.last().unwrap().source.as_ref().unwrap_err();
        assert!(last.message.starts_with("1 modules"), "{last}");
    }
}
