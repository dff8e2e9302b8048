//! `toolcrib undo`: lists the calls that changed files, and undoes them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::json;
use toolcrib_core::change::{UndoLog, UndoneCall};
use toolcrib_core::runs_later::RunsLater;
use toolcrib_core::{CallId, Change, ToolError, ToolName, Toolset, counted, escape};
use toolcrib_host::root_path;
use toolcrib_runtime::undo::{Restored, UndoAction, UndoScope, as_json};
use toolcrib_serve::ChangedCall;

use super::layout::fit_all;
use super::past_call::{self, shown_time};
use super::render;
use super::setup::open_state;
use super::short_id::{self, Candidate, IdError, IdNoun, ShortIds};
use crate::cli::{Global, UndoArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::table;
use crate::terminal::{Paint, Terminal, print_json, print_lines, width};
use crate::wiring::{StateAccess, user_at_terminal};

/// How many calls are listed, unless all are asked for.
const LISTED_CALLS: usize = 20;

/// The tool that an undo is recorded and journalled as.
const UNDO_TOOL: &str = "toolcrib/undo";

const UNDOABLE: IdNoun = IdNoun {
    one: "call that changed files",
    many: "calls that changed files",
    listed_by: "toolcrib undo",
};

pub(super) fn run(global: &Global, terminal: Terminal, args: &UndoArgs) -> Result<Exit, CliError> {
    let access = open_state(global, terminal)?;
    let (changes, undone) = access.journal.history()?;
    let calls = ChangedCalls::group(&changes, &undone);
    let here = Here::of(&access);
    let wanted = match (&args.call, args.last) {
        (None, false) => {
            list(terminal, args, &access, &calls, &here);
            return Ok(Exit::Done);
        }
        (None, true) => calls.last(&here),
        (Some(given), _) => resolve(&access, &calls, given)?,
    };
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(err) if args.json => {
            print_error(err.code, &err.message, Some(&err.hint));
            return Ok(Exit::Failed);
        }
        Err(err) => return Ok(err.tell(terminal)),
    };
    let id = toolcrib_ledger::new_call_id();
    let scope = if args.force { UndoScope::Everything } else { UndoScope::Unchanged };
    match access.undo(&id, user_at_terminal(), &wanted, scope) {
        Ok(restored) => {
            show(terminal, args, &id, &wanted, &restored, &here);
            if !args.json
                && let Some(note) = not_undone(&access, &wanted, &changes)
            {
                terminal.note(&note);
            }
            Ok(Exit::Done)
        }
        Err(err) => {
            let ToolError { kind, message, hint, .. } = &err;
            if args.json {
                print_error(kind.as_str(), message, hint.as_deref());
            } else {
                terminal.fail(message, hint.as_deref());
            }
            Ok(Exit::of(*kind))
        }
    }
}

fn print_error(code: &str, message: &str, hint: Option<&str>) {
    let error = json!({"code": code, "message": message, "hint": hint});
    print_json(&json!({"error": error}).to_string());
}

/// Returns the id of the call that a person means. A call that changed nothing is found in the record, so that undo
/// can say why it cannot be undone.
fn resolve(
    access: &StateAccess,
    calls: &ChangedCalls<'_>,
    given: &str,
) -> Result<Result<String, IdError>, CliError> {
    let candidates = calls.all.iter().map(|call| Candidate {
        id: call.id().0.clone(),
        at: call.at(),
        what: format!("{}  {}", call.first.tool, call.first.place()),
        item: (),
    });
    let err = match short_id::find(UNDOABLE, given, candidates) {
        Ok(found) => return Ok(Ok(found.id)),
        Err(err) => err,
    };
    if err.code != IdError::NOT_FOUND {
        return Ok(Err(err));
    }
    Ok(past_call::find(&access.state, given)?.map(|call| call.id().to_owned()).map_err(|_| err))
}

/// The workspace that the command was started in, and the roots beside it.
struct Here {
    roots: Vec<String>,
}

