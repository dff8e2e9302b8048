//! The baseline of a sweep: what made git run programs before the command began.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, statat};
use serde::{Deserialize, Serialize};
use toolcrib_core::FileId;

use super::git_reading::{GitTrigger, GitTriggerKind};
use super::made_repositories::{GitFolderState, MadeIds, git_folder_states};
use super::root_folders::RootFolders;
use crate::files::root::{Root, identify_at};
use crate::files::spelling::spelt;

/// What a sweep has to know about the beginning of its command.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SweepBaseline {
    /// The call.
    pub(super) call: String,
    /// When the command began, by the clock of file times, in nanoseconds since 1970.
    pub(super) began: u64,
    /// The path of each root, with what was there.
    pub(super) roots: Vec<(PathBuf, BTreeSet<Mark>)>,
    /// The absolute paths that the command cannot change, with what is there.
    pub(super) shielded: BTreeMap<PathBuf, FileId>,
    /// What could not be held; `None` if the sweep was not made yet.
    pub(super) failed: Option<BTreeSet<Mark>>,
}

/// Something that was there when a command began. Paths are relative to the root, as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Mark {
    /// A setting or a line of a plan: its file, and what it is.
    Part(String, String),
    /// A file that counts as a whole, in one version.
    Whole(String, Option<FileVersion>),
    /// A file that settings or triggers are in, and its inode.
    File(String, u64),
    /// The same file, in one version.
    FileVersion(String, FileVersion),
    /// A folder that cannot be read.
    Closed(String),
    /// A folder that git takes for its own.
    GitFolder(String),
    /// A git folder, by its identity.
    Repository(String),
    /// A git folder that commands made, by its identity.
    MadeRepository(String),
}

/// What tells a file from itself after a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct FileVersion {
    inode: u64,
    changed_ns: u64,
    size: i64,
}

impl SweepBaseline {
    /// Whether the command could not change what is at an absolute path. When somebody replaces a shielded file, the
    /// shield is gone.
    pub(super) fn is_shielded(&self, path: &Path) -> bool {
        path.ancestors().any(|path| {
            // Without its time of birth, a new file with a used inode looks like the shielded one.
            let shield = self.shielded.get(path).filter(|it| it.born != 0);
            shield.is_some_and(|is| identify_at(path).is_ok_and(|now| now == *is))
        })
    }

    /// Keeps only what was there, too, when another command began that is still under way in the same root.
    pub(super) fn keep_common(&mut self, other: &Self) {
        if other.failed.is_some() {
            return;
        }
        for (root, marks) in &mut self.roots {
            if let Some((_, before)) = other.roots.iter().find(|(path, _)| path == root) {
                marks.retain(|mark| before.contains(mark));
            }
        }
    }
}

impl Mark {
    /// Returns the mark of something that makes git run programs. A file as a whole is another one when it has
    /// changed.
    pub(super) fn of(root: &Root, trigger: &GitTrigger) -> Self {
        let file = spelt(&trigger.file);
        match &trigger.kind {
            GitTriggerKind::Whole(_) => Self::Whole(file, FileVersion::of(root, &trigger.file)),
            GitTriggerKind::Setting(_) | GitTriggerKind::PlanLine(_) => {
                Self::Part(file, trigger.what())
            }
        }
    }

    pub(super) fn closed(folder: &Path) -> Self {
        Self::Closed(spelt(folder))
    }

    pub(super) fn git_folder(folder: &Path) -> Self {
        Self::GitFolder(spelt(folder))
    }

    pub(super) fn repository(git: &GitFolderState) -> Self {
        Self::Repository(git.id.clone())
    }

    pub(super) fn made_repository(git: &GitFolderState) -> Self {
        Self::MadeRepository(git.id.clone())
    }
}

