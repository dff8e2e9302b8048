//! Taking back what a call wrote: all of it or nothing, and nothing that changed since.

use toolcrib_core::change::Restore;
use toolcrib_core::{CallId, Change, ChangeKind, ErrorKind, Image, ToolError};

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
    /// Got its old content again.
    Restored,
    /// Was removed: the call had made it.
    Removed,
    /// Was as before already.
    Unchanged,
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
    if mine.is_empty() {
        let message = format!("call `{call}` changed no file, or is not known");
        return Err(ToolError::new(ErrorKind::NotFound, message)
            .hint("`toolcrib undo` lists the calls that can be taken back"));
    }
    let mut planned = Vec::new();
    for net in net_changes(&mine) {
        let now = restore.current(&net.change)?;
        let action = if is_same(now.as_ref(), net.change.before.as_ref()) {
            Action::Unchanged
        } else if !is_same(now.as_ref(), net.after.as_ref()) && since == Since::Refuse {
            let path = &net.change.path;
            let message =
                format!("`{path}` was changed after call `{call}`, so nothing was taken back");
            return Err(ToolError::new(ErrorKind::Changed, message)
                .hint("look at it first; --force takes the call back all the same")
                .at(path.as_str()));
        } else if net.change.before.is_some() {
            Action::Restored
        } else {
            Action::Removed
        };
        let content = match (&net.change.before, action) {
            (Some(image), Action::Restored) => Some(load(&image.sha256).map_err(|reason| {
                let message = format!("the undo copy of `{}` is gone: {reason}", net.change.path);
                ToolError::new(ErrorKind::Unavailable, message).at(net.change.path.as_str())
            })?),
            _ => None,
        };
        planned.push((net.change, action, content));
    }
    let mut steps = Vec::new();
    for (change, action, content) in planned {
        if action != Action::Unchanged {
            restore.put_back(&change, content.as_deref())?;
        }
        steps.push(Step { path: change.path, action });
    }
    // Directories last, the deepest first; one that holds something else by now stays.
    for made in mine.iter().rev().filter(|change| change.kind == ChangeKind::MadeDirectory) {
        restore.put_back(made, None)?;
    }
    Ok(steps)
}

/// What a call did to one path, from before its first change to after its last.
struct Net {
    /// The first change.
    change: Change,
    after: Option<Image>,
}

fn net_changes(changes: &[&Change]) -> Vec<Net> {
    let mut net: Vec<Net> = Vec::new();
    for change in changes.iter().filter(|change| change.kind != ChangeKind::MadeDirectory) {
        let same = net
            .iter_mut()
            .find(|known| known.change.path == change.path && known.change.root == change.root);
        match same {
            Some(known) => known.after.clone_from(&change.after),
            None => net.push(Net { change: (*change).clone(), after: change.after.clone() }),
        }
    }
    net
}

/// Whether both are the same content; a mode that changed is not a reason to refuse.
fn is_same(a: Option<&Image>, b: Option<&Image>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.sha256 == b.sha256,
        _ => false,
    }
}
