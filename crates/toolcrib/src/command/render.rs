//! Replies for people: a mark, what happened, where, and the difference it made.

use std::fmt::Write;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toolcrib_core::{Change, ChangeKind, Outcome, escape};
use toolcrib_ledger::{Journal, Redactor};
use toolcrib_runtime::Preview;

use crate::terminal::{Paint, Terminal, print};
use crate::wiring::Crib;

/// The most lines of one difference that are shown.
const MOST_LINES: usize = 200;

/// The longest line of a difference that is shown whole.
const MOST_COLUMNS: usize = 1000;

/// What stands in a difference for what is not shown.
pub(super) const LEFT_OUT: &str = "left out";

/// The largest text whose difference is worked out.
const MOST_BYTES: usize = 1 << 20;

/// Shows what came of a call.
pub(super) fn outcome(terminal: Terminal, crib: &Crib, outcome: &Outcome) {
    if let Some(error) = &outcome.error {
        // What a command had printed before its time was up.
        for stream in ["stdout", "stderr"] {
            let printed = error.context.get(stream).and_then(Value::as_str);
            if let Some(printed) = printed.filter(|printed| !printed.is_empty()) {
                print(&format!("{}\n", escape::lines(printed).trim_end_matches('\n')));
            }
        }
        failure(terminal, outcome);
        return;
    }
    let mut text = String::new();
    if let Some(content) = content(&outcome.reply) {
        // Content is what was asked for, and nothing else belongs among it.
        let _ = writeln!(text, "{}", escape::lines(content).trim_end_matches('\n'));
        print(&text);
        if is_cut(&outcome.reply) {
            terminal.note("(cut: this is not all of it; ask for another range of lines)");
        }
        return;
    }
    let code = outcome.reply.pointer("/exit_code").or(outcome.reply.pointer("/result/exit_code"));
    let mark = match code.and_then(Value::as_i64) {
        None | Some(0) => terminal.paint(Paint::Good, "✓"),
        Some(_) => terminal.paint(Paint::Bad, "✗"),
    };
    let _ = writeln!(text, "{mark} {}", news(outcome));
    if !terminal.is_quiet {
        for change in &outcome.changes {
            if !change.kind.is_of_directory() || outcome.changes.len() == 1 {
                let _ = writeln!(text, "  Location: {}", escape::line(&change.place()));
            }
        }
        let _ = writeln!(text, "  Time: {}ms", outcome.elapsed.as_millis());
        for change in &outcome.changes {
            text.push_str(&difference(terminal, &crib.journal, &crib.redactor, change));
        }
        if !outcome.changes.is_empty() {
            let undo = format!("  take it back: toolcrib undo {}", outcome.call);
            let _ = writeln!(text, "{}", terminal.paint(Paint::Dim, &undo));
        }
    }
    print(&text);
}

/// Shows why a call failed, in its catalogue's words.
fn failure(terminal: Terminal, outcome: &Outcome) {
    let reply = &outcome.reply;
    let first = |places: &[&str]| {
        places.iter().find_map(|place| reply.pointer(place)?.as_str().map(str::to_owned))
    };
    let message = first(&["/error/message", "/message", "/error"]).unwrap_or_default();
    let hint = first(&[
        "/error/suggestion",
        "/context/hint",
        "/error/details/hint",
        "/error/hint",
        "/hint",
    ]);
    terminal.fail(&message, hint.as_deref());
    for suggestion in reply["suggestions"].as_array().into_iter().flatten() {
        match (suggestion.as_str(), suggestion["line"].as_u64()) {
            (Some(line), _) => terminal.note(&format!("       {line}")),
            (None, Some(line)) => {
                let near = suggestion["text"].as_str().unwrap_or_default();
                let similarity = suggestion["similarity"].as_str().unwrap_or_default();
                terminal.note(&format!("       line {line} ({similarity} alike): {near}"));
            }
            (None, None) => {}
        }
    }
}

/// Returns the text that a reply consists of, if it is one.
fn content(reply: &Value) -> Option<&str> {
    if let Some(output) = reply["output"].as_str() {
        let is_listing = reply["files_affected"].as_array().is_some_and(Vec::is_empty);
        return (is_listing && output.contains('\n')).then_some(output);
    }
    let places = ["/contents", "/content", "/result/content", "/result/card", "/result"];
    places.iter().find_map(|place| reply.pointer(place)?.as_str())
}

fn is_cut(reply: &Value) -> bool {
    [reply, &reply["result"]].iter().any(|part| part["truncated"] == true)
}

/// Returns what happened, on as few lines as it takes.
fn news(outcome: &Outcome) -> String {
    if let Some(output) = outcome.reply["output"].as_str() {
        return escape::lines(output).trim_end().replace('\n', "\n  ");
    }
    let mut text = outcome.tool.clone();
    let result = outcome.reply.get("result").unwrap_or(&outcome.reply);
    match result {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != "success") {
                let value = match value {
                    Value::String(value) => value.clone(),
                    Value::Array(_) | Value::Object(_) => {
                        serde_json::to_string_pretty(value).unwrap_or_default()
                    }
                    other => other.to_string(),
                };
                let value = escape::lines(&value).replace('\n', "\n    ");
                let _ = write!(text, "\n  {key}: {value}");
            }
        }
        Value::Array(items) => {
            for item in items {
                let item = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
                let _ = write!(text, "\n  {}", escape::line(&item));
            }
        }
        other => {
            let _ = write!(text, "\n  {other}");
        }
    }
    text
}

