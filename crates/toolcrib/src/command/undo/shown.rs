//! What `toolcrib undo` prints: the calls that can be undone, and what an undo did.

use serde_json::json;
use toolcrib_core::runs_later::RunsLater;
use toolcrib_core::{CallId, counted, escape};
use toolcrib_runtime::undo::{Restored, UndoAction, as_json};
use toolcrib_serve::ChangedCallList;

use super::here::Here;
use crate::cli::UndoArgs;
use crate::command::layout::fit_all;
use crate::command::past_call::shown_time;
use crate::command::render;
use crate::command::short_id;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines, width};

/// Prints the calls that changed files.
pub(super) fn list(terminal: Terminal, args: &UndoArgs, list: &ChangedCallList) {
    let ChangedCallList { calls, total, elsewhere, short_ids, roots } = list;
    if args.json {
        print_json(&json!({"calls": calls, "total": total}).to_string());
        return;
    }
    if total + elsewhere == 0 {
        terminal.note("No call has changed a file yet.");
        return;
    }
    let here = Here { roots: roots.clone() };
    let mut lines = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let mark = if call.undone { " (undone)" } else { "" };
        let id = short_ids.get(index).unwrap_or(&call.call.0);
        let head = format!("{id}  {}  {}{mark}", shown_time(&call.at), call.tool);
        let head = terminal.paint(Paint::Strong, &escape::line(&head));
        lines.push(match &call.command {
            Some(command) => format!("{head}  {}", escape::line(command)),
            None => head,
        });
        for change in &call.changes {
            let (what, path) = (render::done(change.kind), here.shown(&change.root, &change.path));
            lines.push(format!("  {what:<8} {path}"));
        }
    }
    if lines.is_empty() {
        terminal.note("No call has changed a file in this workspace yet.");
    } else {
        print_lines(&fit_all(&lines, width()));
    }
    let older = total.saturating_sub(calls.len());
    let left_out: Vec<String> = [(older, "older here"), (*elsewhere, "in other workspaces")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, which)| format!("{} {which}", counted(count as u64, "call")))
        .collect();
    if !left_out.is_empty() {
        terminal.note(&format!("Not listed: {}; --all lists them.", left_out.join(" and ")));
    }
}

/// What an undo did.
pub(super) struct DoneUndo {
    /// The call that undid it.
    pub(super) by: CallId,
    /// The call that was undone.
    pub(super) wanted: String,
    pub(super) restored: Vec<Restored>,
    /// Whether the command of the call changed more than was undone.
    pub(super) has_other_changes: bool,
}

/// Prints what an undo did.
pub(super) fn done(terminal: Terminal, args: &UndoArgs, done: &DoneUndo, here: &Here) {
    let DoneUndo { by, wanted, restored, has_other_changes } = done;
    if args.json {
        let reply = json!({"undone": wanted, "by": by, "files": as_json(restored)});
        print_json(&reply.to_string());
        return;
    }
    print_lines(&report(terminal, by, wanted, restored, here));
    if *has_other_changes {
        terminal.note(&format!(
            "The command changed other files, too. `toolcrib audit show {wanted}` lists them after `also`."
        ));
    }
}

/// Prints why nothing was undone.
pub(super) fn failed(
    terminal: Terminal,
    args: &UndoArgs,
    message: &str,
    code: &str,
    hint: Option<&str>,
) {
    if args.json {
        let error = json!({"code": code, "message": message, "hint": hint});
        print_json(&json!({"error": error}).to_string());
    } else {
        terminal.fail(message, hint);
    }
}

/// Prints why the call to undo is not known. Returns how the process ends.
pub(super) fn not_found(terminal: Terminal, args: &UndoArgs, err: &short_id::IdError) -> Exit {
    if !args.json {
        return err.tell(terminal);
    }
    failed(terminal, args, &err.message, err.code, Some(&err.hint));
    Exit::Failed
}

/// Returns what was done to each path, for people.
fn report(
    terminal: Terminal,
    by: &CallId,
    wanted: &str,
    restored: &[Restored],
    here: &Here,
) -> Vec<String> {
    let is_same = restored.iter().all(|one| one.action == UndoAction::Unchanged);
    let said = if is_same { "Nothing to undo for call" } else { "Undid call" };
    let mut lines = vec![format!("{} {said} {wanted}", terminal.paint(Paint::Good, "✓"))];
    for one in restored {
        let shown = here.shown(&one.root, &one.path);
        lines.push(format!("  {:<9} {shown}", one.action.as_str()));
        let later = RunsLater::of(&one.path).filter(|_| one.action == UndoAction::Restored);
        if let Some(row) = later {
            lines.push(format!("            {}", row.reason(&shown)));
        }
    }
    if !is_same {
        lines.push(
            terminal
                .paint(Paint::Dim, &format!("  Redo: toolcrib undo {}", short_id::hinted(&by.0))),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn an_undo_is_told_in_these_words() {
        let cli = Cli::parse_from(["toolcrib", "--color", "never", "undo"]);
        let terminal = Terminal::new(&cli.global);
        let by = CallId("01B".to_owned());
        let here = Here { roots: vec!["/proj".to_owned()] };
        let restored = |path: &str, action: UndoAction| Restored {
            root: "/proj".to_owned(),
            path: path.to_owned(),
            action,
        };
        let one = |action: UndoAction| restored("src/a\u{1b}.rs", action);
        let told =
            |restored: &[Restored]| report(terminal, &by, "01A", restored, &here).join("\n") + "\n";
        let all = told(&[
            one(UndoAction::Restored),
            one(UndoAction::Removed),
            one(UndoAction::Unchanged),
            one(UndoAction::Kept),
        ]) + &told(&[one(UndoAction::Unchanged)]);
        let later = restored("sub/.envrc", UndoAction::Restored);
        let elsewhere = Restored { root: "/other".to_owned(), ..one(UndoAction::Restored) };
        let all = all + &told(&[later]) + &told(&[elsewhere]);
        insta::assert_snapshot!("undone", all);
    }
}
