//! The sweep: nothing that a command leaves behind runs by itself. After a command, every git folder that the command
//! could have made or changed is read, at any depth. What makes git run a program and was not there before is
//! held until a person releases it.

mod baseline;
mod folder_map;
mod folder_watch;
mod git_reading;
mod held_store;
mod made_repositories;
mod root_folders;
mod under_way;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use toolcrib_core::git::remove_settings;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{ErrorKind, FileId, ToolError};

use baseline::{Mark, SweepBaseline, is_changed_in_place, is_reached, marks, what_to_hold};
use folder_map::file_clock;
pub(crate) use git_reading::pointed_to;
use git_reading::{GitTrigger, GitTriggerKind};
pub use held_store::{HeldItem, HeldKind, HeldStore};
use made_repositories::GitFolderState;
pub(crate) use made_repositories::{MadeIds, MadeRepositories};
pub(crate) use root_folders::{Freshness, RootFolders, Watches, WorkspaceFolders, is_too_deep};
use under_way::{UnderWay, baselines, take_owed};

use crate::files::root::{Root, open_below};
use crate::files::spelling::spelt;
use crate::sandbox::folder_stamp::FolderStamps;

/// The most settings, hooks and lines that a note names.
const MOST_NAMED: usize = 8;

/// Makes the sweeps of one workspace.
#[derive(Clone)]
pub(crate) struct Sweeper {
    pub(crate) folders: Arc<WorkspaceFolders>,
    /// The folder of the commands that are under way.
    pub(crate) under_way: PathBuf,
    pub(crate) held: HeldStore,
    pub(crate) made: MadeRepositories,
}

/// A sweep that is made when its command has ended.
pub(crate) struct PendingSweep {
    baseline: SweepBaseline,
    under_way: UnderWay,
    denied: Option<DeniedPaths>,
    /// What the sweeps found that were owed when the command began.
    owed: Swept,
}

/// On which occasion a sweep is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SweepOccasion {
    /// Right after its command.
    AtEnd,
    /// Before a later command. People may have done something in between.
    Owed,
}

/// The result of a sweep.
#[derive(Default)]
pub(crate) struct Swept {
    pub(crate) held: Vec<HeldItem>,
    /// What could not be held, each in a sentence.
    pub(crate) failures: Vec<String>,
}

impl Sweeper {
    /// Makes the sweeps that are still owed, and notes what is there before a command begins.
    /// `denied` are the names that policy denies at any depth, if there are such rules.
    pub(crate) fn begin(
        &self,
        roots: &[Root],
        call: &str,
        denied: Option<&DeniedPaths>,
    ) -> Result<PendingSweep, ToolError> {
        let mut owed = Swept::default();
        let paths: Vec<PathBuf> = roots.iter().map(|root| root.path().to_owned()).collect();
        for (baseline, under_way) in take_owed(&self.under_way, &paths) {
            let before = Swept::default();
            let pending =
                PendingSweep { baseline, under_way, denied: denied.cloned(), owed: before };
            owed.add(self.sweep_at(SweepOccasion::Owed, roots, pending, &[], &mut |_, _| {}));
        }
        let before = |root: &Root| {
            let folders = self.folders.look_before_command(root, denied, Freshness::Recent);
            (root.path().to_owned(), marks(root, &folders, &self.made.of(root)))
        };
        let mut baseline = SweepBaseline {
            call: call.to_owned(),
            began: file_clock(),
            roots: roots.iter().map(before).collect(),
            shielded: BTreeMap::new(),
            failed: None,
        };
        // What another command has made meanwhile was not there before.
        for other in baselines(&self.under_way) {
            baseline.keep_common(&other);
        }
        let under_way = UnderWay::begin(&self.under_way, &baseline).map_err(|err| {
            let message = format!("Toolcrib cannot record that the command is running: {err}");
            ToolError::new(ErrorKind::Io, message).hint("check the state folder")
        })?;
        Ok(PendingSweep { baseline, under_way, denied: denied.cloned(), owed })
    }

    /// Holds what makes git run programs and was not there before. `just_read` are the stamps of folders that were
    /// read since the command's end, for each root. Calls `see` with each root, and each file in
    /// a folder that changed.
    pub(crate) fn sweep(
        &self,
        roots: &[Root],
        pending: PendingSweep,
        just_read: &[FolderStamps],
        see: &mut dyn FnMut(&Root, &Path),
    ) -> Swept {
        self.sweep_at(SweepOccasion::AtEnd, roots, pending, just_read, see)
    }

