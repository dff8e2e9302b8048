//! `toolcrib undo`: lists the calls that changed files, and takes them back.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{
    Call, CallId, Cancel, Change, Durability, Effect, ErrorKind, Event, Files, Limits, Moment,
    ToolError, escape,
};
use toolcrib_host::{Root, RootError, root_path};
use toolcrib_ledger::{CallFilter, CallHistory, UndoneCall, find_calls};
use toolcrib_runtime::undo::{Action, Since, Step, take_back};

use super::render;
use super::setup::open;
use crate::cli::{Global, UndoArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines};
use crate::wiring::{Crib, session};

/// The name that an undo is recorded under.
const NAME: &str = "toolcrib/undo";

pub(super) fn run(global: &Global, terminal: Terminal, args: &UndoArgs) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let Some(wanted) = &args.call else {
        let (changes, taken) = crib.journal.read()?;
        list(terminal, args, &changes, &taken);
        return Ok(Exit::Done);
    };
    // Of two undos of one call, the second must see the first.
    let _held = crib.journal.lock()?;
    let (changes, taken) = crib.journal.read()?;
    let call = Call {
        id: toolcrib_ledger::new_call_id(),
        session: session(),
        conversation: None,
        tool: NAME.to_owned(),
        args: json!({"call": wanted, "force": args.force}),
    };
    let done = recorded(&crib, &call, || undo(&crib, &call, args, wanted, &changes, &taken));
    match done {
        Ok(steps) => {
            show(terminal, args, &call.id, wanted, &steps);
            if !args.json
                && let Some(note) = beyond(&crib, wanted, &changes)
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

fn undo(
    crib: &Crib,
    call: &Call,
    args: &UndoArgs,
    wanted: &str,
    changes: &[Change],
    taken: &[UndoneCall],
) -> Result<Vec<Step>, ToolError> {
    let wanted = CallId(wanted.to_owned());
    if let Some(by) = taken.iter().find(|taken| taken.call == wanted).map(|taken| &taken.by) {
        let message = format!("call `{wanted}` was taken back already, by `{by}`");
        return Err(ToolError::new(ErrorKind::Changed, message)
            .hint(format!("`toolcrib undo {by}` brings it back")));
    }
    let mut roots: Vec<_> =
        changes.iter().filter(|it| it.call == wanted).map(|it| root_path(&it.root)).collect();
    roots.sort_unstable();
    roots.dedup();
    if roots.is_empty() {
        let (message, hint) = if story_of(crib, &wanted.0).is_some() {
            (
                format!("nothing is kept that could take back call `{wanted}`"),
                format!("`toolcrib audit show {wanted}` says what it did"),
            )
        } else {
            let hint = "`toolcrib undo` lists the calls that can be taken back".to_owned();
            (format!("call `{wanted}` is not known"), hint)
        };
        return Err(ToolError::new(ErrorKind::NotFound, message).hint(hint));
    }
    let roots: Result<Vec<Root>, _> = roots.iter().map(|path| Root::open(path)).collect();
    let unavailable = |err: RootError| ToolError::new(ErrorKind::Unavailable, err.to_string());
    let workspace = crib.workspace_of(roots.map_err(unavailable)?);
    let files = workspace.for_call(call.id.clone(), NAME, with_deadline());
    let load = |hash: &str| crib.journal.content(hash).map_err(|err| err.to_string());
    let since = if args.force { Since::Overwrite } else { Since::Refuse };
    let taken = take_back(changes, &wanted, since, &files, &load);
    let steps = taken.map_err(|err| {
        let done = files.changes();
        if done.is_empty() {
            return err;
        }
        // All of it or nothing: what was taken back so far is given again.
        let again = workspace.for_call(call.id.clone(), NAME, with_deadline());
        if take_back(&done, &call.id, Since::Refuse, &again, &load).is_ok() {
            return err;
        }
        err.hint(format!("part of it was taken back; `toolcrib undo {}` undoes that", call.id))
    })?;
    if steps.iter().all(|step| step.action == Action::Unchanged) {
        return Ok(steps);
    }
    let noted = crib.journal.record_undo(&UndoneCall { call: wanted, by: call.id.clone() });
    noted.map_err(|err| {
        ToolError::new(ErrorKind::Io, format!("taken back, but not noted: {err}"))
    })?;
    Ok(steps)
}

/// Returns a token that ends the work when it has waited too long, for a lock that somebody keeps.
fn with_deadline() -> Cancel {
    let cancel = Cancel::default();
    let late = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(Limits::DEFAULT.deadline_ms));
        late.cancel();
    });
    cancel
}

