//! Files that a command may change: what they hold is kept before it runs, and what became of them noted after.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use rustix::fs::FileType;
use toolcrib_core::change::SetAside;
use toolcrib_core::{Cancel, Change, ChangeKind, ErrorKind, Image, ToolError};

use crate::alter::sha256;
use crate::confine::CallFiles;
use crate::target::Target;
use crate::temporary::looks;

/// Of more files than this, the rest are not kept.
const MOST_FILES: usize = 32;

/// Nor is a larger file, or more than this of all of them.
const LARGEST: u64 = 1 << 20;
const MOST_BYTES: usize = 8 << 20;

/// A file that has become larger than this is not looked at again: it is another one for sure.
const LARGEST_AFTER: u64 = 64 << 20;

impl CallFiles {
    /// Keeps what is at these paths, as far as there is room. What cannot be kept is no reason not to run.
    pub(crate) fn keep_aside(&self, paths: &[String]) {
        let (mut held, mut room): (Vec<SetAside>, _) = (Vec::new(), MOST_BYTES);
        for path in paths {
            if held.len() == MOST_FILES {
                break;
            }
            let Ok(Some(target)) = self.target(path) else { continue };
            let Some(one) = self.held(&target).filter(|one| one.content.len() <= room) else {
                continue;
            };
            // Two names may lead to the same.
            let is_known = |known: &SetAside| {
                (known.change.root_id, &known.change.path) == (one.change.root_id, &one.change.path)
            };
            if !held.iter().any(is_known) {
                room -= one.content.len();
                held.push(one);
            }
        }
        if !held.is_empty() {
            let _ = self.workspace.changes.set_aside(&self.call, &held);
        }
    }

    fn held(&self, target: &Target<'_>) -> Option<SetAside> {
        let set = |before, content| {
            let change =
                self.change(ChangeKind::Replaced, target.root, &target.below, before, None);
            Some(SetAside { change, content })
        };
        let Some((file, meta)) = &target.existing else { return set(None, Vec::new()) };
        let size = u64::try_from(meta.st_size).ok()?;
        let is_file = FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile;
        if !is_file || size > LARGEST {
            return None;
        }
        let mut content = Vec::new();
        let reader = File::from(file.try_clone().ok()?);
        reader.take(LARGEST + 1).read_to_end(&mut content).ok()?;
        if content.len() as u64 > LARGEST {
            return None;
        }
        let size = content.len() as u64;
        let image = Image { sha256: sha256(&content), size, ..looks(file.as_fd(), meta) };
        set(Some(image), content)
    }

    /// What is at the place of a change by now; an error if it has become too large to be looked at.
    fn now_at(&self, change: &Change) -> Result<Option<Image>, ToolError> {
        let place = self.place_of(change)?;
        let Some(target) = self.resolved(&place)? else { return Ok(None) };
        let size = target.existing.as_ref().map_or(0, |(_, meta)| meta.st_size);
        if u64::try_from(size).unwrap_or(0) > LARGEST_AFTER {
            return Err(ToolError::new(ErrorKind::TooLarge, "it has become too large"));
        }
        self.image(&target)
    }

    /// Notes which files are no longer what they were when they were set aside.
    pub(crate) fn settle_aside(&self) {
        let changes = &self.workspace.changes;
        let Ok(held) = changes.aside(&self.call) else { return };
        // That the call was cancelled does not make its command undone.
        let here = self.workspace.for_call(self.call.clone(), &self.tool, Cancel::default());
        let mut is_settled = true;
        for SetAside { change, content } in held {
            let change = match here.now_at(&change) {
                Ok(now) => came_of(change, now),
                // It is something that cannot be looked at by now, or in another workspace than ours.
                Err(_) => Some(change).filter(|change| change.before.is_some()),
            };
            let Some(change) = change else { continue };
            let kept = change.before.is_none() || changes.keep(&mut &content[..]).is_ok();
            is_settled &= kept && changes.note(&change).is_ok();
        }
        if is_settled {
            let _ = changes.let_go(&self.call);
        }
    }
}

/// What was done to a file that holds `now`; nothing if that is what it held.
fn came_of(change: Change, now: Option<Image>) -> Option<Change> {
    let kind = match (&change.before, &now) {
        (None, None) => return None,
        (Some(before), Some(now)) if before.is_same(now) => return None,
        (None, Some(_)) => ChangeKind::Created,
        (Some(_), Some(_)) => ChangeKind::Replaced,
        (Some(_), None) => ChangeKind::Removed,
    };
    Some(Change { kind, after: now, ..change })
}