    fn sweep_at(
        &self,
        occasion: SweepOccasion,
        roots: &[Root],
        pending: PendingSweep,
        just_read: &[FolderStamps],
        see: &mut dyn FnMut(&Root, &Path),
    ) -> Swept {
        let PendingSweep { mut baseline, mut under_way, denied, owed } = pending;
        let failed_before = owed.failures.len();
        let mut failed = BTreeSet::new();
        let mut swept = owed;
        let none = FolderStamps::new();
        for (number, root) in roots.iter().enumerate() {
            let before = baseline.roots.iter().find(|(path, _)| path == root.path());
            let Some((_, before)) = before else { continue };
            let mut stamps = just_read.get(number).unwrap_or(&none);
            let mut opened = BTreeSet::new();
            let folders = loop {
                let found =
                    self.folders.look_after_command(root, denied.as_ref(), stamps, &mut |path| {
                        see(root, path);
                    });
                // What a command closed is opened: nobody can tell what is in it otherwise.
                let is_fresh = |folder: &&PathBuf| !before.contains(&Mark::closed(folder));
                let fresh = found.closed.iter().filter(is_fresh).filter(|it| !opened.contains(*it));
                let fresh: Vec<PathBuf> = fresh.cloned().collect();
                if fresh.is_empty() {
                    break found;
                }
                for folder in fresh {
                    make_accessible(root, &folder);
                    opened.insert(folder);
                }
                stamps = &none;
            };
            let mut fresh: BTreeMap<&Path, Vec<&GitTrigger>> = BTreeMap::new();
            let links = folders.git.links.iter();
            let links: Vec<GitTrigger> = links
                .map(|link| what_to_hold(root, link, &folders.git.roots, before, baseline.began))
                .collect();
            let triggers = folders.git.readings.iter().flat_map(|(_, reading)| &reading.triggers);
            for trigger in triggers.chain(&links) {
                let whole = root.path().join(&trigger.file);
                let is_shielded = baseline.is_shielded(&whole)
                    && !is_changed_in_place(root, &trigger.file, before);
                // Without the setting that leads to it, git does not find it, and it may be somebody else's.
                if !is_reached(root, trigger, before) {
                    continue;
                }
                let triggers = fresh.entry(&trigger.file).or_default();
                let mark = Mark::of(root, trigger);
                if !is_shielded
                    && !before.contains(&mark)
                    && baseline.failed.as_ref().is_none_or(|failed| failed.contains(&mark))
                    && !triggers.contains(&trigger)
                {
                    triggers.push(trigger);
                }
            }
            for (file, triggers) in fresh.into_iter().filter(|(_, triggers)| !triggers.is_empty()) {
                let failures = swept.failures.len();
                let marks: Vec<Mark> =
                    triggers.iter().map(|trigger| Mark::of(root, trigger)).collect();
                self.hold(root, &baseline.call, file, &triggers, &mut swept);
                if swept.failures.len() > failures {
                    failed.extend(marks);
                }
            }
            // Comes after `hold`, because holding changes the state that is stored.
            let is_made = |git: &GitFolderState| {
                before.contains(&Mark::made_repository(git))
                    || occasion == SweepOccasion::AtEnd && !before.contains(&Mark::repository(git))
            };
            self.made.update(root, &folders.git, is_made);
        }
        // What could not be held, and nothing else, is tried again before the next command.
        if swept.failures.len() == failed_before {
            under_way.end();
        } else {
            baseline.failed = Some(failed);
            let _ = under_way.update(&baseline);
        }
        swept
    }

    /// Takes out of one file everything in it that is new.
    fn hold(
        &self,
        root: &Root,
        call: &str,
        file: &Path,
        triggers: &[&GitTrigger],
        swept: &mut Swept,
    ) {
        let highest = self.held.highest_number(call);
        let item = |number: usize, what: String| {
            HeldItem::new(format!("{call}-{}", highest + number + 1), call, root, file, what)
        };
        // Nothing can be removed from a folder that is not writable.
        make_accessible(root, file.parent().unwrap_or(Path::new("")));
        let is_whole = |trigger: &&GitTrigger| matches!(trigger.kind, GitTriggerKind::Whole(_));
        let result = if let Some(trigger) = triggers.iter().copied().find(|it| is_whole(it)) {
            self.held.hold_file(root, item(0, trigger.what())).map(|item| vec![item])
        } else {
            self.remove_parts(root, file, triggers, &item)
        };
        match result {
            Ok(items) => swept.held.extend(items),
            // The link that led to it was held before it.
            Err(_) if root.open_below(file, OFlags::PATH, Mode::empty()).is_err_and(is_gone) => {}
            Err(err) => swept.failures.push(format!(
                "`{}` makes git run programs, and Toolcrib could not move it away: {err}",
                spelt(file)
            )),
        }
    }

