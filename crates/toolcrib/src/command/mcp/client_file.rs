//! The file of a client that is being changed: read once, and replaced in one step.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::cli::ClientScope;
use crate::error::{CliError, CliErrorKind};

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The file of a client as it was read.
pub(super) struct ClientFile {
    /// The path that people know.
    path: PathBuf,
    /// Where it leads.
    target: PathBuf,
    /// What the file held; nothing if there was none.
    old: Option<String>,
}

impl ClientFile {
    /// Reads the file at `path`, which need not exist.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let failed = |what: String| {
            CliError::new(CliErrorKind::System, what).at(&format!("`{}`", path.display()))
        };
        // A link stays a link: the file that it leads to is replaced.
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                if path.symlink_metadata().is_ok() {
                    return Err(failed("a link to a file that does not exist".to_owned())
                        .hint("make the file that it leads to, or remove the link"));
                }
                path.to_owned()
            }
            Err(err) => return Err(failed(format!("cannot read the file: {err}"))),
        };
        let old =
            read_text(&target).map_err(|err| failed(format!("cannot read the file: {err}")))?;
        Ok(Self { path: path.to_owned(), target, old })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn text(&self) -> &str {
        self.old.as_deref().unwrap_or_default()
    }

    /// Replaces the file, so that no reader sees half of it. Fails if somebody changed the file since it was read.
    pub(super) fn replace(&self, text: &str, scope: ClientScope) -> Result<(), CliError> {
        let failed = |err: io::Error| {
            let message = format!("`{}`: cannot write the file: {err}", self.path.display());
            CliError::new(CliErrorKind::System, message)
        };
        // A file of the user can hold secrets, and one of the project is for everyone who has the project.
        let (new_mode, folder_mode) = match scope {
            ClientScope::User => (0o600, 0o700),
            ClientScope::Project => (0o644, 0o755),
        };
        if let Some(folder) = self.target.parent() {
            DirBuilder::new().recursive(true).mode(folder_mode).create(folder).map_err(failed)?;
        }
        let mode =
            fs::metadata(&self.target).map_or(new_mode, |it| it.permissions().mode() & 0o7777);
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".toolcrib-{}", std::process::id()));
        let fresh = self.target.with_file_name(name);
        let written = write_new(&fresh, text, mode).map_err(failed);
        let replaced = written.and_then(|()| {
            if read_text(&self.target).map_err(failed)? != self.old {
                let message =
                    format!("`{}` was changed by another program meanwhile", self.path.display());
                return Err(CliError::new(CliErrorKind::System, message)
                    .hint("nothing was written; run the command again"));
            }
            fs::rename(&fresh, &self.target).map_err(failed)
        });
        if replaced.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        replaced
    }
}

/// Returns the text of a file; nothing if there is none.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err),
    };
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.len() > MOST_BYTES {
        return Err(io::Error::other("it is larger than 64 MiB"));
    }
    fs::read_to_string(path).map(Some)
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    // A process with the same id died before the last step.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_a_link_and_the_mode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("dotfile"), folder.path().join("own.json"));
        fs::write(&target, "a\n").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("dotfile", &path).unwrap();
        ClientFile::read(&path).unwrap().replace("b\n", ClientScope::User).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "b\n");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(path.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
        fs::remove_file(&target).unwrap();
        assert!(ClientFile::read(&path).is_err(), "the link leads nowhere");
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.json");
        let file = ClientFile::read(&path).unwrap();
        fs::write(&path, "theirs\n").unwrap();
        assert!(file.replace("ours\n", ClientScope::User).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        let file = ClientFile::read(&path).unwrap();
        file.replace("ours\n", ClientScope::User).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours\n", "the control");
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ClientFile::read(folder.path()).is_err());
        let path = folder.path().join("own.json");
        fs::write(&path, b"\xff").unwrap();
        assert!(ClientFile::read(&path).is_err());
        assert_eq!(ClientFile::read(&folder.path().join("new")).map(|it| it.old).unwrap(), None);
    }
}