impl FileVersion {
    fn of(root: &Root, file: &Path) -> Option<Self> {
        let meta = statat(root.handle(), file, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let seconds = u64::try_from(meta.st_ctime).ok()?;
        let changed_ns = seconds.saturating_mul(1_000_000_000) + meta.st_ctime_nsec;
        Some(Self { inode: meta.st_ino, changed_ns, size: meta.st_size })
    }
}

/// Returns what is in a root before a command.
pub(super) fn marks(root: &Root, folders: &RootFolders, made: &MadeIds) -> BTreeSet<Mark> {
    let mut marks = BTreeSet::new();
    for (_, reading) in &folders.git.readings {
        marks.extend(reading.triggers.iter().map(|trigger| Mark::of(root, trigger)));
        let files = reading.triggers.iter().map(|trigger| &trigger.file);
        for file in files.chain(&reading.config_files) {
            if let Some(state) = FileVersion::of(root, file) {
                marks.insert(Mark::File(spelt(file), state.inode));
                marks.insert(Mark::FileVersion(spelt(file), state));
            }
        }
    }
    marks.extend(folders.git.links.iter().map(|link| Mark::of(root, &GitTrigger::link(link))));
    marks.extend(folders.git.roots.iter().map(|folder| Mark::git_folder(folder)));
    marks.extend(folders.closed.iter().map(|folder| Mark::closed(folder)));
    for git in git_folder_states(root, &folders.git) {
        if made.has(&git) {
            marks.insert(Mark::made_repository(&git));
        }
        marks.insert(Mark::repository(&git));
    }
    marks
}

/// Whether git found its way to something before the command already, or needs no setting for it.
pub(super) fn is_reached(root: &Root, trigger: &GitTrigger, before: &BTreeSet<Mark>) -> bool {
    trigger.through.as_ref().is_none_or(|through| {
        before.contains(&Mark::of(root, through)) && is_reached(root, through, before)
    })
}

/// Whether a shielded file was changed and is the same file: a command did that through another name of it. People
/// and git replace it.
pub(super) fn is_changed_in_place(root: &Root, file: &Path, before: &BTreeSet<Mark>) -> bool {
    FileVersion::of(root, file).is_some_and(|state| {
        before.contains(&Mark::File(spelt(file), state.inode))
            && !before.contains(&Mark::FileVersion(spelt(file), state))
    })
}

/// Returns what to hold because of a link in a git folder. If the link is older than the command, and only the command
/// made git take the folder for its own, that is the file that did so: the link may be somebody's.
pub(super) fn what_to_hold(
    root: &Root,
    link: &Path,
    git_folders: &BTreeSet<PathBuf>,
    before: &BTreeSet<Mark>,
    began: u64,
) -> GitTrigger {
    let changed = |path: &Path| FileVersion::of(root, path).map(|state| state.changed_ns);
    let is_new = |path: &Path| changed(path).is_none_or(|changed| changed >= began);
    let folder = link.ancestors().skip(1).find(|folder| git_folders.contains(*folder));
    let made = folder.filter(|folder| !is_new(link) && !before.contains(&Mark::git_folder(folder)));
    let maker = made.and_then(|folder| {
        let parts = ["HEAD", "commondir", "config", "objects", "refs"].into_iter();
        let mut parts = parts.map(|part| folder.join(part));
        parts.find(|part| changed(part).is_some_and(|changed| changed >= began))
    });
    maker.map_or_else(
        || GitTrigger::link(link),
        |file| GitTrigger::whole(&file, "makes its folder a git folder"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_with_a_used_inode_is_not_shielded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, "").unwrap();
        let now = identify_at(&file).unwrap();
        let is_shielded = |was: FileId| {
            let shielded = BTreeMap::from([(file.clone(), was)]);
            SweepBaseline { shielded, ..SweepBaseline::default() }.is_shielded(&file)
        };
        assert_eq!(is_shielded(now), now.born != 0);
        assert!(!is_shielded(FileId { born: now.born - 1, ..now }));
        assert!(!is_shielded(FileId { born: 0, ..now }));
    }
}