/// What was done to a file, in a word.
pub(super) fn done(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Replaced => "changed",
        ChangeKind::Removed => "deleted",
        ChangeKind::MadeDirectory => "made",
        ChangeKind::RemovedDirectory => "removed",
    }
}

/// Shows what would come of a call.
pub(super) fn preview(terminal: Terminal, preview: &Preview, is_answered: bool) {
    let verdict = match preview.decision.verdict() {
        toolcrib_core::Verdict::Allow => terminal.paint(Paint::Good, "would run"),
        toolcrib_core::Verdict::Ask if is_answered => {
            terminal.paint(Paint::Good, "would run, since --yes answers")
        }
        toolcrib_core::Verdict::Ask => terminal.paint(Paint::Warn, "would ask a person"),
        toolcrib_core::Verdict::Deny => terminal.paint(Paint::Bad, "would be refused"),
    };
    let mut text = format!("{} {verdict}: {}\n", preview.tool, preview.decision.rule);
    for (edit, place) in preview.question.plan.edits.iter().zip(&preview.question.places) {
        let _ = writeln!(text, "  Would change: {}", escape::line(place));
        let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
        text.push_str(&texts(terminal, before.unwrap_or_default(), after.unwrap_or_default()));
    }
    print(&text);
}

/// Returns the difference that a change made, if both sides are text.
pub(super) fn difference(
    terminal: Terminal,
    journal: &Journal,
    redactor: &Redactor,
    change: &Change,
) -> String {
    // What it is after may not be known.
    if change.kind.is_of_directory() || change.after.is_none() {
        return String::new();
    }
    let load = |hash: &str| journal.content(hash).ok();
    let before = match &change.before {
        Some(image) if image.size <= MOST_BYTES as u64 => load(&image.sha256),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let path = toolcrib_host::root_path(&change.place());
    let after = match &change.after {
        // It may have been changed again: then that change has kept it.
        Some(image) if image.size <= MOST_BYTES as u64 => std::fs::read(path)
            .ok()
            .filter(|bytes| toolcrib_ledger::hash_of(bytes) == image.sha256)
            .or_else(|| load(&image.sha256)),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    // A new file is its own difference; it was in the arguments already.
    if change.kind != ChangeKind::Replaced {
        return String::new();
    }
    let path = escape::line(&change.path);
    let (Some(before), Some(after)) = (before, after) else {
        return format!("  {path} (what it held is not at hand, or too large to compare)\n");
    };
    if before == after {
        return format!("  {path} (the same content)\n");
    }
    let (Ok(before), Ok(after)) = (String::from_utf8(before), String::from_utf8(after)) else {
        return format!("  {path} (not text)\n");
    };
    let difference = texts(terminal, &redactor.clean(&before), &redactor.clean(&after));
    if difference.is_empty() {
        return format!("  {path} (differs only in what is left out as a secret)\n");
    }
    format!("  {path}{}", difference.replacen("  ", " ", 1))
}

/// Returns the difference of two texts, three lines of context around each change.
pub(super) fn texts(terminal: Terminal, before: &str, after: &str) -> String {
    if before.len() + after.len() > 2 * MOST_BYTES {
        return "  (a difference too large to show is left out)\n".to_owned();
    }
    // Split at line feeds alone: a carriage return is a character like any other, and shown as one.
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let diff = TextDiff::from_slices(&old, &new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    if added + removed == 0 {
        return String::new();
    }
    let mut text = format!("  (+{added} -{removed})\n");
    let mut shown = 0;
    for (index, group) in diff.grouped_ops(3).iter().enumerate() {
        if index > 0 {
            text.push_str("      ⋮\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            shown += 1;
            if shown > MOST_LINES {
                continue;
            }
            let number = change.new_index().or(change.old_index()).unwrap_or_default() + 1;
            let (line, end) = match change.value().strip_suffix('\n') {
                Some(line) => (line, ""),
                None => (change.value(), " (no line end)"),
            };
            // The usual end of a line is worth showing only where it changes.
            let line =
                if change.tag() == ChangeTag::Equal { line.trim_end_matches('\r') } else { line };
            let line = escape::line(line);
            let cut = line.floor_char_boundary(MOST_COLUMNS);
            let more = match line.len() - cut {
                0 => String::new(),
                more => format!(" [… {more} bytes {LEFT_OUT}]"),
            };
            let line = format!("{number:>5} {} {}{more}{end}", change.tag(), &line[..cut]);
            let line = match change.tag() {
                ChangeTag::Insert => terminal.paint(Paint::Added, &line),
                ChangeTag::Delete => terminal.paint(Paint::Removed, &line),
                ChangeTag::Equal => line,
            };
            let _ = writeln!(text, "{line}");
        }
    }
    if shown > MOST_LINES {
        let _ = writeln!(text, "      … {} more lines left out", shown - MOST_LINES);
    }
    text
}
