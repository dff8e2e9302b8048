//! Taking back what a call wrote: all of it or nothing, and nothing that changed since.

use toolcrib_core::change::{Expected, PutBack, Restore};
use toolcrib_core::{CallId, Change, ChangeKind, Doubt, ErrorKind, Image, ToolError};

/// What to do about a file that is no longer as the call left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Takes nothing back.
    Refuse,
    /// Takes it back all the same.
    Overwrite,
}

/// What was done to one path to take a call back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The path below the root.
    pub path: String,
    /// What was done.
    pub action: Action,
}

/// What taking back means for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Is what it was again.
    Restored,
    /// Was removed: the call had made it.
    Removed,
    /// Was as before already.
    Unchanged,
    /// Was kept: a directory that is another by now, or holds something.
    Kept,
}

/// Returns content by its hash.
pub type Load<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// Takes back all that `call` changed.
pub fn take_back(
    changes: &[Change],
    call: &CallId,
    since: Since,
    restore: &dyn Restore,
    load: &Load<'_>,
) -> Result<Vec<Step>, ToolError> {
    let mine: Vec<&Change> = changes.iter().filter(|change| change.call == *call).collect();
    // All of it is looked at before any of it is touched.
    let planned = plan(&mine, call, since, restore, load)?;
    let mut steps = Vec::new();
    let directories = |kind| mine.iter().rev().filter(move |change| change.kind == kind);
    for gone in directories(ChangeKind::RemovedDirectory) {
        restore.put_back(gone, None, Expected::Anything)?;
        steps.push(Step { path: gone.path.clone(), action: Action::Restored });
    }
    for part in planned {
        if part.action != Action::Unchanged {
            let expected = match since {
                Since::Refuse => Expected::Exactly(part.net.after.as_ref()),
                Since::Overwrite => Expected::Anything,
            };
            restore.put_back(&part.net.change, part.content.as_deref(), expected)?;
        }
        steps.push(Step { path: part.net.change.path, action: part.action });
    }
    // The deepest first.
    for made in directories(ChangeKind::MadeDirectory) {
        let action = match restore.put_back(made, None, Expected::Anything)? {
            PutBack::Done => Action::Removed,
            PutBack::Kept => Action::Kept,
        };
        steps.push(Step { path: made.path.clone(), action });
    }
    Ok(steps)
}

/// Says of a place that cannot be looked at what to do about it.
fn unreachable_now(path: &str, err: ToolError) -> ToolError {
    match err.kind {
        ErrorKind::IsDirectory
        | ErrorKind::NotDirectory
        | ErrorKind::NotRegular
        | ErrorKind::Changed => {
            let message = format!(
                "`{path}` cannot be put back: something else is in its place, or in that of its folder"
            );
            ToolError::new(ErrorKind::Changed, message)
                .hint("move that away, and repeat the undo")
                .at(path)
        }
        _ => err,
    }
}

/// What is to be done about one path.
struct Part {
    net: Net,
    action: Action,
    content: Option<Vec<u8>>,
}

fn plan(
    mine: &[&Change],
    call: &CallId,
    since: Since,
    restore: &dyn Restore,
    load: &Load<'_>,
) -> Result<Vec<Part>, ToolError> {
    let mut planned = Vec::new();
    for net in net_changes(mine) {
        let path = net.change.path.clone();
        let now = restore.current(&net.change).map_err(|err| unreachable_now(&path, err))?;
        let action = if is_same(now.as_ref(), net.change.before.as_ref()) {
            Action::Unchanged
        } else if let (Some(doubt), Since::Refuse) = (net.doubt, since) {
            let message = format!(
                "`{path}` may hold more than call `{call}` did, so nothing was taken back: {}",
                doubt.words()
            );
            return Err(ToolError::new(ErrorKind::Changed, message)
                .hint("look at it first; --force takes the call back all the same")
                .at(path));
        } else if !is_same(now.as_ref(), net.after.as_ref()) && since == Since::Refuse {
            let message =
                format!("`{path}` was changed after call `{call}`, so nothing was taken back");
            return Err(ToolError::new(ErrorKind::Changed, message)
                .hint("look at it first; --force takes the call back all the same")
                .at(path));
        } else if net.change.before.is_some() {
            Action::Restored
        } else {
            Action::Removed
        };
        let content = match (&net.change.before, action) {
            (Some(image), Action::Restored) => Some(load(&image.sha256).map_err(|reason| {
                let message = format!("the undo copy of `{path}` is gone: {reason}");
                ToolError::new(ErrorKind::Unavailable, message).at(path.as_str())
            })?),
            _ => None,
        };
        planned.push(Part { net, action, content });
    }
    Ok(planned)
}

/// What a call did to one path, from before its first change to after its last.
struct Net {
    /// The first change.
    change: Change,
    after: Option<Image>,
    doubt: Option<Doubt>,
}

fn net_changes(changes: &[&Change]) -> Vec<Net> {
    let mut net: Vec<Net> = Vec::new();
    for change in changes.iter().filter(|change| !change.kind.is_of_directory()) {
        let same = net.iter_mut().find(|known| {
            known.change.path == change.path && known.change.root_id == change.root_id
        });
        match same {
            Some(known) => {
                known.after.clone_from(&change.after);
                known.doubt = known.doubt.or(change.doubt);
            }
            None => net.push(Net {
                change: (*change).clone(),
                after: change.after.clone(),
                doubt: change.doubt,
            }),
        }
    }
    net
}

/// Whether both are the same content; a mode that changed is not a reason to refuse.
fn is_same(a: Option<&Image>, b: Option<&Image>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is_same(b),
        _ => false,
    }
}
