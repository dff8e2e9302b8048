//! Files that a command may change: what they hold is kept before it runs, and what became of them noted after.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::readlinkat;
use toolcrib_core::change::{ConcurrentChanges, Snapshot};
use toolcrib_core::{Cancel, Change, ChangeKind, Doubt, ErrorKind, Image, ToolError};

use crate::files::image::{image_without_content, is_same_image, sha256};
use crate::files::target::Target;
use crate::files::workspace::{CallFiles, Purpose, Workspace};

/// Of more files than this, the rest are not kept; nor are more places noted where there is none yet.
const MOST_FILES: usize = 256;

/// Nor is a larger file, or more than this of all of them.
const LARGEST: u64 = 1 << 20;
const MOST_BYTES: u64 = 8 << 20;

/// How much is read of what they have become.
const LARGEST_AFTER: u64 = 16 << 20;
const MOST_AFTER: u64 = 64 << 20;

impl Workspace {
    /// Sees to what was set aside by processes that are gone.
    pub fn resolve_orphaned_snapshots(self: &Arc<Self>) {
        for call in self.undo.snapshots.orphaned() {
            self.for_call(call, "", Cancel::default()).resolve_snapshots_as(Some(Doubt::Lost));
        }
    }
}

impl CallFiles {
    /// Keeps what is at these paths, as far as there is room. What cannot be kept is no reason not to run. Returns
    /// how many files are not.
    pub(crate) fn snapshot_files(&self, paths: &[String], known: usize) -> u64 {
        // Before anything is read: what others do from here on is seen later.
        let mark = self.workspace.undo.journal.position();
        let mut held: Vec<Snapshot> = Vec::new();
        let mut seen = HashSet::new();
        let (mut files, mut room, mut unkept) = (0, MOST_BYTES, 0);
        for (at, path) in paths.iter().enumerate() {
            let room_here = if files < MOST_FILES { room } else { 0 };
            let mut one = match self.held(path, room_here) {
                Ok(Some(one)) => one,
                Ok(None) => continue,
                Err(_) => {
                    unkept += 1;
                    continue;
                }
            };
            // Two names may lead to the same.
            if !seen.insert(one.change.place()) {
                continue;
            }
            if one.change.before.is_some() {
                files += 1;
                room -= one.content.len() as u64;
            } else if held.len() - files >= MOST_FILES {
                continue;
            }
            one.change.doubt = (at >= known).then_some(Doubt::Named);
            held.push(one);
        }
        if !held.is_empty() && self.workspace.undo.snapshots.take(&self.call, &held, mark).is_err()
        {
            unkept += files as u64;
        }
        unkept
    }

