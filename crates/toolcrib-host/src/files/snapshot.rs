//! Snapshots of the files that a command may change: taken before it runs, and compared with the files after it.
//! Changes go into the journal.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::readlinkat;
use toolcrib_core::change::{ConcurrentChanges, Snapshot};
use toolcrib_core::{Cancel, Change, ChangeKind, Doubt, ErrorKind, Image, ToolError, ToolName};

use crate::files::image::{image_without_content, is_same_image, sha256};
use crate::files::target::Target;
use crate::files::workspace::{CallFiles, Purpose, Workspace};

/// How many files, and how many paths without a file, are in the snapshots of one command.
const MOST_SNAPSHOT_FILES: usize = 256;

/// The largest file in a snapshot, and how many bytes all snapshots of a command may have.
const LARGEST_SNAPSHOT_BYTES: u64 = 1 << 20;
const MOST_SNAPSHOT_BYTES: u64 = 8 << 20;

/// The largest file, and how many bytes in all, that are read for the comparison after the command.
const LARGEST_COMPARED_BYTES: u64 = 16 << 20;
const MOST_COMPARED_BYTES: u64 = 64 << 20;

impl Workspace {
    /// Resolves the snapshots of processes that are gone.
    pub fn resolve_orphaned_snapshots(self: &Arc<Self>) {
        for call in self.undo.snapshots.orphaned() {
            self.for_call(call, &ToolName::default(), Cancel::default())
                .resolve_snapshots_as(Some(Doubt::Lost));
        }
    }
}

impl CallFiles {
    /// Takes snapshots of the files at these paths, as far as there is room. The first `known` paths are known to
    /// be written; the others are only named. A command runs even if snapshots fail. Returns how many files have
    /// none.
    pub(crate) fn snapshot_files(&self, paths: &[String], known: usize) -> u64 {
        // The position is taken before any file is read, so that later changes by others are seen.
        let mark = self.workspace.undo.journal.position();
        let mut snapshots: Vec<Snapshot> = Vec::new();
        let mut seen = HashSet::new();
        let (mut files, mut room, mut missing) = (0, MOST_SNAPSHOT_BYTES, 0);
        for (at, path) in paths.iter().enumerate() {
            let room_here = if files < MOST_SNAPSHOT_FILES { room } else { 0 };
            let mut one = match self.snapshot(path, room_here) {
                Ok(Some(one)) => one,
                Ok(None) => continue,
                Err(_) => {
                    missing += 1;
                    continue;
                }
            };
            // Two paths may lead to the same file.
            if !seen.insert(one.change.place()) {
                continue;
            }
            if one.change.before.is_some() {
                files += 1;
                room -= one.content.len() as u64;
            } else if snapshots.len() - files >= MOST_SNAPSHOT_FILES {
                continue;
            }
            one.change.doubt = (at >= known).then_some(Doubt::Named);
            snapshots.push(one);
        }
        let store = &self.workspace.undo.snapshots;
        if !snapshots.is_empty() && store.take(&self.call, &snapshots, mark).is_err() {
            missing += files as u64;
        }
        missing
    }

    /// Takes a snapshot of the file at a path that no link leads to. Returns `None` if there is something else than
    /// a file, and an error if there is a file that cannot be kept.
    fn snapshot(&self, path: &str, room: u64) -> Result<Option<Snapshot>, ToolError> {
        let Ok(place) = self.workspace.locate(path) else { return Ok(None) };
        if place.is_written_as_directory() || place.below.file_name().is_none() {
            return Ok(None);
        }
        let target = match self.target_at(&place, Purpose::Read) {
            Ok(Some(target)) => target,
            Ok(None) => {
                // The command may make the folder, and the file in it.
                let change =
                    self.change(ChangeKind::Replaced, place.root, &place.below, None, None);
                return Ok(Some(Snapshot { change, content: Vec::new() }));
            }
            Err(err) if err.kind == ErrorKind::Permission => return Err(err),
            Err(_) => return Ok(None),
        };
        let (before, content) = match content_of(&target, room)? {
            Some((image, content)) => (Some(image), content),
            None => (None, Vec::new()),
        };
        let change = self.change(ChangeKind::Replaced, target.root, &target.below, before, None);
        Ok(Some(Snapshot { change, content }))
    }

