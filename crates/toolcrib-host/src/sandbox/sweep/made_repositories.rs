//! The repositories that commands made. Commands may remove, move and configure them, as people do with a clone that
//! they try out; what commands leave in them for git to run is swept all the same.

use std::collections::BTreeSet;
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

/// The identities of the git folders that commands made in one root.
#[derive(Default)]
pub(crate) struct MadeIds(BTreeSet<String>);

impl MadeRepositories {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the repositories that commands made in a root.
    pub(crate) fn of(&self, root: &Root) -> MadeIds {
        let text = fs::read_to_string(self.file(root)).unwrap_or_default();
        MadeIds(text.lines().map(str::to_owned).collect())
    }

    /// Adds those of the repositories in `git` that a command made, and forgets those that are gone.
    pub(super) fn update(&self, root: &Root, git: &GitFolders, is_made: impl Fn(&str) -> bool) {
        let known = self.of(root).0;
        let ids = git_ids(root, git).filter(|id| known.contains(id) || is_made(id));
        let now: BTreeSet<String> = ids.collect();
        if now != known {
            let lines: Vec<&str> = now.iter().map(String::as_str).collect();
            // Without the list, commands may change less.
            let _ = self.write(root, &lines.join("\n"));
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
    /// Whether a command made this git folder.
    pub(crate) fn has(&self, root: &Root, git: &Path) -> bool {
        !self.0.is_empty() && git_id(root, git).is_some_and(|id| self.0.contains(&id))
    }
}

/// Returns the identities of all git folders in a root but its own.
pub(super) fn git_ids(root: &Root, git: &GitFolders) -> impl Iterator<Item = String> {
    let repositories = git.repositories.iter().map(|path| path.join(".git"));
    repositories.chain(git.bare.iter().cloned()).filter_map(|git| git_id(root, &git))
}

/// Returns what tells a git folder from every other one, also from one that gets its inode later. Without a time of
/// birth there is none.
fn git_id(root: &Root, git: &Path) -> Option<String> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let meta = statx(root.handle(), git, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
    let has_birth = StatxFlags::from_bits_retain(meta.stx_mask).contains(StatxFlags::BTIME);
    let born = (meta.stx_btime.tv_sec, meta.stx_btime.tv_nsec);
    let device = (meta.stx_dev_major, meta.stx_dev_minor);
    has_birth.then(|| format!("{device:?} {} {born:?}", meta.stx_ino))
}