    /// Removes settings or lines from a file.
    fn remove_parts(
        &self,
        root: &Root,
        file: &Path,
        triggers: &[&GitTrigger],
        item: &dyn Fn(usize, String) -> HeldItem,
    ) -> std::io::Result<Vec<HeldItem>> {
        let content = root.read_small(file, 1 << 20)?.unwrap_or_default();
        let mut lines: Vec<&str> = Vec::new();
        let mut items = Vec::new();
        for (number, trigger) in triggers.iter().enumerate() {
            match &trigger.kind {
                GitTriggerKind::PlanLine(line) => lines.push(line),
                GitTriggerKind::Setting(setting) => {
                    let kind = HeldKind::Setting(setting.to_config());
                    items.push(HeldItem { kind, ..item(number, trigger.what()) });
                }
                GitTriggerKind::Whole(_) => {}
            }
        }
        if !lines.is_empty() {
            let text = String::from_utf8_lossy(&content);
            let left: String = text
                .split_inclusive('\n')
                .filter(|it| !lines.contains(&it.trim_end_matches(['\r', '\n'])))
                .collect();
            let what = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("; ");
            return Ok(vec![self.held.hold_plan(root, item(0, what), &left)?]);
        }
        let is_removed = |setting: &_| {
            let is_it = |trigger: &&GitTrigger| matches!(&trigger.kind, GitTriggerKind::Setting(it) if it == setting);
            triggers.iter().any(is_it)
        };
        let left = remove_settings(&content, is_removed)
            .map_err(|err| std::io::Error::other(err.to_string()))?;
        for item in &mut items {
            item.note_values(left.as_bytes());
        }
        self.held.hold_settings(root, file, &items, &left)?;
        Ok(items)
    }
}

impl PendingSweep {
    /// Forgets the sweep, because its command did not start.
    pub(crate) fn cancel(self) {
        self.under_way.end();
    }

    /// Notes the absolute paths that the command cannot change, with what is there.
    pub(crate) fn set_shielded(&mut self, shielded: impl Iterator<Item = (PathBuf, FileId)>) {
        self.baseline.shielded = shielded.filter(|(path, _)| path.to_str().is_some()).collect();
        // If that fails, a sweep that is owed holds more than it has to.
        let _ = self.under_way.update(&self.baseline);
    }
}

impl Swept {
    fn add(&mut self, other: Self) {
        self.held.extend(other.held);
        self.failures.extend(other.failures);
    }

    /// Returns what is held as the record has it: the path, what it is, and its id.
    pub(crate) fn described(&self) -> Vec<String> {
        let describe =
            |item: &HeldItem| format!("{}: {} ({})", item.whole_path(), item.what, item.id);
        self.held.iter().map(describe).collect()
    }

    /// Returns what the reader of the reply should know, each in a sentence.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.failures.clone();
        if !self.held.is_empty() {
            let named = self.held.iter().take(MOST_NAMED);
            let named: Vec<String> =
                named.map(|item| format!("`{}` ({})", item.path, item.what)).collect();
            let more = match self.held.len().saturating_sub(MOST_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            notes.push(format!(
                "git would later run the following outside the sandbox, so Toolcrib holds it: {}{more}; a person can \
                 review it with `toolcrib held list`",
                named.join(", ")
            ));
        }
        notes
    }
}

/// Lets the owner read, write and enter a folder, if that is possible.
fn make_accessible(root: &Root, folder: &Path) {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(handle) = open_below(root.handle(), folder, flags, Mode::empty(), resolve) else {
        return;
    };
    let Ok(meta) = rustix::fs::fstat(&handle) else { return };
    let mode = Mode::from_raw_mode(meta.st_mode & 0o7777 | 0o700);
    let _ = rustix::fs::chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), mode);
}

fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}
