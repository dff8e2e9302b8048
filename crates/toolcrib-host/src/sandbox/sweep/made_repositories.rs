//! The repositories that commands made. Commands may remove, move and configure them, as people do with a clone that
//! they try out; what commands leave in them for git to run is swept all the same.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, statx};
use toolcrib_core::canonical::Digest;

use super::root_folders::GitFolders;
use crate::files::root::Root;

/// The lists of the repositories that commands made, one file for each root.
#[derive(Clone)]
pub(crate) struct MadeRepositories {
    folder: PathBuf,
}

/// The git folders that commands made in one root, by identity, with the state in which the last command left each.
#[derive(Default)]
pub(crate) struct MadeIds(BTreeMap<String, String>);

/// A git folder: its identity, and the state of what makes git run programs.
pub(crate) struct GitFolderState {
    pub(super) id: String,
    state: String,
}

impl MadeRepositories {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the repositories that commands made in a root.
    pub(crate) fn of(&self, root: &Root) -> MadeIds {
        let text = fs::read_to_string(self.file(root)).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        MadeIds(lines.map(|(id, state)| (id.to_owned(), state.to_owned())).collect())
    }

    /// Notes those of the repositories in `git` that commands made, and forgets all others.
    pub(super) fn update(
        &self,
        root: &Root,
        git: &GitFolders,
        is_made: impl Fn(&GitFolderState) -> bool,
    ) {
        let made = git_folder_states(root, git).filter(is_made);
        let now: BTreeMap<String, String> = made.map(|it| (it.id, it.state)).collect();
        if now != self.of(root).0 {
            let lines = now.iter().map(|(id, state)| format!("{id}\t{state}\n"));
            // If this fails, the repositories count as those of people, which is safe.
            let _ = self.write(root, &lines.collect::<String>());
        }
    }

    fn write(&self, root: &Root, text: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let file = self.file(root);
        let fresh = file.with_extension(format!("{}.fresh", std::process::id()));
        fs::write(&fresh, text)?;
        fs::rename(fresh, file)
    }

    fn file(&self, root: &Root) -> PathBuf {
        self.folder.join(Digest::of_bytes(root.path().as_os_str().as_bytes()).to_string())
    }
}

impl MadeIds {
    /// Whether commands made this git folder, and nobody else has changed its settings and hooks since.
    pub(super) fn has(&self, git: &GitFolderState) -> bool {
        self.0.get(&git.id) == Some(&git.state)
    }

    /// Whether commands made the git folder at this path.
    pub(crate) fn has_at(&self, root: &Root, git: &Path) -> bool {
        !self.0.is_empty() && GitFolderState::at(root, git).is_some_and(|it| self.has(&it))
    }
}

impl GitFolderState {
    /// Returns what tells a git folder from every other one; `None` if the file system stores no time of birth, because
    /// an inode can be used again.
    fn at(root: &Root, git: &Path) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME | StatxFlags::CTIME;
        let meta = |path: &Path| {
            statx(root.handle(), path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok().map(|meta| {
                let has_birth =
                    StatxFlags::from_bits_retain(meta.stx_mask).contains(StatxFlags::BTIME);
                let device = (meta.stx_dev_major, meta.stx_dev_minor);
                let born = (meta.stx_btime.tv_sec, meta.stx_btime.tv_nsec);
                let changed = (meta.stx_ctime.tv_sec, meta.stx_ctime.tv_nsec);
                let id = has_birth.then(|| format!("{device:?} {} {born:?}", meta.stx_ino));
                (id, format!("{} {changed:?}", meta.stx_ino))
            })
        };
        let state = ["config", "hooks", "config.worktree", "commondir"]
            .map(|part| meta(&git.join(part)).map_or(String::new(), |(_, state)| state));
        Some(Self { id: meta(git)?.0?, state: state.join(";") })
    }
}

/// Returns all git folders in a root except its own.
pub(super) fn git_folder_states(
    root: &Root,
    git: &GitFolders,
) -> impl Iterator<Item = GitFolderState> {
    let repositories = git.repositories.iter().map(|path| path.join(".git"));
    repositories
        .chain(git.with_other_names.iter().cloned())
        .filter_map(|git| GitFolderState::at(root, &git))
}
