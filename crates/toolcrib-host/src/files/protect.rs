//! Names that no tool may change: what git or Toolcrib itself would later trust or execute.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, statat};
use toolcrib_core::runs_later::{LaterLevel, RunsLater, comparable};
use toolcrib_core::{ErrorKind, ToolError};

use crate::files::root::Root;
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

/// Fails if the file at `below` says what git runs, or makes git take its folder for a repository, whatever the name of
/// the folder is.
pub(crate) fn check_git_folder(root: &Root, below: &Path, shown: &str) -> Result<(), ToolError> {
    let has = |folder: &Path, name: &str| {
        statat(root.handle(), folder.join(name), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    let others = ["config", "objects", "refs", "commondir"];
    let is_git = |folder: &Path| has(folder, "HEAD") && others.iter().any(|name| has(folder, name));
    let name = comparable(below.file_name().unwrap_or_default().as_bytes());
    let folder = below.parent().unwrap_or(Path::new(""));
    let is_refused = match name.as_str() {
        "head" => others.iter().any(|name| has(folder, name)),
        "config" | "config.worktree" | "commondir" => has(folder, "HEAD"),
        _ if folder.file_name().is_some_and(|it| comparable(it.as_bytes()) == "hooks") => {
            is_git(folder.parent().unwrap_or(Path::new("")))
        }
        _ => false,
    };
    if is_refused {
        let message = format!("`{shown}` is protected: it belongs to a git folder");
        return Err(ToolError::new(ErrorKind::Protected, message)
            .hint("make this change yourself if you want it")
            .at(shown));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_folder_of_any_name_is_protected() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let root = Root::open(folder.path()).unwrap();
        let is_protected = |path: &str| check_git_folder(&root, Path::new(path), path).is_err();
        for path in ["a/HEAD", "a/config", "a/hooks/pre-commit", "config", "HEAD"] {
            assert!(!is_protected(path), "nothing is there: {path}");
        }
        put("a/HEAD");
        put("a/refs/x");
        put("b/config");
        for path in ["a/config", "a/commondir", "a/config.worktree", "a/hooks/pre-commit", "b/HEAD"]
        {
            assert!(is_protected(path), "{path}");
        }
        for path in ["a/other", "b/config", "c/hooks/pre-commit", "a/refs/y"] {
            assert!(!is_protected(path), "{path}");
        }
    }

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
