//! `toolcrib undo`: lists the calls that changed files, and undoes them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::change::{Restore, UndoLog, UndoneCall};
use toolcrib_core::{CallId, Cancel, Change, ErrorKind, Limits, ToolError, ToolName, escape};
use toolcrib_host::{Root, RootError, root_path};
use toolcrib_ledger::{CallFilter, CallHistory, find_calls};
use toolcrib_runtime::undo::{RestoreAreas, Restored, Undo, UndoAction, UndoScope, as_json};

use super::render;
use super::setup::open;
use crate::cli::{Global, UndoArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines};
use crate::wiring::{Crib, session};

pub(super) fn run(global: &Global, terminal: Terminal, args: &UndoArgs) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let (changes, undone) = crib.journal.history()?;
    let Some(wanted) = &args.call else {
        list(terminal, args, &changes, &undone);
        return Ok(Exit::Done);
    };
    let id = toolcrib_ledger::new_call_id();
    let scope = if args.force { UndoScope::Everything } else { UndoScope::Unchanged };
    let undo = Undo {
        log: &*crib.journal,
        areas: &UndoAreas(&crib),
        recorder: &*crib.recorder,
        clock: &*crib.clock,
    };
    match undo.run(&id, session(), wanted, scope) {
        Ok(restored) => {
            show(terminal, args, &id, wanted, &restored);
            if !args.json
                && let Some(note) = not_undone(&crib, wanted, &changes)
            {
                terminal.note(&note);
            }
            Ok(Exit::Done)
        }
        Err(err) => {
            if args.json {
                let error =
                    json!({"code": err.kind.as_str(), "message": err.message, "hint": err.hint});
                print_json(&json!({"error": error}).to_string());
            } else {
                terminal.fail(&err.message, err.hint.as_deref());
            }
            Ok(Exit::of(err.kind))
        }
    }
}

/// The roots that changes were made in, under the rules of this process.
struct UndoAreas<'a>(&'a Crib);

impl RestoreAreas for UndoAreas<'_> {
    fn open(
        &self,
        roots: &[String],
        undo: &CallId,
        tool: &ToolName,
    ) -> Result<Box<dyn Restore>, ToolError> {
        let roots: Result<Vec<Root>, _> =
            roots.iter().map(|root| Root::open(&root_path(root))).collect();
        let unavailable = |err: RootError| ToolError::new(ErrorKind::Unavailable, err.to_string());
        let workspace = self.0.workspace_of(roots.map_err(unavailable)?);
        Ok(Box::new(workspace.for_call(undo.clone(), tool, with_deadline())))
    }

    fn is_recorded(&self, call: &CallId) -> bool {
        history_of(self.0, &call.0).is_some()
    }
}

/// Returns a token that cancels the work at the deadline, because somebody may hold a lock for ever.
fn with_deadline() -> Cancel {
    let cancel = Cancel::default();
    let late = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(Limits::DEFAULT.deadline_ms));
        late.cancel();
    });
    cancel
}

fn show(terminal: Terminal, args: &UndoArgs, by: &CallId, wanted: &str, restored: &[Restored]) {
    if args.json {
        let reply = json!({"undone": wanted, "by": by, "files": as_json(restored)});
        print_json(&reply.to_string());
        return;
    }
    let is_same = restored.iter().all(|one| one.action == UndoAction::Unchanged);
    let said = if is_same { "Nothing to undo for call" } else { "Undid call" };
    let mut lines = vec![format!("{} {said} {wanted}", terminal.paint(Paint::Good, "✓"))];
    for one in restored {
        lines.push(format!("  {:<9} {}", one.action.as_str(), escape::line(&one.path)));
    }
    if is_same {
        print_lines(&lines);
        return;
    }
    lines.push(terminal.paint(Paint::Dim, &format!("  Redo: toolcrib undo {by}")));
    print_lines(&lines);
}

/// Returns the history of a call, if the record has it.
fn history_of(crib: &Crib, call: &str) -> Option<CallHistory> {
    let since = toolcrib_ledger::call_time(call);
    let wanted = CallFilter { call: Some(call.to_owned()), since, ..CallFilter::default() };
    find_calls(&crib.state, &wanted, 1).ok()?.pop()
}

/// Returns what a person is told if a command changed more than was undone.
fn not_undone(crib: &Crib, wanted: &str, changes: &[Change]) -> Option<String> {
    let history = history_of(crib, wanted)?;
    let mine: Vec<Change> = changes.iter().filter(|it| it.call.0 == wanted).cloned().collect();
    let others = super::call_history::other_changes(&history, &mine).len();
    (others > 0).then(|| {
        format!(
            "The command changed other files, too. `toolcrib audit show {wanted}` lists them behind `also`."
        )
    })
}

fn list(terminal: Terminal, args: &UndoArgs, changes: &[Change], undone: &[UndoneCall]) {
    let mut places: HashMap<&CallId, usize> = HashMap::new();
    let mut calls: Vec<(&Change, Vec<&Change>)> = Vec::new();
    for change in changes {
        let place = *places.entry(&change.call).or_insert(calls.len());
        match calls.get_mut(place) {
            Some((_, all)) => all.push(change),
            None => calls.push((change, vec![change])),
        }
    }
    let undone: HashSet<&CallId> = undone.iter().map(|undone| &undone.call).collect();
    let is_undone = |call: &CallId| undone.contains(call);
    let total = calls.len();
    let most = if args.all { usize::MAX } else { 20 };
    let newest = calls.into_iter().rev().take(most);
    if args.json {
        let calls: Value = newest
            .map(|(first, all)| {
                let is_undone = is_undone(&first.call);
                json!({"call": first.call, "tool": first.tool, "at": first.at, "undone": is_undone,
                    "changes": all})
            })
            .collect();
        print_json(&json!({"calls": calls, "total": total}).to_string());
        return;
    }
    if total == 0 {
        terminal.note("No call has changed a file yet.");
        return;
    }
    let mut lines = Vec::new();
    for (first, all) in newest {
        let mark = if is_undone(&first.call) { " (undone)" } else { "" };
        let at = first.at.get(..19).unwrap_or(&first.at).replace('T', " ");
        let head = format!("{}  {at}  {}{mark}", first.call, first.tool);
        lines.push(terminal.paint(Paint::Strong, &head));
        for change in all {
            let what = render::done(change.kind);
            let path = format!("{}/{}", change.root.trim_end_matches('/'), change.path);
            lines.push(format!("  {what:<8} {}", escape::line(&path)));
        }
    }
    if total > most {
        lines.push(format!("… and {} older ones; --all lists them", total - most));
    }
    print_lines(&lines);
}