impl Here {
    fn of(access: &StateAccess) -> Self {
        let mut roots: Vec<String> =
            access.directory().map(|path| path.display().to_string()).into_iter().collect();
        // Changes have the path that a root leads to.
        let resolved = |root: String| {
            let path = std::fs::canonicalize(&root).unwrap_or_else(|_| PathBuf::from(&root));
            path.display().to_string()
        };
        roots.extend(access.settings.get(table::ROOTS).into_iter().map(resolved));
        Self { roots }
    }

    /// Returns whether a change was made in this workspace, or in a root beside it. A workspace in a folder below is
    /// another one: whoever works in the folder above does not mean its changes.
    fn holds(&self, change: &Change) -> bool {
        let of_change = root_path(&change.root);
        self.roots.iter().any(|root| Path::new(root) == of_change)
    }

    /// Returns a path as a person in this workspace reads it: below the workspace, or whole.
    fn shown(&self, root: &str, path: &str) -> String {
        let whole = format!("{}/{path}", root.trim_end_matches('/'));
        let below = self.roots.first().and_then(|here| whole.strip_prefix(here.as_str()));
        let below = below.and_then(|below| below.strip_prefix('/')).map(str::to_owned);
        escape::line(&below.unwrap_or(whole)).into_owned()
    }
}

/// Returns the calls that changed files, newest first, for programs.
pub(super) fn changed_calls(access: &StateAccess) -> std::io::Result<Vec<ChangedCall>> {
    let (changes, undone) = access.journal.history()?;
    Ok(ChangedCalls::group(&changes, &undone).all.iter().map(CallChanges::to_data).collect())
}

/// A call that changed files.
struct CallChanges<'a> {
    first: &'a Change,
    changes: Vec<&'a Change>,
    is_undone: bool,
}

impl CallChanges<'_> {
    /// Returns the call, for programs.
    fn to_data(&self) -> ChangedCall {
        let Change { call, tool, at, .. } = self.first;
        ChangedCall {
            call: call.clone(),
            tool: tool.clone(),
            at: at.clone(),
            undone: self.is_undone,
            changes: self.changes.iter().copied().cloned().collect(),
        }
    }

    fn id(&self) -> &CallId {
        &self.first.call
    }

    fn at(&self) -> String {
        shown_time(&self.first.at)
    }

    fn is_in(&self, here: &Here) -> bool {
        self.changes.iter().any(|change| here.holds(change))
    }

    /// Returns whether all that the call changed is in this workspace. A call of another workspace can have changed a
    /// root that both have.
    fn is_only_in(&self, here: &Here) -> bool {
        self.changes.iter().all(|change| here.holds(change))
    }

    /// Returns whether the call can be undone yet, and is no undo itself.
    fn is_open(&self) -> bool {
        !self.is_undone && self.first.tool != *UNDO_TOOL
    }

    /// Returns the error for `--last` where only other workspaces have calls to undo, of which this is the newest.
    fn elsewhere_error(&self) -> IdError {
        let root = escape::line(&self.first.root).into_owned();
        let message = format!(
            "no call of this workspace is left to undo; the newest one elsewhere changed files in `{root}`"
        );
        let id = short_id::hinted(&self.id().0);
        let hint = format!(
            "`toolcrib undo {id}` undoes that one, and `toolcrib undo --all` lists the calls of all workspaces"
        );
        IdError::none(UNDOABLE, &message).hint(hint)
    }
}

/// All calls that changed files, newest first.
struct ChangedCalls<'a> {
    all: Vec<CallChanges<'a>>,
}

impl<'a> ChangedCalls<'a> {
    fn group(changes: &'a [Change], undone: &[UndoneCall]) -> Self {
        let undone: HashSet<&CallId> = undone.iter().map(|undone| &undone.call).collect();
        let mut places: HashMap<&CallId, usize> = HashMap::new();
        let mut all: Vec<CallChanges<'a>> = Vec::new();
        for change in changes {
            let place = *places.entry(&change.call).or_insert(all.len());
            match all.get_mut(place) {
                Some(call) => call.changes.push(change),
                None => all.push(CallChanges {
                    first: change,
                    changes: vec![change],
                    is_undone: undone.contains(&change.call),
                }),
            }
        }
        all.reverse();
        Self { all }
    }