    /// Journals which files differ from their snapshots. `doubt` is why it is not certain that the command changed
    /// them. Snapshots of files in another workspace are left to a process with that workspace.
    pub(crate) fn resolve_snapshots_as(&self, doubt: Option<Doubt>) {
        let (journal, snapshots) = (&self.workspace.undo.journal, &self.workspace.undo.snapshots);
        // A cancelled call may have changed files all the same.
        let here = self.workspace.for_call(self.call.clone(), &self.tool, Cancel::default());
        let (mut left, mut journaled, mut unresolved) =
            (MOST_COMPARED_BYTES, Vec::new(), Vec::new());
        let mut changed = Vec::new();
        for snapshot in snapshots.load(&self.call).unwrap_or_default() {
            if here.root_of(&snapshot.change).is_err() {
                unresolved.push(snapshot);
            } else if let Some(change) = here.change_since(snapshot.change.clone(), &mut left) {
                changed.push((snapshot, change));
            }
        }
        // Read after the files, so that later changes by others do not count.
        let others = if changed.is_empty() {
            Ok(ConcurrentChanges::default())
        } else {
            snapshots.concurrent(&self.call)
        };
        for (snapshot, mut change) in changed {
            let is_it = |own: &Change| own.place() == change.place() && own.after == change.after;
            if others.as_ref().is_ok_and(|others| others.own.iter().any(is_it)) {
                continue;
            }
            match others.as_ref().map(|others| changes_by_others(others, &change)) {
                Ok(OthersChange::None) => {}
                // Another call left the file as it is, and had found it as it is in the snapshot.
                Ok(OthersChange::Made(found, left))
                    if left.is_some()
                        && is_same_image(left.as_ref(), change.after.as_ref())
                        && is_same_image(found.as_ref(), snapshot.change.before.as_ref()) =>
                {
                    continue;
                }
                Ok(OthersChange::Made(..) | OthersChange::Possible) | Err(_) => {
                    change.doubt = Some(Doubt::Others);
                }
            }
            change.doubt = doubt.or(change.doubt);
            if change.before.is_none() || journal.store(&mut &snapshot.content[..]).is_ok() {
                journaled.push(change);
            } else {
                unresolved.push(snapshot);
            }
        }
        let is_journaled = journaled.is_empty() || journal.append_all(&journaled).is_ok();
        let is_over = match (is_journaled, unresolved.is_empty()) {
            (true, true) => snapshots.discard(&self.call).is_ok(),
            (true, false) => {
                let _ = snapshots.replace(&self.call, &unresolved);
                false
            }
            (false, _) => false,
        };
        if !is_over {
            snapshots.release(&self.call);
        }
    }

    /// Returns the change to a file since its snapshot, or `None` if there is none. `left` is how many bytes may
    /// still be read.
    fn change_since(&self, change: Change, left: &mut u64) -> Option<Change> {
        let now = self.current_image(&change, left);
        let kind = match (&change.before, &now) {
            (None, Ok(None) | Err(_)) => return None,
            (Some(before), Ok(Some(now))) if before.is_same(now) => return None,
            (None, Ok(Some(_))) => ChangeKind::Created,
            (Some(_), Ok(None)) => ChangeKind::Removed,
            (Some(_), Ok(Some(_)) | Err(_)) => ChangeKind::Replaced,
        };
        let doubt = if now.is_err() { Some(Doubt::Unseen) } else { change.doubt };
        Some(Change { kind, after: now.ok().flatten(), doubt, ..change })
    }

    /// Returns the image of the file at the place of a change now, or an error if it cannot be read.
    fn current_image(&self, change: &Change, left: &mut u64) -> Result<Option<Image>, ToolError> {
        let place = self.rooted_path_of(change)?;
        let target = match self.target_at(&place, Purpose::Read) {
            Ok(Some(target)) => target,
            // A link or a file stands where the directory was.
            Err(err) if err.kind == ErrorKind::Changed => return Ok(None),
            Ok(None) => return Ok(None),
            Err(err) => return Err(err),
        };
        *left -= check_size(&target, LARGEST_COMPARED_BYTES.min(*left))?;
        self.image(&target)
    }
}

/// Returns the image and the content of a target, or `None` if there is no file.
fn content_of(target: &Target<'_>, room: u64) -> Result<Option<(Image, Vec<u8>)>, ToolError> {
    let Some((file, meta)) = &target.existing else { return Ok(None) };
    let unreadable = |_| ToolError::new(ErrorKind::Io, "the file cannot be read");
    let mut content = Vec::new();
    if target.is_link() {
        let link = readlinkat(&target.parent, &target.name, Vec::new());
        content = link.map_err(|errno| unreadable(errno.into()))?.into_bytes();
    } else {
        check_size(target, LARGEST_SNAPSHOT_BYTES.min(room))?;
        let reader = File::from(file.try_clone().map_err(unreadable)?);
        reader.take(LARGEST_SNAPSHOT_BYTES + 1).read_to_end(&mut content).map_err(unreadable)?;
    }
    if content.len() as u64 > LARGEST_SNAPSHOT_BYTES.min(room) {
        return Err(too_large());
    }
    let size = content.len() as u64;
    let image =
        Image { sha256: sha256(&content), size, ..image_without_content(file.as_fd(), meta) };
    Ok(Some((image, content)))
}

fn check_size(target: &Target<'_>, most: u64) -> Result<u64, ToolError> {
    let size = target.existing.as_ref().map_or(0, |(_, meta)| meta.st_size);
    let size = u64::try_from(size).unwrap_or(0);
    if size > most { Err(too_large()) } else { Ok(size) }
}

/// What other calls did to the file of a change.
enum OthersChange {
    None,
    /// They found the first image there, and left the second.
    Made(Option<Image>, Option<Image>),
    /// A running command of another call may change it.
    Possible,
}

fn changes_by_others(others: &ConcurrentChanges, change: &Change) -> OthersChange {
    let place = change.place();
    let mut here = others.others.iter().filter(|other| other.place() == place);
    let Some(first) = here.next() else {
        let may_change = others.in_progress.contains(&place);
        return if may_change { OthersChange::Possible } else { OthersChange::None };
    };
    let last = here.next_back().unwrap_or(first);
    OthersChange::Made(first.before.clone(), last.after.clone())
}

fn too_large() -> ToolError {
    ToolError::new(ErrorKind::TooLarge, "the file is too large for a snapshot")
}
