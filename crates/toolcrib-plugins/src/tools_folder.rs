//! The tools folder: plugins that people put there, and those that were approved. What lies there is only a
//! candidate; what runs is the copy among the versions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toolcrib_core::canonical::Digest;
use toolcrib_core::escape;

use crate::manifest::MANIFEST_FILE;
use crate::name_form::check_form;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::{PluginKind, PluginSource};
use crate::private_file::{READABLE_MODE, if_there, make_private_folder, replace};
use crate::version_hash::VersionHash;
use crate::written_folder::write_files;

/// The most plugins of one folder that are read.
const MAX_FOLDER_PLUGINS: usize = 1000;

/// What the names of modules end with.
const MODULE_ENDING: &str = ".mjs";

/// A file or a folder of the tools folder.
#[derive(Debug)]
pub(crate) struct ScannedFile {
    /// The tool's name by the file's name, escaped if it is no tool's name.
    pub(crate) name: String,
    /// The file of a module, or the folder of a program.
    pub(crate) path: PathBuf,
    /// The plugin, or why it cannot be one.
    pub(crate) source: Result<PluginSource, PluginError>,
}

/// Returns the plugins of a folder, by name. Links are not followed, and other files and folders are passed over.
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
        let is_module = entry.file_name().as_encoded_bytes().ends_with(MODULE_ENDING.as_bytes());
        // A name with a dot is that of a folder that is being written.
        let is_program = || {
            !entry.file_name().as_encoded_bytes().contains(&b'.')
                && entry.file_type().is_ok_and(|it| it.is_dir())
                && entry.path().join(MANIFEST_FILE).symlink_metadata().is_ok()
        };
        if is_module || is_program() {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    let left_out = paths.len().saturating_sub(MAX_FOLDER_PLUGINS);
    paths.truncate(MAX_FOLDER_PLUGINS);
    let mut files: Vec<ScannedFile> = paths.into_iter().map(read).collect();
    refuse_twins(&mut files);
    if left_out > 0 {
        let message = format!("{left_out} plugins were not read, because there are too many");
        let source = Err(PluginError::new(PluginErrorKind::TooLarge, message));
        files.push(ScannedFile { name: String::new(), path: folder.to_owned(), source });
    }
    Ok(files)
}

/// Returns where the plugin of a tool lies in the folder.
pub(crate) fn place_of(
    folder: &Path,
    name: &str,
    kind: PluginKind,
) -> Result<PathBuf, PluginError> {
    check_form(name)?;
    Ok(match kind {
        PluginKind::Module => folder.join(format!("{name}{MODULE_ENDING}")),
        PluginKind::Program => folder.join(name),
    })
}

/// Writes the plugin of a tool to the folder, whole or not at all. One of the other kind is removed: of two with the
/// same name, nobody could say which one is meant, and every version is kept elsewhere.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    source: &PluginSource,
) -> Result<PathBuf, PluginError> {
    let path = place_of(folder, name, source.kind())?;
    let other = match source.kind() {
        PluginKind::Module => place_of(folder, name, PluginKind::Program)?,
        PluginKind::Program => place_of(folder, name, PluginKind::Module)?,
    };
    let written = make_private_folder(folder).and_then(|()| match source {
        PluginSource::Module(code) => replace(&path, code.as_bytes(), READABLE_MODE),
        PluginSource::Program(_) => replace_folder(&path, source),
    });
    written.and_then(|()| remove(&other)).map_err(|err| {
        let message = format!("`{}` cannot be written: {err}", path.display());
        PluginError::new(PluginErrorKind::Store, message)
    })?;
    Ok(path)
}

/// Reads the plugin of a tool in the folder.
pub(crate) fn read_there(
    folder: &Path,
    name: &str,
) -> Result<(PathBuf, PluginSource), PluginError> {
    let program = place_of(folder, name, PluginKind::Program)?;
    if program.join(MANIFEST_FILE).symlink_metadata().is_ok() {
        let source = PluginSource::of_folder(&program)?;
        return Ok((program, source));
    }
    let module = place_of(folder, name, PluginKind::Module)?;
    let source = PluginSource::of_module_file(&module)?;
    Ok((module, source))
}

/// Returns the digest of the plugin of a tool in the folder, if it can be read.
pub(crate) fn digest_there(folder: &Path, name: &str) -> Option<String> {
    read_there(folder, name).ok().map(|(_, source)| digest_of(&source))
}

/// Returns the digest by which a source is found again.
pub(crate) fn digest_of(source: &PluginSource) -> String {
    match source {
        PluginSource::Module(code) => Digest::of_bytes(code.as_bytes()).to_string(),
        PluginSource::Program(_) => VersionHash::of(&[], source).as_str().to_owned(),
    }
}

/// Puts a folder in the place of another. A crash between leaves none, which a reload passes over.
fn replace_folder(path: &Path, source: &PluginSource) -> io::Result<()> {
    let fresh = path.with_extension(format!("{}.fresh", ulid::Ulid::generate()));
    let written = write_files(&fresh, &source.files())
        .and_then(|()| remove(path))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        let _ = fs::remove_dir_all(&fresh);
    }
    written
}

/// Removes what lies at a path, and follows no link.
fn remove(path: &Path) -> io::Result<()> {
    match if_there(path.symlink_metadata())? {
        None => Ok(()),
        Some(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Some(_) => fs::remove_file(path),
    }
}

/// Refuses a module and a program with the same name: which one was meant?
fn refuse_twins(files: &mut [ScannedFile]) {
    let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
    for file in files {
        if names.iter().filter(|name| **name == file.name).count() > 1 {
            let message = format!("`{}` is a module and a program", file.name);
            file.source = Err(PluginError::new(PluginErrorKind::NameTaken, message)
                .hint("remove one of them from the tools folder"));
        }
    }
}

fn read(path: PathBuf) -> ScannedFile {
    let is_module = path.extension().is_some();
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    let name = escape::name(stem).into_owned();
    let source = check_form(&name).and_then(|()| {
        if is_module { PluginSource::of_module_file(&path) } else { PluginSource::of_folder(&path) }
    });
    ScannedFile { name, path, source }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn module(code: &str) -> PluginSource {
        PluginSource::of_module(code).unwrap()
    }

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
        let path = write(&tools, "hello", &module("one")).unwrap();
        assert_eq!(path, tools.join("hello.mjs"));
        fs::remove_file(&path).unwrap();
        symlink(&outside, &path).unwrap();
        assert_eq!(digest_there(&tools, "hello"), None);
        write(&tools, "hello", &module("two")).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(digest_there(&tools, "hello"), Some(digest_of(&module("two"))));
        for bad in ["../hello", "/hello", "a/b", "..", ""] {
            assert_eq!(
                write(&tools, bad, &module("x")).unwrap_err().kind,
                PluginErrorKind::BadName
            );
        }
        assert_eq!(fs::read_dir(&tools).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn too_many_modules_are_told() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FOLDER_PLUGINS {
            fs::write(folder.path().join(format!("t{number}.mjs")), "").unwrap();
        }
        let found = scan(folder.path()).unwrap();
        assert_eq!(found.len(), MAX_FOLDER_PLUGINS + 1);
        let last = found.last().unwrap().source.as_ref().unwrap_err();
        assert!(last.message.starts_with("1 plugins"), "{last}");
    }
}
