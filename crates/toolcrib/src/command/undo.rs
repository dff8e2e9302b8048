//! `toolcrib undo`: lists the calls that changed files, and undoes them.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use toolcrib_core::change::{UndoLog, UndoneCall};
use toolcrib_core::runs_later::RunsLater;
use toolcrib_core::{CallId, Change, escape};
use toolcrib_runtime::undo::{Restored, UndoAction, UndoScope, as_json};

use super::render;
use super::setup::open;
use crate::cli::{Global, UndoArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines};
use crate::wiring::Crib;

pub(super) fn run(global: &Global, terminal: Terminal, args: &UndoArgs) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let (changes, undone) = crib.journal.history()?;
    let Some(wanted) = &args.call else {
        list(terminal, args, &changes, &undone);
        return Ok(Exit::Done);
    };
    let id = toolcrib_ledger::new_call_id();
    let scope = if args.force { UndoScope::Everything } else { UndoScope::Unchanged };
    match crib.undo(&id, wanted, scope) {
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

fn show(terminal: Terminal, args: &UndoArgs, by: &CallId, wanted: &str, restored: &[Restored]) {
    if args.json {
        let reply = json!({"undone": wanted, "by": by, "files": as_json(restored)});
        print_json(&reply.to_string());
        return;
    }
    print_lines(&report(terminal, by, wanted, restored));
}

/// Returns what was done to each path, for people.
fn report(terminal: Terminal, by: &CallId, wanted: &str, restored: &[Restored]) -> Vec<String> {
    let is_same = restored.iter().all(|one| one.action == UndoAction::Unchanged);
    let said = if is_same { "Nothing to undo for call" } else { "Undid call" };
    let mut lines = vec![format!("{} {said} {wanted}", terminal.paint(Paint::Good, "✓"))];
    for one in restored {
        lines.push(format!("  {:<9} {}", one.action.as_str(), escape::line(&one.path)));
        let later = RunsLater::of(&one.path).filter(|_| one.action == UndoAction::Restored);
        if let Some(row) = later {
            lines.push(format!("            {}", row.reason(&escape::line(&one.path))));
        }
    }
    if !is_same {
        lines.push(terminal.paint(Paint::Dim, &format!("  Redo: toolcrib undo {by}")));
    }
    lines
}

/// Returns what a person is told if a command changed more than was undone.
fn not_undone(crib: &Crib, wanted: &str, changes: &[Change]) -> Option<String> {
    let history = crib.history_of(wanted)?;
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
        let one = |action: UndoAction| Restored { path: "src/a\u{1b}.rs".to_owned(), action };
        let told = |restored: &[Restored]| report(terminal, &by, "01A", restored).join("\n") + "\n";
        let all = told(&[
            one(UndoAction::Restored),
            one(UndoAction::Removed),
            one(UndoAction::Unchanged),
            one(UndoAction::Kept),
        ]) + &told(&[one(UndoAction::Unchanged)]);
        let later = Restored { path: "sub/.envrc".to_owned(), action: UndoAction::Restored };
        let all = all + &told(&[later]);
        insta::assert_snapshot!("undone", all);
    }
}
