//! The source of a plugin: what its author wrote, before anybody looked at it.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toolcrib_core::escape;

use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::private_file::{READABLE_MODE, read_regular};
use crate::program_files::ProgramFiles;

/// The largest module, in bytes.
pub const MAX_MODULE_BYTES: usize = 1 << 20;

/// What a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginKind {
    /// One file of JavaScript, an ES module.
    Module,
    /// A folder with a manifest and any program.
    Program,
}

/// The files of a plugin. They are within the limits of their kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// The module. It is kept as text, so that it is UTF-8 wherever it is used.
    Module(String),
    /// The files of a program.
    Program(ProgramFiles),
}

/// One file of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginFile<'a> {
    /// The path, relative to the plugin.
    pub path: &'a str,
    /// The mode.
    pub mode: u32,
    /// The content.
    pub bytes: &'a [u8],
}

impl PluginKind {
    /// Returns the spelling on wires, in the record and on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Program => "program",
        }
    }
}

impl PluginSource {
    /// The path of a module's one file.
    pub(crate) const MODULE_PATH: &'static str = "tool.mjs";

    /// Makes the source of a module.
    pub fn of_module(code: impl Into<Vec<u8>>) -> Result<Self, PluginError> {
        let code = code.into();
        if code.len() > MAX_MODULE_BYTES {
            return Err(too_large());
        }
        let code = String::from_utf8(code).map_err(|err| {
            let at = err.utf8_error().valid_up_to();
            let message = format!("the module is not UTF-8: the byte at {at} begins no character");
            PluginError::new(PluginErrorKind::BadModule, message).hint("save the file as UTF-8")
        })?;
        Ok(Self::Module(code))
    }

    /// Reads a module. Links, and everything else that is no regular file, are refused.
    pub fn of_module_file(path: &Path) -> Result<Self, PluginError> {
        let code = read_regular(path, MAX_MODULE_BYTES as u64).map_err(|err| match err.kind() {
            io::ErrorKind::FileTooLarge => too_large(),
            kind => {
                let shown = escape::name(path.as_os_str().as_encoded_bytes()).into_owned();
                let told = match kind {
                    io::ErrorKind::NotFound => PluginErrorKind::NotFound,
                    _ => PluginErrorKind::BadModule,
                };
                PluginError::new(told, format!("`{shown}` cannot be read: {err}"))
                    .hint("a module is a regular file, and no link")
            }
        })?;
        Self::of_module(code)
    }

    /// Reads the folder of a program. Links are refused.
    pub fn of_folder(folder: &Path) -> Result<Self, PluginError> {
        ProgramFiles::read(folder).map(Self::Program)
    }

    /// Returns what the plugin is.
    pub fn kind(&self) -> PluginKind {
        match self {
            Self::Module(_) => PluginKind::Module,
            Self::Program(_) => PluginKind::Program,
        }
    }

    /// Returns the files, in the order of their paths.
    pub fn files(&self) -> Vec<PluginFile<'_>> {
        match self {
            Self::Module(code) => {
                let bytes = code.as_bytes();
                vec![PluginFile { path: Self::MODULE_PATH, mode: READABLE_MODE, bytes }]
            }
            Self::Program(files) => {
                let files = files.all().iter();
                files
                    .map(|it| PluginFile { path: &it.path, mode: it.mode, bytes: &it.bytes })
                    .collect()
            }
        }
    }
}

fn too_large() -> PluginError {
    let message = format!("the module is larger than {MAX_MODULE_BYTES} bytes");
    PluginError::new(PluginErrorKind::TooLarge, message)
        .hint("leave out what it does not need, or minify it")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_module_is_text_within_its_size() {
        let most = "x".repeat(MAX_MODULE_BYTES);
        assert_eq!(
            PluginSource::of_module(most.clone()).unwrap(),
            PluginSource::Module(most.clone())
        );
        let kind = |code: Vec<u8>| PluginSource::of_module(code).unwrap_err().kind;
        assert_eq!(kind(format!("{most}x").into_bytes()), PluginErrorKind::TooLarge);
        assert_eq!(kind(b"export \xff".to_vec()), PluginErrorKind::BadModule);
    }

    #[test]
    fn a_module_is_read_from_a_regular_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("good.mjs"), "export {}").unwrap();
        symlink(path("good.mjs"), path("link.mjs")).unwrap();
        fs::create_dir(path("folder.mjs")).unwrap();
        let huge = fs::File::create(path("huge.mjs")).unwrap();
        huge.set_len(1 << 40).unwrap();
        let good = PluginSource::of_module_file(&path("good.mjs")).unwrap();
        assert_eq!(good, PluginSource::Module("export {}".to_owned()));
        let kind = |name: &str| PluginSource::of_module_file(&path(name)).unwrap_err().kind;
        assert_eq!(kind("link.mjs"), PluginErrorKind::BadModule);
        assert_eq!(kind("folder.mjs"), PluginErrorKind::BadModule);
        assert_eq!(kind("huge.mjs"), PluginErrorKind::TooLarge);
        assert_eq!(kind("absent.mjs"), PluginErrorKind::NotFound);
    }
}
