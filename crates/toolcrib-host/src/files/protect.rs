//! Names that no tool may change: what git or Toolcrib itself would later trust or execute.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use toolcrib_core::runs_later::{LaterLevel, RunsLater, comparable};
use toolcrib_core::{ErrorKind, ToolError};

use crate::files::temporary_name;

/// Fails if a name on `resolved`, a path without links, is protected. Names that look the same, or that a file
/// system without letter case would take for the same, count as the same.
pub(crate) fn check(resolved: &Path, extra: &[String], shown: &str) -> Result<(), ToolError> {
    for component in resolved.components() {
        let name = comparable(component.as_os_str().as_bytes());
        if name.starts_with(temporary_name::PREFIX) && name.ends_with(temporary_name::SUFFIX) {
            let message = format!("`{shown}` has a name that is reserved for temporary files");
            return Err(ToolError::new(ErrorKind::Protected, message)
                .hint("choose another name")
                .at(shown));
        }
        let is_it = |protected: &&str| comparable(protected.as_bytes()) == name;
        let always = RunsLater::names_at(LaterLevel::Refused).find(is_it);
        if let Some(name) = always.or_else(|| extra.iter().map(String::as_str).find(is_it)) {
            let message = format!("`{shown}` is protected: no tool may change what is in `{name}`");
            return Err(ToolError::new(ErrorKind::Protected, message)
                .hint("make this change yourself if you want it")
                .at(shown));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_protected(path: &str) -> bool {
        check(Path::new(path), &["Secrets".to_owned()], path).is_err()
    }

    #[test]
    fn protected_names_are_known_in_any_spelling() {
        for path in [
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".GIT/config",
            "\u{ff0e}git/config",
            ".g\u{200b}it/config",
            ".git",
            ".git./x",
            ".toolcrib/config.toml",
            ".toolcrib-0123~",
            "secrets/key",
        ] {
            assert!(is_protected(path), "{path}");
        }
    }

    #[test]
    fn neighbours_are_not_protected() {
        for path in [".gitignore", ".github/workflows/ci.yml", "git/config", "src/.gitkeep"] {
            assert!(!is_protected(path), "{path}");
        }
    }
}
