//! Replies for people: a mark, what happened, where, and the difference it made.

use std::fmt::Write;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toolcrib_core::{Change, ChangeKind, Outcome, escape};
use toolcrib_runtime::Preview;

use crate::terminal::{Paint, Terminal, print};
use crate::wiring::Crib;

/// The most lines of one difference that are shown.
const MOST_LINES: usize = 200;

/// The largest text whose difference is worked out.
const MOST_BYTES: usize = 1 << 20;

/// Shows what came of a call.
pub(super) fn outcome(terminal: Terminal, crib: &Crib, outcome: &Outcome) {
    if let Some(err) = &outcome.error {
        let text = outcome.reply["output"].as_str().map(|text| text.trim_start_matches("Error: "));
        let text = text.unwrap_or(&err.message);
        let suggestion = outcome.reply["error"]["suggestion"].as_str();
        terminal.fail(text, suggestion.or(err.hint.as_deref()));
        return;
    }
    let mut text = String::new();
    let shown = body(&outcome.reply);
    let shown = escape::lines(&shown);
    let is_news = !shown.contains('\n') || !outcome.changes.is_empty();
    if is_news {
        let _ = writeln!(text, "{} {shown}", terminal.paint(Paint::Good, "✓"));
    } else {
        // Content is what was asked for, and nothing else belongs among it.
        let _ = writeln!(text, "{}", shown.trim_end_matches('\n'));
    }
    if is_news && !terminal.is_quiet {
        for change in &outcome.changes {
            if change.kind != ChangeKind::MadeDirectory || outcome.changes.len() == 1 {
                let place = format!("{}/{}", change.root.trim_end_matches('/'), change.path);
                let _ = writeln!(text, "  Location: {}", escape::line(&place));
            }
        }
        let _ = writeln!(text, "  Time: {}ms", outcome.elapsed.as_millis());
        for change in &outcome.changes {
            text.push_str(&difference(terminal, crib, change));
        }
        if !outcome.changes.is_empty() {
            let undo = format!("  take it back: toolcrib undo {}", outcome.call);
            let _ = writeln!(text, "{}", terminal.paint(Paint::Dim, &undo));
        }
    }
    print(&text);
}

/// Returns what a person wants to see of a reply.
fn body(reply: &Value) -> String {
    for key in ["output", "contents", "content"] {
        if let Some(text) = reply[key].as_str() {
            return text.to_owned();
        }
    }
    match &reply["result"] {
        Value::String(text) => text.clone(),
        Value::Object(result) if result.get("content").is_some_and(Value::is_string) => {
            result["content"].as_str().unwrap_or_default().to_owned()
        }
        _ => serde_json::to_string_pretty(reply).unwrap_or_else(|_| reply.to_string()),
    }
}

/// Shows what would come of a call.
pub(super) fn preview(terminal: Terminal, preview: &Preview) {
    let verdict = match preview.decision.verdict {
        toolcrib_core::Verdict::Allow => terminal.paint(Paint::Good, "would run"),
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
fn difference(terminal: Terminal, crib: &Crib, change: &Change) -> String {
    if change.kind == ChangeKind::MadeDirectory {
        return String::new();
    }
    let load = |hash: &str| crib.journal.load(hash).ok();
    let before = match &change.before {
        Some(image) if image.size <= MOST_BYTES as u64 => load(&image.sha256),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let path = std::path::Path::new(&change.root).join(&change.path);
    let after = match &change.after {
        Some(image) if image.size <= MOST_BYTES as u64 => std::fs::read(path).ok(),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    // A new file is its own difference; it was in the arguments already.
    match (change.kind, text(before), text(after)) {
        (ChangeKind::Replaced, Some(before), Some(after)) => texts(terminal, &before, &after),
        _ => String::new(),
    }
}

/// Returns the difference of two texts, three lines of context around each change.
pub(super) fn texts(terminal: Terminal, before: &str, after: &str) -> String {
    if before.len() + after.len() > 2 * MOST_BYTES {
        return "  (too large to show the difference)\n".to_owned();
    }
    let diff = TextDiff::from_lines(before, after);
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
            let line = change.value().trim_end_matches(['\n', '\r']);
            let line = format!("{number:>5} {} {}", change.tag(), escape::line(line));
            let line = match change.tag() {
                ChangeTag::Insert => terminal.paint(Paint::Added, &line),
                ChangeTag::Delete => terminal.paint(Paint::Removed, &line),
                ChangeTag::Equal => line,
            };
            let _ = writeln!(text, "{line}");
        }
    }
    if shown > MOST_LINES {
        let _ = writeln!(text, "      … {} more lines", shown - MOST_LINES);
    }
    text
}