/// Puts an undo on the record like any other call.
fn recorded(
    crib: &Crib,
    call: &Call,
    work: impl FnOnce() -> Result<Vec<Step>, ToolError>,
) -> Result<Vec<Step>, ToolError> {
    let start = crib.clock.elapsed();
    let record = |moment: Moment<'_>, durability: Durability| {
        let at = crib.clock.now();
        let event = Event { at, call: &call.id, session: &call.session, tool: NAME, moment };
        crib.recorder.record(&event, durability).map_err(|reason| {
            ToolError::new(ErrorKind::Unrecorded, format!("not recorded: {reason}"))
        })
    };
    let args = toolcrib_core::canonical::text(&call.args);
    let digest = toolcrib_core::canonical::Digest::of(NAME, &call.args).to_string();
    record(Moment::Asked { args: &args, digest, effect: Effect::Write }, Durability::Buffered)?;
    let decided =
        Moment::Decided { verdict: "allow", rule: "a person's own command", by: Some("terminal") };
    record(decided, Durability::Buffered)?;
    record(Moment::Started { places: &[], directory: None, terms: None }, Durability::Synced)?;
    let done = work();
    let reply = match &done {
        Ok(steps) => steps_json(steps).to_string(),
        Err(err) => err.message.clone(),
    };
    let ended = Moment::Ended {
        has_task: false,
        touched: None,
        error: done.as_ref().err().map(|err| (err.kind, err.message.as_str())),
        elapsed_us: crib.clock.elapsed().saturating_sub(start).as_micros() as u64,
        version: None,
        reply: &reply,
        usage: toolcrib_core::Usage::default(),
    };
    let _ = record(ended, Durability::Written);
    done
}

fn steps_json(steps: &[Step]) -> Value {
    steps.iter().map(|step| json!({"path": step.path, "action": word(step.action)})).collect()
}

fn word(action: Action) -> &'static str {
    match action {
        Action::Restored => "restored",
        Action::Removed => "removed",
        Action::Unchanged => "unchanged",
        Action::Kept => "kept",
    }
}

fn show(terminal: Terminal, args: &UndoArgs, by: &CallId, wanted: &str, steps: &[Step]) {
    if args.json {
        let reply = json!({"undone": wanted, "by": by, "files": steps_json(steps)});
        print_json(&reply.to_string());
        return;
    }
    let is_same = steps.iter().all(|step| step.action == Action::Unchanged);
    let said = if is_same { "All is as before call" } else { "Took back call" };
    let mut lines = vec![format!("{} {said} {wanted}", terminal.paint(Paint::Good, "✓"))];
    for step in steps {
        lines.push(format!("  {:<9} {}", word(step.action), escape::line(&step.path)));
    }
    if is_same {
        print_lines(&lines);
        return;
    }
    lines.push(terminal.paint(Paint::Dim, &format!("  bring it back: toolcrib undo {by}")));
    print_lines(&lines);
}

/// What the record has of a call.
fn story_of(crib: &Crib, call: &str) -> Option<CallHistory> {
    let since = toolcrib_ledger::call_time(call);
    let wanted = CallFilter { call: Some(call.to_owned()), since, ..CallFilter::default() };
    find_calls(&crib.state, &wanted, 1).ok()?.pop()
}

/// What of a command was not taken back, if something was not.
fn beyond(crib: &Crib, wanted: &str, changes: &[Change]) -> Option<String> {
    let story = story_of(crib, wanted)?;
    let mine: Vec<Change> = changes.iter().filter(|it| it.call.0 == wanted).cloned().collect();
    let others = super::call_history::other_changes(&story, &mine).len();
    (others > 0).then(|| {
        format!(
            "not all of what it did: `toolcrib audit show {wanted}` says what else, behind `also`"
        )
    })
}

fn list(terminal: Terminal, args: &UndoArgs, changes: &[Change], taken: &[UndoneCall]) {
    let mut places: HashMap<&CallId, usize> = HashMap::new();
    let mut calls: Vec<(&Change, Vec<&Change>)> = Vec::new();
    for change in changes {
        let place = *places.entry(&change.call).or_insert(calls.len());
        match calls.get_mut(place) {
            Some((_, all)) => all.push(change),
            None => calls.push((change, vec![change])),
        }
    }
    let taken: HashSet<&CallId> = taken.iter().map(|taken| &taken.call).collect();
    let is_taken = |call: &CallId| taken.contains(call);
    let total = calls.len();
    let most = if args.all { usize::MAX } else { 20 };
    let newest = calls.into_iter().rev().take(most);
    if args.json {
        let calls: Value = newest
            .map(|(first, all)| {
                let taken = is_taken(&first.call);
                json!({"call": first.call, "tool": first.tool, "at": first.at, "undone": taken,
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
        let mark = if is_taken(&first.call) { " (taken back)" } else { "" };
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
