//! Where a program of the operator is, according to a list of folders such as the variable `PATH`.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the first program of this name in the folders of `path`. A relative folder of the list does not count: it could be one
/// that an agent writes to.
pub fn find_program(name: impl AsRef<Path>, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut programs = folders.map(|folder| folder.join(&name));
    programs.find(|path| is_program(path))
}

/// Whether somebody may execute the file.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_of_an_absolute_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |at: &str, mode: u32| {
            let path = folder.path().join(at);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        put("data/git", 0o644);
        std::fs::create_dir_all(folder.path().join("other/git")).unwrap();
        let (first, second) = (put("first/git", 0o755), put("second/git", 0o755));
        let path = |names: &[&str]| {
            std::env::join_paths(names.iter().map(|name| folder.path().join(name))).unwrap()
        };
        let find = |names: &[&str]| find_program("git", &path(names));
        assert_eq!(find(&["nowhere", "data", "other", "second", "first"]), Some(second));
        assert_eq!(find(&["first", "second"]), Some(first));
        assert_eq!(find(&["data"]), None);
        assert_eq!(find_program("sh", OsStr::new("usr/bin:bin")), None);
        assert!(find_program("sh", OsStr::new("bin:/usr/bin:/bin")).is_some());
    }
}
