//! What a command may not change in the workspace although it may write there: what git, editors and
//! agents would later execute. What exists is mounted read-only over itself, with every folder above
//! it; what does not exist is covered by an empty folder for as long as commands run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, flock, mkdirat, statat, unlinkat};
use rustix::io::Errno;
use toolcrib_core::{ErrorKind, ToolError};

use crate::root::Root;

/// What programs of the operator's execute when they find it in a project: editors, agents, hooks.
pub const EXECUTED: [&str; 9] = [
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".envrc",
    ".gemini",
    ".husky",
    ".mcp.json",
    ".vscode",
];

/// Parts of a git folder that can name programs to run.
const IN_GIT: [&str; 3] = ["hooks", "config", "config.worktree"];

/// How deep and how many git folders of submodules are looked for.
const MOST_MODULES: usize = 256;

/// One mount over a path below a root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shield {
    /// Mounted over itself, so that it cannot be renamed away.
    Held(PathBuf),
    /// The same, and read-only.
    ReadOnly(PathBuf),
}

/// Keeps the covers of missing paths in place until it is dropped.
pub(crate) struct Guard {
    shields: Vec<Shield>,
    lock: Option<(File, PathBuf)>,
}

impl Guard {
    /// Works out what to shield below `root`, and covers what is missing. `folder` is where we note
    /// which covers are ours.
    pub(crate) fn set(
        root: &Root,
        names: &[String],
        open: &[String],
        folder: &Path,
    ) -> Result<Self, ToolError> {
        let failed = |err: io::Error| {
            ToolError::new(ErrorKind::Io, format!("the workspace cannot be protected: {err}"))
                .hint("see to the state folder and the workspace, and try again")
        };
        let is_shut = |name: &str| !open.iter().any(|it| it == name);
        let mut guard = Self { shields: Vec::new(), lock: None };
        let mut missing = Vec::new();
        if is_shut(".git") {
            guard.shield_git(root, &mut missing)?;
        }
        let own = [".toolcrib".to_owned()];
        for name in own.iter().chain(names).filter(|name| is_shut(name)) {
            match look(root, Path::new(name))? {
                Some(_) => guard.shields.push(Shield::ReadOnly(PathBuf::from(name))),
                None => missing.push(PathBuf::from(name)),
            }
        }
        if !missing.is_empty() {
            guard.cover(root, missing, folder).map_err(failed)?;
        }
        Ok(guard)
    }

    /// The mounts, in the order to make them in.
    pub(crate) fn shields(&self) -> &[Shield] {
        &self.shields
    }

    fn shield_git(&mut self, root: &Root, missing: &mut Vec<PathBuf>) -> Result<(), ToolError> {
        let git = PathBuf::from(".git");
        match look(root, &git)? {
            None => {
                missing.push(git);
                return Ok(());
            }
            Some(FileType::Directory) => {}
            // A worktree's or submodule's pointer to its git folder.
            Some(_) => {
                self.shields.push(Shield::ReadOnly(git));
                return Ok(());
            }
        }
        let mut folders = vec![git.clone()];
        self.shields.push(Shield::Held(git.clone()));
        modules(root, &git.join("modules"), &mut folders)?;
        for folder in folders {
            if folder != git {
                let above = folder.ancestors().skip(1).take_while(|above| *above != git);
                let above: Vec<PathBuf> = above.map(Path::to_owned).collect();
                for held in above.into_iter().rev().chain([folder.clone()]) {
                    let held = Shield::Held(held);
                    if !self.shields.contains(&held) {
                        self.shields.push(held);
                    }
                }
            }
            for name in IN_GIT {
                let path = folder.join(name);
                if look(root, &path)?.is_some() {
                    self.shields.push(Shield::ReadOnly(path));
                } else if name == "hooks" {
                    missing.push(path);
                }
            }
        }
        Ok(())
    }

    /// Makes empty folders where nothing is, notes them as ours, and shields them.
    fn cover(&mut self, root: &Root, missing: Vec<PathBuf>, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let note = folder.join(name_for(root.path()));
        let mut options = OpenOptions::new();
        let mut file = options.append(true).read(true).create(true).mode(0o600).open(&note)?;
        loop {
            match flock(&file, FlockOperation::LockShared) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        }
        for path in missing {
            let line = format!("{}\n", path.display());
            match mkdirat(root.handle(), &path, Mode::from_raw_mode(0o755)) {
                Ok(()) => file.write_all(line.as_bytes())?,
                Err(Errno::EXIST) => {}
                // Where we cannot make it, neither can a command.
                Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => continue,
                Err(errno) => return Err(errno.into()),
            }
            self.shields.push(Shield::ReadOnly(path));
        }
        self.lock = Some((file, root.path().to_owned()));
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some((file, root)) = self.lock.take() else { return };
        let _ = uncover(file, &root);
    }
}

/// Takes our covers away if no command needs them any more: a folder that is removed takes the mounts
/// over it with it, in every sandbox.
fn uncover(mut file: File, root: &Path) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    flock(&file, FlockOperation::NonBlockingUnlock)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let handle = File::open(root)?;
    let mut noted = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut noted)?;
    for name in noted.lines() {
        // Only ever an empty folder: anything else is not ours.
        let _ = unlinkat(&handle, name, AtFlags::REMOVEDIR);
    }
    file.set_len(0)
}

/// Returns a file name that stands for a path.
fn name_for(path: &Path) -> String {
    use sha2::Digest;
    let mut name = String::new();
    let digest = sha2::Sha256::digest(path.as_os_str().as_encoded_bytes());
    let _ = toolcrib_core::canonical::hex(&digest, &mut name);
    name
}

/// Returns what is at a path, no link followed. A link can be replaced by anyone who can write beside
/// it, and nothing can be mounted over it: it cannot be protected.
fn look(root: &Root, path: &Path) -> Result<Option<FileType>, ToolError> {
    let shown = path.display();
    match statat(root.handle(), path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(meta) => match FileType::from_raw_mode(meta.st_mode) {
            FileType::Symlink => Err(ToolError::new(
                ErrorKind::Protected,
                format!("`{shown}` is a link, so commands cannot be kept from replacing it"),
            )
            .hint(format!(
                "make it a real file or folder, or let commands change it with \
                 `sandbox.unprotected`: [\"{shown}\"]"
            ))),
            kind => Ok(Some(kind)),
        },
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(ToolError::new(
            ErrorKind::Io,
            format!("`{shown}` cannot be protected: {}", io::Error::from(errno)),
        )),
    }
}

/// Finds the git folders of submodules.
fn modules(root: &Root, folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), ToolError> {
    if found.len() > MOST_MODULES || look(root, folder)? != Some(FileType::Directory) {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(root.path().join(folder)) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        if look(root, &path.join("HEAD"))?.is_some() {
            found.push(path.clone());
            modules(root, &path.join("modules"), found)?;
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A submodule's name can have slashes in it.
            modules(root, &path, found)?;
        }
    }
    Ok(())
}
