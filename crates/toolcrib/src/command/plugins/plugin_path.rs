//! The plugin at a path: a module, or the folder of a program.

use std::path::Path;

use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_plugins::program_files::ProgramFiles;
use toolcrib_plugins::{PluginError, PluginErrorKind};

/// Reads a plugin. A module has the name of its file; a program has the one that its manifest says.
pub(super) fn plugin_at(path: &Path) -> Result<(String, PluginSource), PluginError> {
    if path.is_dir() {
        let files = ProgramFiles::read(path)?;
        return Ok((files.manifest()?.declaration.name, PluginSource::Program(files)));
    }
    if !path.exists() {
        let message = "there is no such file or folder";
        return Err(PluginError::new(PluginErrorKind::NotFound, message)
            .hint("`toolcrib plugins new NAME` writes a plugin to start from"));
    }
    if path.extension().is_none_or(|extension| extension != "mjs") {
        let message = "it is no folder, and its name does not end in `.mjs`";
        return Err(PluginError::new(PluginErrorKind::BadModule, message)
            .hint("a plugin is an ES module, or a folder with a `manifest.json`"));
    }
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    Ok((name, PluginSource::of_module_file(path)?))
}
