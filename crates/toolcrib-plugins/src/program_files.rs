//! The files of a program, read from its folder and written to another.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use toolcrib_core::escape;

use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::private_file::READABLE_MODE;

/// The most bytes of all files of a program.
pub const MAX_PROGRAM_BYTES: usize = 64 << 20;

/// The most files of a program.
pub const MAX_PROGRAM_FILES: usize = 5000;

/// How deep a program's folders are nested at most.
const MAX_FOLDER_DEPTH: usize = 32;

/// The longest path of a file, in bytes.
const MAX_PATH_BYTES: usize = 1024;

/// The mode of a file that can be run.
pub(crate) const EXECUTABLE_MODE: u32 = 0o755;

/// Folders that others write beside a program, and that are never part of it.
const PASSED_OVER: [&str; 2] = [".git", "__pycache__"];

/// The files of a program, within the limits, by path. One of them is the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFiles(Vec<PackedFile>);

/// One file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFile {
    /// The path, relative to the folder.
    pub path: String,
    /// The mode: 0755 if the owner can run it, else 0644.
    pub mode: u32,
    /// The content.
    pub bytes: Vec<u8>,
}

impl ProgramFiles {
    /// Reads the folder of an author. Every file is reached by a handle of the folder above it, and no link is followed.
    pub fn read(folder: &Path) -> Result<Self, PluginError> {
        Self::read_without(folder, &PASSED_OVER)
    }

    /// Reads a folder with everything that is in it.
    pub(crate) fn read_all(folder: &Path) -> Result<Self, PluginError> {
        Self::read_without(folder, &[])
    }

    fn read_without(
        folder: &Path,
        passed_over: &'static [&'static str],
    ) -> Result<Self, PluginError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, folder, flags, Mode::empty()).map_err(|errno| {
            let shown = escape::name(folder.as_os_str().as_encoded_bytes()).into_owned();
            let err = io::Error::from(errno);
            let kind = match err.kind() {
                io::ErrorKind::NotFound => PluginErrorKind::NotFound,
                _ => PluginErrorKind::BadManifest,
            };
            PluginError::new(kind, format!("`{shown}` cannot be read: {err}"))
                .hint("a program is a folder, and no link")
        })?;
        let mut reading = FolderReading { passed_over, files: Vec::new(), bytes: 0 };
        reading.read_folder(handle, "", MAX_FOLDER_DEPTH)?;
        let mut files = reading.files;
        files.sort_unstable_by(|one, two| one.path.cmp(&two.path));
        if !files.iter().any(|file| file.path == MANIFEST_FILE) {
            let message = format!("the folder has no `{MANIFEST_FILE}`");
            return Err(PluginError::new(PluginErrorKind::BadManifest, message)
                .hint("`toolcrib plugins new NAME --program` writes one"));
        }
        Ok(Self(files))
    }

    /// Returns the files, by path.
    pub fn all(&self) -> &[PackedFile] {
        &self.0
    }

    /// Parses the manifest, and fails if its command names no file that can be run.
    pub fn manifest(&self) -> Result<Manifest, PluginError> {
        let text = self.find(MANIFEST_FILE).map_or(&[][..], |file| &file.bytes);
        let manifest = Manifest::parse(text)?;
        let program = &manifest.run.command[0];
        let path = program.strip_prefix("./").unwrap_or(program);
        let message = match self.find(path) {
            Some(file) if file.mode != EXECUTABLE_MODE => format!("`{path}` cannot be run"),
            None if program.contains('/') && !program.starts_with('/') => {
                format!("the folder has no file `{}`", escape::line(path))
            }
            Some(_) | None => return Ok(manifest),
        };
        Err(PluginError::new(PluginErrorKind::BadManifest, format!("`command`: {message}"))
            .hint("name a file of the folder that has the mode 0755, or a program of the system"))
    }

    /// Whether the folder has a file.
    pub(crate) fn find(&self, path: &str) -> Option<&PackedFile> {
        self.0.iter().find(|file| file.path == path)
    }
}

/// What was read so far.
struct FolderReading {
    passed_over: &'static [&'static str],
    files: Vec<PackedFile>,
    bytes: usize,
}