    /// Returns the newest call of this workspace that is not undone and is no undo itself, so that a second
    /// `--last` goes one call further back.
    fn last(&self, here: &Here) -> Result<String, IdError> {
        let open = || self.all.iter().filter(|call| call.is_open());
        match (open().find(|call| call.is_only_in(here)), open().next()) {
            (Some(last), _) => Ok(last.id().0.clone()),
            (None, Some(newest)) => Err(newest.elsewhere_error()),
            (None, None) => Err(IdError::none(UNDOABLE, "no call is left to undo")),
        }
    }
}

fn show(
    terminal: Terminal,
    args: &UndoArgs,
    by: &CallId,
    wanted: &str,
    restored: &[Restored],
    here: &Here,
) {
    if args.json {
        let reply = json!({"undone": wanted, "by": by, "files": as_json(restored)});
        print_json(&reply.to_string());
        return;
    }
    print_lines(&report(terminal, by, wanted, restored, here));
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

/// Returns what a person is told if a command changed more than was undone.
fn not_undone(access: &StateAccess, wanted: &str, changes: &[Change]) -> Option<String> {
    let history = access.history_of(wanted)?;
    let mine: Vec<Change> = changes.iter().filter(|it| it.call.0 == wanted).cloned().collect();
    let others = super::call_history::other_changes(&history, &mine).len();
    (others > 0).then(|| {
        format!(
            "The command changed other files, too. `toolcrib audit show {wanted}` lists them after `also`."
        )
    })
}

fn list(
    terminal: Terminal,
    args: &UndoArgs,
    access: &StateAccess,
    calls: &ChangedCalls<'_>,
    here: &Here,
) {
    let is_listed = |call: &&CallChanges<'_>| args.all || call.is_in(here);
    let listed: Vec<&CallChanges<'_>> = calls.all.iter().filter(is_listed).collect();
    let elsewhere = calls.all.len() - listed.len();
    let most = if args.all { usize::MAX } else { LISTED_CALLS };
    let newest = &listed[..listed.len().min(most)];
    if args.json {
        let calls: Vec<ChangedCall> = newest.iter().map(|call| call.to_data()).collect();
        print_json(&json!({"calls": calls, "total": listed.len()}).to_string());
        return;
    }
    if calls.all.is_empty() {
        terminal.note("No call has changed a file yet.");
        return;
    }
    // All ids count, because undo takes the id of any of them.
    let ids = ShortIds::of(calls.all.iter().map(|call| call.id().0.as_str()));
    let toolset = access.toolset().ok();
    let mut lines = Vec::new();
    for call in newest {
        let mark = if call.is_undone { " (undone)" } else { "" };
        let (id, tool) = (ids.short(&call.id().0), &call.first.tool);
        let head = terminal.paint(Paint::Strong, &format!("{id}  {}  {tool}{mark}", call.at()));
        lines.push(match command_of(access, toolset.as_ref(), tool, call.id()) {
            Some(command) => format!("{head}  {}", escape::line(&command)),
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
    let older = listed.len() - newest.len();
    let left_out: Vec<String> = [(older, "older here"), (elsewhere, "in other workspaces")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, which)| format!("{} {which}", counted(count as u64, "call")))
        .collect();
    if !left_out.is_empty() {
        terminal.note(&format!("Not listed: {}; --all lists them.", left_out.join(" and ")));
    }
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
    use clap::Parser;
    use toolcrib_core::change::{ChangeKind, FileId};

    use super::*;
    use crate::cli::Cli;

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
            let last = ChangedCalls::group(changes, &[]).last(&here).ok();
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
