//! Files that a command may change: what they hold is kept before it runs, and what became of them noted after.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::readlinkat;
use toolcrib_core::change::{Others, SetAside};
use toolcrib_core::{Cancel, Change, ChangeKind, Doubt, ErrorKind, Image, ToolError};

use crate::alter::sha256;
use crate::confine::{CallFiles, Purpose, Workspace};
use crate::target::Target;
use crate::temporary::looks;

/// Of more files than this, the rest are not kept; nor are more places noted where there is none yet.
const MOST_FILES: usize = 256;

/// Nor is a larger file, or more than this of all of them.
const LARGEST: u64 = 1 << 20;
const MOST_BYTES: usize = 8 << 20;

/// How much is read of what they have become.
const LARGEST_AFTER: u64 = 16 << 20;
const MOST_AFTER: u64 = 64 << 20;

impl Workspace {
    /// Sees to what was set aside by processes that are gone.
    pub fn settle_left(self: &Arc<Self>) {
        for call in self.changes.left_aside() {
            self.for_call(call, "", Cancel::default()).settle_aside(Some(Doubt::Lost));
        }
    }
}

impl CallFiles {
    /// Keeps what is at these paths, as far as there is room. What cannot be kept is no reason not to run. Returns
    /// how many files are not.
    pub(crate) fn keep_aside(&self, paths: &[String]) -> u64 {
        let mut held: Vec<SetAside> = Vec::new();
        let (mut files, mut bytes, mut unkept) = (0, 0, 0);
        for path in paths {
            let one = match self.held(path) {
                Ok(Some(one)) => one,
                Ok(None) => continue,
                Err(_) => {
                    unkept += 1;
                    continue;
                }
            };
            // Two names may lead to the same.
            let is_known = |known: &SetAside| {
                (known.change.root_id, &known.change.path) == (one.change.root_id, &one.change.path)
            };
            if held.iter().any(is_known) {
                continue;
            }
            let is_there = one.change.before.is_some();
            let has_room = files < MOST_FILES && bytes + one.content.len() <= MOST_BYTES;
            if is_there && has_room {
                files += 1;
                bytes += one.content.len();
                held.push(one);
            } else if is_there {
                unkept += 1;
            } else if held.len() - files < MOST_FILES {
                held.push(one);
            }
        }
        if !held.is_empty() && self.workspace.changes.set_aside(&self.call, &held).is_err() {
            unkept += files as u64;
        }
        unkept
    }

    /// What is at a path that no link leads to; nothing if it is no file, an error if it is one that cannot be kept.
    fn held(&self, path: &str) -> Result<Option<SetAside>, ToolError> {
        let Ok(place) = self.workspace.place(path) else { return Ok(None) };
        if place.is_written_as_directory() || place.below.file_name().is_none() {
            return Ok(None);
        }
        let target = match self.resolved_for(&place, Purpose::Read) {
            Ok(Some(target)) => target,
            Err(err) if err.kind == ErrorKind::Permission => return Err(err),
            Ok(None) | Err(_) => return Ok(None),
        };
        let (before, content) = match content_of(&target)? {
            Some((image, content)) => (Some(image), content),
            None => (None, Vec::new()),
        };
        let change = self.change(ChangeKind::Replaced, target.root, &target.below, before, None);
        Ok(Some(SetAside { change, content }))
    }

    /// Notes which files are no longer what they were when they were set aside. `doubt` is why it is not sure that
    /// the command did it. What is in another workspace than ours is left to whoever has that.
    pub(crate) fn settle_aside(&self, doubt: Option<Doubt>) {
        let changes = &self.workspace.changes;
        let Ok(held) = changes.aside(&self.call) else { return };
        // That the call was cancelled does not make its command undone.
        let here = self.workspace.for_call(self.call.clone(), &self.tool, Cancel::default());
        let (mut is_settled, mut left) = (true, MOST_AFTER);
        for SetAside { change, content } in held {
            if here.root_of(&change).is_err() {
                is_settled = false;
                continue;
            }
            let Some(mut change) = here.came_of(change, &mut left) else { continue };
            match changes.others(&self.call, &change) {
                // It is as somebody else left it.
                Ok(Others::Left(theirs))
                    if theirs.is_some() && is_same(theirs.as_ref(), change.after.as_ref()) =>
                {
                    continue;
                }
                Ok(Others::Nothing) => {}
                Ok(Others::Left(_) | Others::Contend) | Err(_) => {
                    change.doubt = Some(Doubt::Others);
                }
            }
            change.doubt = doubt.or(change.doubt);
            let kept = change.before.is_none() || changes.keep(&mut &content[..]).is_ok();
            is_settled &= kept && changes.note(&change).is_ok();
        }
        if is_settled && changes.let_go(&self.call).is_ok() {
            return;
        }
        changes.leave_aside(&self.call);
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
        let doubt = now.is_err().then_some(Doubt::Unseen);
        Some(Change { kind, after: now.ok().flatten(), doubt, ..change })
    }

    /// What is at the place of a change by now; an error if that is nothing to look at.
    fn now_at(&self, change: &Change, left: &mut u64) -> Result<Option<Image>, ToolError> {
        let place = self.place_of(change)?;
        let target = match self.resolved_for(&place, Purpose::Read) {
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

fn content_of(target: &Target<'_>) -> Result<Option<(Image, Vec<u8>)>, ToolError> {
    let Some((file, meta)) = &target.existing else { return Ok(None) };
    let lost = |_| ToolError::new(ErrorKind::Io, "it cannot be read");
    let mut content = Vec::new();
    if target.is_link() {
        let link = readlinkat(&target.parent, &target.name, Vec::new());
        content = link.map_err(|errno| lost(errno.into()))?.into_bytes();
    } else {
        check_size(target, LARGEST)?;
        let reader = File::from(file.try_clone().map_err(lost)?);
        reader.take(LARGEST + 1).read_to_end(&mut content).map_err(lost)?;
    }
    if content.len() as u64 > LARGEST {
        return Err(too_large());
    }
    let size = content.len() as u64;
    let image = Image { sha256: sha256(&content), size, ..looks(file.as_fd(), meta) };
    Ok(Some((image, content)))
}

fn check_size(target: &Target<'_>, most: u64) -> Result<u64, ToolError> {
    let size = target.existing.as_ref().map_or(0, |(_, meta)| meta.st_size);
    let size = u64::try_from(size).unwrap_or(0);
    if size > most { Err(too_large()) } else { Ok(size) }
}

fn is_same(a: Option<&Image>, b: Option<&Image>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_same(b),
        (None, None) => true,
        _ => false,
    }
}

fn too_large() -> ToolError {
    ToolError::new(ErrorKind::TooLarge, "it is too large to be kept")
}