impl FolderReading {
    fn read_folder(
        &mut self,
        handle: OwnedFd,
        above: &str,
        depth: usize,
    ) -> Result<(), PluginError> {
        let entries = Dir::read_from(&handle).map_err(|errno| unreadable(above, errno.into()))?;
        for entry in entries {
            let entry = entry.map_err(|errno| unreadable(above, errno.into()))?;
            let name = entry.file_name().to_bytes();
            if name == b"."
                || name == b".."
                || self.passed_over.iter().any(|it| it.as_bytes() == name)
            {
                continue;
            }
            let shown = escape::name(name).into_owned();
            let plain = std::str::from_utf8(name).ok().filter(|name| {
                !name.contains(escape::is_deceptive) && above.len() + name.len() < MAX_PATH_BYTES
            });
            let Some(name) = plain else {
                return Err(refused(&format!("{above}{shown}"), "has a name that is not plain"));
            };
            let path = format!("{above}{name}");
            // Asked before it is opened, because to open a device can do something.
            let stat = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|errno| unreadable(&path, errno.into()))?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let open = |flags| {
                openat(&handle, name, flags, Mode::empty())
                    .map_err(|errno| unreadable(&path, errno.into()))
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth == 0 => {
                    return Err(refused(&path, "is nested too deep"));
                }
                FileType::Directory => {
                    let inner = open(flags | OFlags::DIRECTORY)?;
                    self.read_folder(inner, &format!("{path}/"), depth - 1)?;
                }
                FileType::RegularFile => self.read_file(open(flags)?, path)?,
                _ => return Err(refused(&path, "is a link, or no file and no folder")),
            }
        }
        Ok(())
    }

    fn read_file(&mut self, handle: OwnedFd, path: String) -> Result<(), PluginError> {
        let stat = fstat(&handle).map_err(|errno| unreadable(&path, errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refused(&path, "is no file any more"));
        }
        let left = MAX_PROGRAM_BYTES - self.bytes;
        let mut bytes = Vec::new();
        let mut file = File::from(handle).take(left as u64 + 1);
        file.read_to_end(&mut bytes).map_err(|err| unreadable(&path, err))?;
        if bytes.len() > left || self.files.len() >= MAX_PROGRAM_FILES {
            let message = format!(
                "the folder has more than {MAX_PROGRAM_FILES} files or {MAX_PROGRAM_BYTES} bytes"
            );
            return Err(PluginError::new(PluginErrorKind::TooLarge, message)
                .hint("leave out what the program does not need"));
        }
        self.bytes += bytes.len();
        let mode = if stat.st_mode & 0o100 == 0 { READABLE_MODE } else { EXECUTABLE_MODE };
        self.files.push(PackedFile { path, mode, bytes });
        Ok(())
    }
}

fn refused(path: &str, why: &str) -> PluginError {
    PluginError::new(PluginErrorKind::BadManifest, format!("`{path}` {why}"))
        .hint("a program's folder has plain files and folders only")
}

fn unreadable(path: &str, err: io::Error) -> PluginError {
    PluginError::new(PluginErrorKind::BadManifest, format!("`{path}` cannot be read: {err}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use serde_json::json;

    use super::*;
    use crate::plugin_source::PluginSource;
    use crate::written_folder::write_files;

    fn manifest(command: &[&str]) -> String {
        json!({
            "name": "p", "version": "1", "type": "tool", "description": "P.",
            "provides": {"tool": "p"}, "command": command, "parameters": {"type": "object"},
        })
        .to_string()
    }

    #[test]
    fn a_folder_is_read_and_written_with_its_modes() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("lib/deep")).unwrap();
        fs::create_dir_all(from.join(".git")).unwrap();
        fs::write(from.join(".git/HEAD"), "x").unwrap();
        fs::write(from.join(MANIFEST_FILE), manifest(&["./run.sh"])).unwrap();
        fs::write(from.join("lib/deep/data"), b"\xff").unwrap();
        fs::write(from.join("run.sh"), "#!/bin/bash\n").unwrap();
        let run_mode = |mode| {
            fs::set_permissions(from.join("run.sh"), fs::Permissions::from_mode(mode)).unwrap();
        };
        run_mode(0o600);
        let unfit = ProgramFiles::read(&from).unwrap().manifest().unwrap_err();
        assert!(unfit.message.contains("`run.sh` cannot be run"), "{unfit}");
        run_mode(0o700);
        let files = ProgramFiles::read(&from).unwrap();
        assert_eq!(files.manifest().unwrap().run.command, ["./run.sh"]);
        let told: Vec<_> = files.all().iter().map(|it| (it.path.as_str(), it.mode)).collect();
        let expected = [("lib/deep/data", 0o644), ("manifest.json", 0o644), ("run.sh", 0o755)];
        assert_eq!(told, expected);
        write_files(&to, &PluginSource::Program(files.clone()).files()).unwrap();
        assert_eq!(ProgramFiles::read(&to).unwrap(), files);
        let mode = fs::metadata(to.join("lib/deep")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "the sandbox's user reads it");
    }

    #[test]
    fn links_pipes_odd_names_and_missing_programs_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str, command: &[&str]| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(MANIFEST_FILE), manifest(command)).unwrap();
            folder
        };
        let message = |folder: &Path| {
            ProgramFiles::read(folder).and_then(|it| it.manifest()).unwrap_err().message
        };
        let good = folder("good", &["python3", "run.py"]);
        assert!(ProgramFiles::read(&good).unwrap().manifest().is_ok());
        let linked = folder("linked", &["bash"]);
        symlink("/etc/passwd", linked.join("users")).unwrap();
        assert!(message(&linked).contains("`users` is a link"));
        let piped = folder("piped", &["bash"]);
        rustix::fs::mkfifoat(CWD, piped.join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        assert!(message(&piped).contains("`pipe` is a link, or no file"));
        let odd = folder("odd", &["bash"]);
        fs::write(odd.join("a\nb"), "").unwrap();
        assert!(message(&odd).contains("has a name that is not plain"));
        let absent = folder("absent", &["./run"]);
        assert!(message(&absent).contains("the folder has no file `run`"));
        symlink(&good, place.path().join("link")).unwrap();
        assert!(message(&place.path().join("link")).contains("cannot be read"));
        let huge = folder("huge", &["bash"]);
        File::create(huge.join("huge")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(ProgramFiles::read(&huge).unwrap_err().kind, PluginErrorKind::TooLarge);
        assert!(message(place.path()).contains("link"), "a folder of programs is none");
    }
}
