//! Restores what a call changed: all of it or nothing, and nothing that changed since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::change::{Expected, PutBack, Restore, UndoLog};
use toolcrib_core::{CallId, Change, ChangeKind, Doubt, ErrorKind, Image, ToolError};

/// Whether files that changed after the call are restored, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoScope {
    /// If a file changed after the call, nothing is undone.
    Unchanged,
    /// Every file is restored, and later changes to it are lost.
    Everything,
}

/// What undo did to one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The absolute path of the root.
    pub root: String,
    /// The path below the root.
    pub path: String,
    /// What was done.
    pub action: UndoAction,
}

/// What undo does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoAction {
    /// The old content is back.
    Restored,
    /// The path is removed, because the call had created it.
    Removed,
    /// The path already had its old content.
    Unchanged,
    /// A directory stays, because it was replaced or is not empty.
    Kept,
}

impl UndoAction {
    /// Returns the spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
            Self::Kept => "kept",
        }
    }
}

/// Restores all that `call` changed.
pub(super) fn restore_call(
    changes: &[Change],
    call: &CallId,
    scope: UndoScope,
    restore: &dyn Restore,
    log: &dyn UndoLog,
) -> Result<Vec<Restored>, ToolError> {
    let mine: Vec<&Change> = changes.iter().filter(|change| change.call == *call).collect();
    // Every path is checked before any is restored.
    let planned = plan(&mine, call, scope, restore, log)?;
    let mut steps = Vec::new();
    let directories = |kind| mine.iter().rev().filter(move |change| change.kind == kind);
    for gone in directories(ChangeKind::RemovedDirectory) {
        restore.put_back(gone, None, Expected::Anything)?;
        steps.push(Restored {
            root: gone.root.clone(),
            path: gone.path.clone(),
            action: UndoAction::Restored,
        });
    }
    for part in planned {
        if part.action != UndoAction::Unchanged {
            let expected = match scope {
                UndoScope::Unchanged => Expected::Exactly(part.net.after.as_ref()),
                UndoScope::Everything => Expected::Anything,
            };
            restore.put_back(&part.net.change, part.content.as_deref(), expected)?;
        }
        let Change { root, path, .. } = part.net.change;
        steps.push(Restored { root, path, action: part.action });
    }
    // The deepest first.
    for made in directories(ChangeKind::MadeDirectory) {
        let action = match restore.put_back(made, None, Expected::Anything)? {
            PutBack::Done => UndoAction::Removed,
            PutBack::Kept => UndoAction::Kept,
        };
        steps.push(Restored { root: made.root.clone(), path: made.path.clone(), action });
    }
    Ok(steps)
}

/// Explains why a path cannot be restored.
fn unreachable_now(path: &str, err: ToolError) -> ToolError {
    match err.kind {
        ErrorKind::IsDirectory
        | ErrorKind::NotDirectory
        | ErrorKind::NotRegular
        | ErrorKind::Changed => {
            let message = format!(
                "`{path}` cannot be restored: something else now has its name, or the name of its folder"
            );
            ToolError::new(ErrorKind::Changed, message)
                .hint("move that away, and repeat the undo")
                .at(path)
        }
        _ => err,
    }
}

/// What is to be done to one path.
struct PathPlan {
    net: NetChange,
    action: UndoAction,
    content: Option<Vec<u8>>,
}

fn plan(
    mine: &[&Change],
    call: &CallId,
    scope: UndoScope,
    restore: &dyn Restore,
    log: &dyn UndoLog,
) -> Result<Vec<PathPlan>, ToolError> {
    let mut planned = Vec::new();
    for net in net_changes(mine) {
        let now = current(&net, restore)?;
        // The whole path: the person may be in another workspace.
        let action = action_on(&net, now.as_ref(), scope)
            .map_err(|obstacle| obstacle.error(net.change.place(), call))?;
        let content = content_for(&net, action, log)?;
        planned.push(PathPlan { net, action, content });
    }
    Ok(planned)
}

/// Returns the file that is at a path now.
pub(super) fn current(net: &NetChange, restore: &dyn Restore) -> Result<Option<Image>, ToolError> {
    restore.current(&net.change).map_err(|err| unreachable_now(&net.change.place(), err))
}

/// Why undo leaves a path, unless it is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It is uncertain that the call made the change.
    Doubted(Doubt),
    /// The file was changed after the call.
    ChangedSince,
}

impl Obstacle {
    fn error(self, path: String, call: &CallId) -> ToolError {
        let message = match self {
            Self::Doubted(doubt) => format!(
                "`{path}` may have changes that call `{call}` did not make, so nothing was undone: {}",
                doubt.words()
            ),
            Self::ChangedSince => {
                format!("`{path}` was changed after call `{call}`, so nothing was undone")
            }
        };
        ToolError::new(ErrorKind::Changed, message)
            .hint("check the file first; --force undoes the call anyway")
            .at(path)
    }
}

/// Returns what undo does to a path that holds `now`, or why it does nothing at all.
pub(super) fn action_on(
    net: &NetChange,
    now: Option<&Image>,
    scope: UndoScope,
) -> Result<UndoAction, Obstacle> {
    if is_same(now, net.change.before.as_ref()) {
        return Ok(UndoAction::Unchanged);
    }
    if scope == UndoScope::Unchanged {
        if let Some(doubt) = net.doubt {
            return Err(Obstacle::Doubted(doubt));
        }
        if !is_same(now, net.after.as_ref()) {
            return Err(Obstacle::ChangedSince);
        }
    }
    let had_file = net.change.before.is_some();
    Ok(if had_file { UndoAction::Restored } else { UndoAction::Removed })
}

/// Returns what a path held before, if undo has to write it.
pub(super) fn content_for(
    net: &NetChange,
    action: UndoAction,
    log: &dyn UndoLog,
) -> Result<Option<Vec<u8>>, ToolError> {
    let (Some(image), UndoAction::Restored) = (&net.change.before, action) else { return Ok(None) };
    let path = net.change.place();
    let content = log.content(&image.sha256).map_err(|reason| {
        let message = format!("the undo copy of `{path}` is gone: {reason}");
        ToolError::new(ErrorKind::Unavailable, message).at(path.as_str())
    })?;
    Ok(Some(content))
}

/// The net change of a call to one path: from before its first change to after its last.
pub(super) struct NetChange {
    /// The first change.
    pub(super) change: Change,
    after: Option<Image>,
    doubt: Option<Doubt>,
}

/// Returns the net change to each path, in the order of the first changes.
pub(super) fn net_changes(changes: &[&Change]) -> Vec<NetChange> {
    let mut net: Vec<NetChange> = Vec::new();
    for change in changes.iter().filter(|change| !change.kind.is_of_directory()) {
        let same = net.iter_mut().find(|known| {
            known.change.path == change.path && known.change.root_id == change.root_id
        });
        match same {
            Some(known) => {
                known.after.clone_from(&change.after);
                known.doubt = known.doubt.or(change.doubt);
            }
            None => net.push(NetChange {
                change: (*change).clone(),
                after: change.after.clone(),
                doubt: change.doubt,
            }),
        }
    }
    net
}

/// Returns whether both have the same content. A changed mode is no reason to refuse.
fn is_same(a: Option<&Image>, b: Option<&Image>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is_same(b),
        _ => false,
    }
}
