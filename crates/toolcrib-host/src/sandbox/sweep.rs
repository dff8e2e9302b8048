//! The sweep: nothing that a command leaves behind runs by itself. After a command, every git folder that the command
//! could have made or changed is read, at any depth. What makes git run a program and was not there before is
//! held until a person releases it.

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

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, statat};
use rustix::io::Errno;
use toolcrib_core::git::remove_settings;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{ErrorKind, ToolError};

use folder_map::file_clock;
pub(crate) use git_reading::pointed_to;
use git_reading::{GitProgram, GitProgramKind};
pub use held_store::{HeldItem, HeldKind, HeldStore};
use made_repositories::{GitFolderId, git_ids};
pub(crate) use made_repositories::{MadeIds, MadeRepositories};
use root_folders::GitFolders;
pub(crate) use root_folders::{Freshness, RootFolders, Watches, WorkspaceFolders, is_too_deep};
use under_way::{Begun, UnderWay, take_owed};

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
    begun: Begun,
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
        for (begun, under_way) in take_owed(&self.under_way, &paths) {
            let before = Swept::default();
            let pending = PendingSweep { begun, under_way, denied: denied.cloned(), owed: before };
            owed.add(self.sweep_at(SweepOccasion::Owed, roots, pending, &[], &mut |_, _| {}));
        }
        let marks = |root: &Root| {
            let folders = self.folders.before(root, denied, Freshness::Recent);
            let readings = || folders.git.readings.iter().map(|(_, reading)| reading);
            let programs = readings().flat_map(|reading| &reading.programs);
            let files = readings().flat_map(|reading| &reading.config_files);
            let files = files.chain(readings().flat_map(|it| &it.programs).map(|it| &it.file));
            let marks = programs.map(|program| mark(root, program));
            let marks = marks.chain(files.flat_map(|file| file_marks(root, file)));
            let marks = marks.chain(folders.closed.iter().map(|folder| closed_mark(folder)));
            let links = folders.git.links.iter().map(|link| mark(root, &link_program(link)));
            let known = folders.git.roots.iter().map(|git| git_folder_mark(git));
            let marks = marks.chain(links).chain(known);
            let made = self.made.of(root);
            let made =
                git_ids(root, &folders.git).filter(|id| made.has(id)).map(|id| id.made_mark());
            let known = git_ids(root, &folders.git).map(|id| id.mark());
            (root.path().to_owned(), marks.chain(made).chain(known).collect())
        };
        let mut begun = Begun {
            call: call.to_owned(),
            at: file_clock(),
            roots: roots.iter().map(marks).collect(),
            shielded: BTreeMap::new(),
            only: None,
        };
        // What another command has made meanwhile was not there before.
        begun.drop_marks_of_other_commands(&self.under_way);
        let under_way = UnderWay::begin(&self.under_way, &begun).map_err(|err| {
            let message = format!("the command cannot be noted as under way: {err}");
            ToolError::new(ErrorKind::Io, message).hint("check the state folder")
        })?;
        Ok(PendingSweep { begun, under_way, denied: denied.cloned(), owed })
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
        let PendingSweep { mut begun, mut under_way, denied, owed } = pending;
        let failed_before = owed.failures.len();
        let mut failed = BTreeSet::new();
        let mut swept = owed;
        let none = FolderStamps::new();
        for (number, root) in roots.iter().enumerate() {
            let before = begun.roots.iter().find(|(path, _)| path == root.path());
            let Some((_, before)) = before else { continue };
            let mut stamps = just_read.get(number).unwrap_or(&none);
            let mut opened = BTreeSet::new();
            let folders = loop {
                let found = self.folders.after(root, denied.as_ref(), stamps, &mut |path| {
                    see(root, path);
                });
                // What a command closed is opened: nobody can tell what is in it otherwise.
                let is_fresh = |folder: &&PathBuf| !before.contains(&closed_mark(folder));
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
            let mut fresh: BTreeMap<&Path, Vec<&GitProgram>> = BTreeMap::new();
            let links = folders.git.links.iter();
            let links: Vec<GitProgram> = links
                .map(|link| what_to_hold(root, link, &folders.git, before, begun.at))
                .collect();
            let programs = folders.git.readings.iter().flat_map(|(_, reading)| &reading.programs);
            for program in programs.chain(&links) {
                let whole = root.path().join(&program.file);
                let is_shielded =
                    begun.is_shielded(&whole) && !is_changed_in_place(root, &program.file, before);
                // Without the setting that leads to it, git does not find it, and it may be somebody else's.
                if !is_reached(root, program, before) {
                    continue;
                }
                let programs = fresh.entry(&program.file).or_default();
                let mark = mark(root, program);
                if !is_shielded
                    && !before.contains(&mark)
                    && begun.only.as_ref().is_none_or(|only| only.contains(&mark))
                    && !programs.contains(&program)
                {
                    programs.push(program);
                }
            }
            for (file, programs) in fresh.into_iter().filter(|(_, programs)| !programs.is_empty()) {
                let failures = swept.failures.len();
                let marks: Vec<String> =
                    programs.iter().map(|program| mark(root, program)).collect();
                self.hold(root, &begun.call, file, &programs, &mut swept);
                if swept.failures.len() > failures {
                    failed.extend(marks);
                }
            }
            // Comes after `hold`, because holding changes the state that is stored.
            let is_made = |id: &GitFolderId| {
                before.contains(&id.made_mark())
                    || occasion == SweepOccasion::AtEnd && !before.contains(&id.mark())
            };
            self.made.update(root, &folders.git, is_made);
        }
        // What could not be held, and nothing else, is tried again before the next command.
        if swept.failures.len() == failed_before {
            under_way.end();
        } else {
            begun.only = Some(failed);
            let _ = under_way.update(&begun);
        }
        swept
    }

    /// Takes out of one file everything in it that is new.
    fn hold(
        &self,
        root: &Root,
        call: &str,
        file: &Path,
        programs: &[&GitProgram],
        swept: &mut Swept,
    ) {
        let highest = self.held.highest_number(call);
        let item = |number: usize, what: String| {
            HeldItem::new(format!("{call}-{}", highest + number + 1), call, root, file, what)
        };
        // Nothing can be removed from a folder that is not writable.
        make_accessible(root, file.parent().unwrap_or(Path::new("")));
        let is_whole = |program: &&GitProgram| matches!(program.kind, GitProgramKind::Whole(_));
        let result = if let Some(program) = programs.iter().copied().find(|it| is_whole(it)) {
            self.held.hold_file(root, item(0, program.what())).map(|item| vec![item])
        } else {
            self.remove_parts(root, file, programs, &item)
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
        programs: &[&GitProgram],
        item: &dyn Fn(usize, String) -> HeldItem,
    ) -> std::io::Result<Vec<HeldItem>> {
        let content = root.read_small(file, 1 << 20)?.unwrap_or_default();
        let mut lines: Vec<&str> = Vec::new();
        let mut items = Vec::new();
        for (number, program) in programs.iter().enumerate() {
            match &program.kind {
                GitProgramKind::PlanLine(line) => lines.push(line),
                GitProgramKind::Setting(setting) => {
                    let kind = HeldKind::Setting(setting.to_config());
                    items.push(HeldItem { kind, ..item(number, program.what()) });
                }
                GitProgramKind::Whole(_) => {}
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
            let is_it = |program: &&GitProgram| matches!(&program.kind, GitProgramKind::Setting(it) if it == setting);
            programs.iter().any(is_it)
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

    /// Notes the absolute paths that the command cannot change, each with device and inode.
    pub(crate) fn set_shielded(&mut self, shielded: impl Iterator<Item = (PathBuf, (u64, u64))>) {
        self.begun.shielded = shielded.filter(|(path, _)| path.to_str().is_some()).collect();
        // If that fails, a sweep that is owed holds more than it has to.
        let _ = self.under_way.update(&self.begun);
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
                "Toolcrib holds what git would run later outside the sandbox: {}{more}; a person can \
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

fn closed_mark(folder: &Path) -> String {
    format!("{}\0closed", spelt(folder))
}

/// Git writes through links in its folder, to files that are no files of git.
fn link_program(link: &Path) -> GitProgram {
    let kind = GitProgramKind::Whole("a symbolic link in a git folder");
    GitProgram { file: link.to_owned(), kind, through: None }
}

/// Returns what to hold because of a link in a git folder. If the link is older than the command, and only the command
/// made git take the folder for its own, that is the file that did so: the link may be somebody's.
fn what_to_hold(
    root: &Root,
    link: &Path,
    git: &GitFolders,
    before: &BTreeSet<String>,
    began: u64,
) -> GitProgram {
    let folder = link.ancestors().skip(1).find(|folder| git.roots.contains(*folder));
    let is_new = |path: &Path| changed(root, path).is_none_or(|changed| changed >= began);
    let made = folder.filter(|folder| !is_new(link) && !before.contains(&git_folder_mark(folder)));
    let parts = ["HEAD", "commondir", "config", "objects", "refs"];
    let maker = made.and_then(|folder| {
        let parts = parts.map(|part| folder.join(part)).into_iter();
        parts.into_iter().find(|part| changed(root, part).is_some_and(|it| it >= began))
    });
    match maker {
        Some(file) => {
            let kind = GitProgramKind::Whole("makes its folder a git folder");
            GitProgram { file, kind, through: None }
        }
        None => link_program(link),
    }
}

/// Returns when the file or folder at a path last changed, in nanoseconds since 1970.
fn changed(root: &Root, path: &Path) -> Option<u64> {
    let meta = statat(root.handle(), path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let seconds = u64::try_from(meta.st_ctime).ok()?;
    Some(seconds.saturating_mul(1_000_000_000) + meta.st_ctime_nsec)
}

fn git_folder_mark(folder: &Path) -> String {
    format!("{}\0git folder", spelt(folder))
}

/// Whether git found its way to something before the command already, or needs no setting for it.
fn is_reached(root: &Root, program: &GitProgram, before: &BTreeSet<String>) -> bool {
    program.through.as_ref().is_none_or(|through| {
        before.contains(&mark(root, through)) && is_reached(root, through, before)
    })
}

/// Returns what tells a file of settings from another one, and from itself after a change.
fn file_marks(root: &Root, file: &Path) -> Vec<String> {
    let Ok(meta) = statat(root.handle(), file, AtFlags::SYMLINK_NOFOLLOW) else {
        return Vec::new();
    };
    let (shown, inode) = (spelt(file), meta.st_ino);
    let changed = (meta.st_ctime, meta.st_ctime_nsec, meta.st_size);
    vec![format!("{shown}\0file {inode}"), format!("{shown}\0file {inode} {changed:?}")]
}

/// Whether a shielded file was changed and is the same file: a command did that through another name of it. People
/// and git replace it.
fn is_changed_in_place(root: &Root, file: &Path, before: &BTreeSet<String>) -> bool {
    match file_marks(root, file).as_slice() {
        [same, unchanged] => before.contains(same) && !before.contains(unchanged),
        _ => false,
    }
}

/// Returns what tells something that makes git run programs from everything else. A file as a whole is another one
/// when it has changed.
fn mark(root: &Root, program: &GitProgram) -> String {
    let file = spelt(&program.file);
    match &program.kind {
        GitProgramKind::Whole(_) => {
            let meta = statat(root.handle(), &program.file, AtFlags::SYMLINK_NOFOLLOW);
            let stamp = meta.map(|it| (it.st_ino, it.st_ctime, it.st_ctime_nsec, it.st_size));
            format!("{file}\0{:?}", stamp.ok())
        }
        _ => format!("{file}\0{}", program.what()),
    }
}
