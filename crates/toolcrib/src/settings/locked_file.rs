//! A settings or rules file of the operator that a command changes: one command at a time, and in one step.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::{SettingsError, SettingsErrorKind};
use super::trusted::read_trusted;

/// A file that no other command changes until this value is dropped. What is read through it is what `replace`
/// replaces, so two commands at once do not lose a change.
pub(crate) struct LockedFile {
    /// The path that people know.
    path: PathBuf,
    /// Where it leads.
    target: PathBuf,
    /// The locked folder. The lock is on the folder because the file is replaced, and because a file only for the lock
    /// would stay behind.
    _folder: File,
}

impl LockedFile {
    /// Waits until no other command changes the file at `path`. Its folder is made if it is missing.
    pub(crate) fn lock(path: &Path) -> Result<Self, SettingsError> {
        let failed = |err: io::Error| unusable(path, "lock", &err);
        // A link stays a link: the file that it leads to is replaced.
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(err) if err.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(err) => return Err(failed(err)),
        };
        let folder = target.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let folder = File::open(folder).map_err(failed)?;
        loop {
            match flock(&folder, FlockOperation::LockExclusive) {
                // Some file systems have no locks. The file can be changed there all the same.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Ok(Self { path: path.to_owned(), target, _folder: folder })
    }

    /// Returns the text of the file; nothing if there is no file.
    pub(crate) fn read(&self) -> Result<Option<String>, SettingsError> {
        read_trusted(&self.path)
    }

    /// Replaces the file, so that no reader sees half of it.
    pub(crate) fn replace(&self, text: &str) -> Result<(), SettingsError> {
        self.write(text).map_err(|err| unusable(&self.path, "write", &err))
    }

    /// Removes the file.
    pub(crate) fn remove(&self) -> Result<(), SettingsError> {
        fs::remove_file(&self.target).map_err(|err| unusable(&self.path, "remove", &err))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mode = fs::metadata(&self.target).map_or(0o600, |it| it.permissions().mode() & 0o7777);
        let fresh = self.target.with_extension(format!("toml.{}", std::process::id()));
        // A process with the same id died before the last step. The lock says that nobody writes it now.
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&fresh, &self.target));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }
}

fn unusable(path: &Path, what: &str, err: &io::Error) -> SettingsError {
    let message = format!("cannot {what} the file: {err}");
    SettingsError::new(SettingsErrorKind::File, message).at(&format!("`{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_who_change_a_file_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/rules.toml");
        let add = |line: &str| {
            let file = LockedFile::lock(&path).unwrap();
            let text = file.read().unwrap().unwrap_or_default();
            file.replace(&format!("{text}{line}\n")).unwrap();
        };
        std::thread::scope(|scope| {
            // Whoever comes while the file is locked reads what was written under it.
            let locked = LockedFile::lock(&path).unwrap();
            for number in 0..8 {
                scope.spawn(move || add(&format!("line {number}")));
            }
            locked.replace("first\n").unwrap();
            drop(locked);
        });
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.remove(0), "first", "{text}");
        lines.sort_unstable();
        assert_eq!(lines, (0..8).map(|it| format!("line {it}")).collect::<Vec<_>>());
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing but the file is left");
    }

    #[test]
    fn a_link_stays_a_link_and_the_mode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("dotfiles.toml"), folder.path().join("own.toml"));
        fs::write(&target, "a\n").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        LockedFile::lock(&path).unwrap().replace("b\n").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "b\n");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    }
}
