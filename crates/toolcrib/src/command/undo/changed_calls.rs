//! The calls that changed files, whether they come from the state folder or from a server.

use std::collections::{HashMap, HashSet};
use std::io;

use toolcrib_core::change::{UndoLog, UndoneCall};
use toolcrib_core::{CallId, Change, ToolName, Toolset, escape};
use toolcrib_runtime::undo::UNDO_TOOL;
use toolcrib_serve::{ChangedCall, ChangedCallList, ChangesScope, WantedChanges};

use super::here::Here;
use crate::command::past_call::{self, shown_time};
use crate::command::short_id::{self, Candidate, IdError, IdNoun, ShortIds};
use crate::wiring::StateAccess;

pub(super) const UNDOABLE: IdNoun = IdNoun {
    one: "call that changed files",
    many: "calls that changed files",
    listed_by: "toolcrib undo",
};

/// Gathers the calls that changed files, newest first.
pub(in crate::command) fn gather(
    access: &StateAccess,
    wanted: &WantedChanges,
) -> io::Result<ChangedCallList> {
    let (changes, undone) = access.journal.history()?;
    let here = Here::of(access);
    let all = group(changes, &undone);
    let count = all.len();
    // All ids count, because undo takes the id of any of them.
    let ids = ShortIds::of(all.iter().map(|call| call.call.0.as_str()));
    let is_listed = |call: &ChangedCall| wanted.scope == ChangesScope::All || is_in(call, &here);
    let mut calls: Vec<ChangedCall> = all.iter().filter(|it| is_listed(it)).cloned().collect();
    let total = calls.len();
    calls.truncate(wanted.limit);
    if wanted.with_commands {
        let toolset = access.toolset().ok();
        for call in &mut calls {
            call.command = command_of(access, toolset.as_ref(), &call.tool, &call.call);
        }
    }
    let short_ids = calls.iter().map(|call| ids.short(&call.call.0).to_owned()).collect();
    Ok(ChangedCallList { calls, total, elsewhere: count - total, short_ids, roots: here.roots })
}

/// Returns the calls that made these changes, newest first.
pub(super) fn group(changes: Vec<Change>, undone: &[UndoneCall]) -> Vec<ChangedCall> {
    let undone: HashSet<&CallId> = undone.iter().map(|undone| &undone.call).collect();
    let mut places: HashMap<CallId, usize> = HashMap::new();
    let mut all: Vec<ChangedCall> = Vec::new();
    for change in changes {
        let place = *places.entry(change.call.clone()).or_insert(all.len());
        match all.get_mut(place) {
            Some(call) => call.changes.push(change),
            None => all.push(ChangedCall {
                call: change.call.clone(),
                tool: change.tool.clone(),
                at: change.at.clone(),
                command: None,
                undone: undone.contains(&change.call),
                changes: vec![change],
            }),
        }
    }
    all.reverse();
    all
}

/// Returns whether a call changed something outside of this workspace and its roots.
pub(in crate::command) fn reaches_elsewhere(access: &StateAccess, call: &str) -> io::Result<bool> {
    let (changes, _) = access.journal.history()?;
    let here = Here::of(access);
    Ok(changes.iter().any(|change| change.call.0 == call && !here.holds(change)))
}

fn is_in(call: &ChangedCall, here: &Here) -> bool {
    call.changes.iter().any(|change| here.holds(change))
}

/// Returns the newest call of this workspace that is not undone and is no undo itself, so that a second
/// `--last` goes one call further back.
pub(super) fn last(calls: &[ChangedCall], here: &Here) -> Result<String, IdError> {
    let open = || calls.iter().filter(|call| !call.undone && call.tool != *UNDO_TOOL);
    // A call of another workspace can have changed a root that both have.
    let is_only_here = |call: &&ChangedCall| call.changes.iter().all(|change| here.holds(change));
    match (open().find(is_only_here), open().next()) {
        (Some(last), _) => Ok(last.call.0.clone()),
        (None, Some(newest)) => Err(elsewhere_error(newest)),
        (None, None) => Err(IdError::none(UNDOABLE, "no call is left to undo")),
    }
}

/// Returns the error for `--last` where only other workspaces have calls to undo, of which this is the newest.
fn elsewhere_error(newest: &ChangedCall) -> IdError {
    let root = newest.changes.first().map(|change| change.root.as_str()).unwrap_or_default();
    let root = escape::line(root);
    let message = format!(
        "no call of this workspace is left to undo; the newest one elsewhere changed files in `{root}`"
    );
    let id = short_id::hinted(&newest.call.0);
    let hint = format!(
        "`toolcrib undo {id}` undoes that one, and `toolcrib undo --all` lists the calls of all workspaces"
    );
    IdError::none(UNDOABLE, &message).hint(hint)
}

/// Returns the id of the call among these that a person means.
pub(super) fn find(calls: &[ChangedCall], given: &str) -> Result<String, IdError> {
    let candidates = calls.iter().map(|call| Candidate {
        id: call.call.0.clone(),
        at: shown_time(&call.at),
        what: format!(
            "{}  {}",
            call.tool,
            call.changes.first().map(Change::place).unwrap_or_default()
        ),
        item: (),
    });
    short_id::find(UNDOABLE, given, candidates).map(|found| found.id)
}

/// Returns the command that a call ran, if its tool runs commands and the record has the call.
fn command_of(
    access: &StateAccess,
    toolset: Option<&Toolset>,
    tool: &ToolName,
    call: &CallId,
) -> Option<String> {
    let offer = toolset?.find(tool).ok()?;
    let runs_commands = offer.keys().iter().any(|key| key == "command" || key == "script");
    let history = runs_commands.then(|| access.history_of(&call.0)).flatten()?;
    Some(past_call::what_of(&history))
}

#[cfg(test)]
mod tests {
    use toolcrib_core::change::{ChangeKind, FileId};

    use super::*;

    fn change(call: &str, root: &str) -> Change {
        Change {
            call: CallId(call.to_owned()),
            tool: "wink/create_file".into(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            kind: ChangeKind::Created,
            root: root.to_owned(),
            root_id: FileId { device: 1, inode: 1, born: 0 },
            path: "a".to_owned(),
            before: None,
            after: None,
            made: None,
            doubt: None,
        }
    }

    #[test]
    fn the_last_call_changed_nothing_outside_of_this_workspace_and_its_roots() {
        let here = Here { roots: vec!["/proj".to_owned(), "/data".to_owned()] };
        let check = |changes: &[Change], expect: Option<&str>| {
            let last = last(&group(changes.to_vec(), &[]), &here).ok();
            assert_eq!(last.as_deref(), expect, "{changes:?}");
        };
        let mine = change("mine", "/proj");
        check(std::slice::from_ref(&mine), Some("mine"));
        check(&[change("mine", "/proj"), change("mine", "/data")], Some("mine"));
        for other in ["/proj/sub", "/", "/project", "/other"] {
            check(&[change("other", other)], None);
            check(&[mine.clone(), change("other", other)], Some("mine"));
            // It changed a root that both workspaces have, and more.
            check(&[change("other", "/data"), change("other", other)], None);
        }
    }
}