    /// What is at a path that no link leads to; nothing if it is no file, an error if it is one that cannot be kept.
    fn held(&self, path: &str, room: u64) -> Result<Option<Snapshot>, ToolError> {
        let Ok(place) = self.workspace.locate(path) else { return Ok(None) };
        if place.is_written_as_directory() || place.below.file_name().is_none() {
            return Ok(None);
        }
        let target = match self.target_at(&place, Purpose::Read) {
            Ok(Some(target)) => target,
            Ok(None) => {
                // Its folder may come to be, and it in there.
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

    /// Notes which files are no longer what they were when they were set aside. `doubt` is why it is not sure that
    /// the command did it. What is in another workspace than ours is left to whoever has that.
    pub(crate) fn resolve_snapshots_as(&self, doubt: Option<Doubt>) {
        let (journal, snapshots) = (&self.workspace.undo.journal, &self.workspace.undo.snapshots);
        // That the call was cancelled does not make its command undone.
        let here = self.workspace.for_call(self.call.clone(), &self.tool, Cancel::default());
        let (mut left, mut noted, mut unsettled) = (MOST_AFTER, Vec::new(), Vec::new());
        let mut changed = Vec::new();
        for held in snapshots.load(&self.call).unwrap_or_default() {
            if here.root_of(&held.change).is_err() {
                unsettled.push(held);
            } else if let Some(change) = here.came_of(held.change.clone(), &mut left) {
                changed.push((held, change));
            }
        }
        // After the files: what somebody does from here on is none of this.
        let others = if changed.is_empty() {
            Ok(ConcurrentChanges::default())
        } else {
            snapshots.concurrent(&self.call)
        };
        for (held, mut change) in changed {
            let is_it = |own: &Change| own.place() == change.place() && own.after == change.after;
            if others.as_ref().is_ok_and(|others| others.own.iter().any(is_it)) {
                continue;
            }
            match others.as_ref().map(|others| theirs(others, &change)) {
                Ok(Theirs::Nothing) => {}
                // It is as somebody else left it, who found it as it was before.
                Ok(Theirs::From(found, left))
                    if left.is_some()
                        && is_same_image(left.as_ref(), change.after.as_ref())
                        && is_same_image(found.as_ref(), held.change.before.as_ref()) =>
                {
                    continue;
                }
                Ok(Theirs::From(..) | Theirs::Perhaps) | Err(_) => {
                    change.doubt = Some(Doubt::Others);
                }
            }
            change.doubt = doubt.or(change.doubt);
            if change.before.is_none() || journal.store(&mut &held.content[..]).is_ok() {
                noted.push(change);
            } else {
                unsettled.push(held);
            }
        }
        let is_noted = noted.is_empty() || journal.append_all(&noted).is_ok();
        let is_over = match (is_noted, unsettled.is_empty()) {
            (true, true) => snapshots.discard(&self.call).is_ok(),
            (true, false) => {
                let _ = snapshots.replace(&self.call, &unsettled);
                false
            }
            (false, _) => false,
        };
        if !is_over {
            snapshots.release(&self.call);
        }
    }

    /// What was done to a file by now; nothing if it is what it was. So much more may be read.
    fn came_of(&self, change: Change, left: &mut u64) -> Option<Change> {
        let now = self.now_at(&change, left);
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

    /// What is at the place of a change by now; an error if that is nothing to look at.
    fn now_at(&self, change: &Change, left: &mut u64) -> Result<Option<Image>, ToolError> {
        let place = self.rooted_path_of(change)?;
        let target = match self.target_at(&place, Purpose::Read) {
            Ok(Some(target)) => target,
            // A link or a file stands where its directory was.
            Err(err) if err.kind == ErrorKind::Changed => return Ok(None),
            Ok(None) => return Ok(None),
            Err(err) => return Err(err),
        };
        *left -= check_size(&target, LARGEST_AFTER.min(*left))?;
        self.image(&target)
    }
}

fn content_of(target: &Target<'_>, room: u64) -> Result<Option<(Image, Vec<u8>)>, ToolError> {
    let Some((file, meta)) = &target.existing else { return Ok(None) };
    let lost = |_| ToolError::new(ErrorKind::Io, "it cannot be read");
    let mut content = Vec::new();
    if target.is_link() {
        let link = readlinkat(&target.parent, &target.name, Vec::new());
        content = link.map_err(|errno| lost(errno.into()))?.into_bytes();
    } else {
        check_size(target, LARGEST.min(room))?;
        let reader = File::from(file.try_clone().map_err(lost)?);
        reader.take(LARGEST + 1).read_to_end(&mut content).map_err(lost)?;
    }
    if content.len() as u64 > LARGEST.min(room) {
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

/// What others did to the place of a change.
enum Theirs {
    Nothing,
    /// They found the one there, and left the other.
    From(Option<Image>, Option<Image>),
    /// A command of theirs that runs may change it.
    Perhaps,
}

fn theirs(others: &ConcurrentChanges, change: &Change) -> Theirs {
    let place = change.place();
    let mut here = others.others.iter().filter(|other| other.place() == place);
    let Some(first) = here.next() else {
        let is_held = others.in_progress.contains(&place);
        return if is_held { Theirs::Perhaps } else { Theirs::Nothing };
    };
    let last = here.next_back().unwrap_or(first);
    Theirs::From(first.before.clone(), last.after.clone())
}

fn too_large() -> ToolError {
    ToolError::new(ErrorKind::TooLarge, "it is too large to be kept")
}
