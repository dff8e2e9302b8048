//! Shows a call's outcome to a person: what happened, where, and the difference it made.

use std::fmt::Write;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toolcrib_core::catalogue::{RenderedError, Rendering};
use toolcrib_core::change::UndoLog;
use toolcrib_core::{Catalogue, Change, ChangeKind, Outcome, ToolName, Verdict, counted, escape};
use toolcrib_ledger::{Journal, Redactor};
use toolcrib_runtime::Preview;

use super::command_end::{CommandEnd, CommandPlace};
use super::live_output::OutputShown;
use super::rows::rows;
use super::search::grouped;
use super::short_id::hinted;
use crate::terminal::{Paint, Terminal, print};
use crate::wiring::Crib;

/// The most lines of one difference that are shown.
const MOST_DIFF_LINES: usize = 200;

/// The most bytes of one line of a difference that are shown.
const MOST_LINE_BYTES: usize = 1000;

/// The words that mark a part of a difference that is not shown.
pub(super) const LEFT_OUT: &str = "left out";

/// The largest text whose difference is computed, in bytes.
const MOST_DIFF_BYTES: usize = 1 << 20;

/// Prints the outcome of a call.
pub(super) fn outcome(terminal: Terminal, crib: &Crib, outcome: &Outcome, shown: OutputShown) {
    let toolset = crib.toolset().ok();
    let catalogue = toolset.and_then(|toolset| toolset.catalogue(&outcome.tool));
    if let Some(error) = &outcome.error {
        if let Some(exit_code) = error.context.get("exit_code").and_then(Value::as_i64) {
            // The first line says the exit code, as the line at the end does.
            let stderr = error.message.split_once('\n').map_or("", |it| it.1);
            let end = CommandEnd { exit_code, stdout: "", stderr, notes: Vec::new() };
            return end.print(terminal, outcome, &command_place(crib, outcome), shown);
        }
        // What a command printed before its time was up.
        let streams = if shown == OutputShown::NotYet { &["stdout", "stderr"][..] } else { &[] };
        for stream in streams.iter().copied() {
            let printed = error.context.get(stream).and_then(Value::as_str);
            if let Some(printed) = printed.filter(|printed| !printed.is_empty()) {
                print(&content(printed));
            }
        }
        failure(terminal, catalogue, &outcome.reply);
        return;
    }
    let rendering = catalogue
        .map_or(Rendering::Fields { data: &outcome.reply, exit_code: None }, |catalogue| {
            (catalogue.render)(&outcome.reply)
        });
    let end = match rendering {
        Rendering::Fields { data, exit_code: Some(_) } => CommandEnd::of(data),
        Rendering::Message(_) | Rendering::Content { .. } => CommandEnd::of_text(&outcome.reply),
        Rendering::Fields { .. } => None,
    };
    if let Some(end) = end {
        return end.print(terminal, outcome, &command_place(crib, outcome), shown);
    }
    let mut text = success(terminal, &outcome.tool, rendering);
    if let Rendering::Content { is_cut, .. } = rendering {
        // Nothing else is printed among the text that the call asked for.
        print(&text);
        if is_cut {
            terminal.note("(cut: there is more; request another range of lines)");
        }
        return;
    }
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
        if let Some(grant) = outcome.decision.as_ref().and_then(|it| it.grant.as_deref()) {
            let _ = writeln!(text, "  Allowed by grant: {}", hinted(grant));
        }
        if !outcome.changes.is_empty() {
            let undo = format!("  Undo: toolcrib undo {}", hinted(&outcome.call.0));
            let _ = writeln!(text, "{}", terminal.paint(Paint::Dim, &undo));
        }
    }
    print(&text);
}

/// Returns where the command of a call ran, and whether the call can be undone.
fn command_place(crib: &Crib, outcome: &Outcome) -> CommandPlace {
    let root = crib.workspace().root().map(|root| root.path().display().to_string());
    let mut own = Vec::new();
    if outcome.touched.is_some()
        && let Ok((changes, _)) = crib.journal.history()
    {
        own.extend(changes.into_iter().filter(|change| change.call == outcome.call));
    }
    let deleted = own.iter().filter(|it| it.before.is_some() && it.after.is_none());
    CommandPlace {
        root: root.unwrap_or_default(),
        deleted: deleted.map(Change::place).collect(),
        has_copies: !own.is_empty(),
    }
}

/// Returns the reply of a successful call as text.
fn success(terminal: Terminal, tool: &ToolName, rendering: Rendering<'_>) -> String {
    match rendering {
        Rendering::Content { text, .. } => content(text),
        Rendering::Message(text) => message(terminal, text),
        Rendering::Fields { data, exit_code } => fields(terminal, tool, data, exit_code),
    }
}

/// Prints why a call failed, in its catalogue's words.
fn failure(terminal: Terminal, catalogue: Option<&Catalogue>, reply: &Value) {
    let RenderedError { message, hint, suggestions } = catalogue.map_or_else(
        // A call of no known catalogue is answered in our own format.
        || RenderedError::at(reply, "/error/message", "/error/hint"),
        |catalogue| (catalogue.render_error)(reply),
    );
    terminal.fail(message, hint);
    for suggestion in suggestions.iter().filter_map(suggestion) {
        terminal.note(&suggestion);
    }
}

/// Returns the line that shows a passage of a file which the caller may have meant.
fn suggestion(suggestion: &Value) -> Option<String> {
    if let Some(line) = suggestion.as_str() {
        return Some(format!("       {line}"));
    }
    let line = suggestion["line"].as_u64()?;
    let near = suggestion["text"].as_str().unwrap_or_default();
    let similarity = suggestion["similarity"].as_str().unwrap_or_default();
    Some(format!("       line {line} ({similarity} alike): {near}"))
}

/// Returns the text that a call asked for, ending in one line end.
fn content(text: &str) -> String {
    format!("{}\n", escape::lines(text).trim_end_matches('\n'))
}

/// Returns a tool's own words behind a mark for success.
fn message(terminal: Terminal, text: &str) -> String {
    let mark = terminal.paint(Paint::Good, "✓");
    format!("{mark} {}\n", escape::lines(text).trim_end().replace('\n', "\n  "))
}

/// Returns the fields of a reply below the tool's name, behind a mark that tells whether the command
/// succeeded.
fn fields(terminal: Terminal, tool: &ToolName, data: &Value, exit_code: Option<i64>) -> String {
    let mark = match exit_code {
        None | Some(0) => terminal.paint(Paint::Good, "✓"),
        Some(_) => terminal.paint(Paint::Bad, "✗"),
    };
    let mut text = format!("{mark} {tool}");
    match data {
        Value::Object(fields) => {
            let is_at_least = fields.get("total_is_at_least") == Some(&Value::Bool(true));
            let is_shown = |key: &str| !["success", "total_is_at_least"].contains(&key);
            for (key, value) in fields.iter().filter(|(key, _)| is_shown(key)) {
                if let Some(rows) = value.as_array().and_then(|items| rows(items)) {
                    let none = if rows.is_empty() { " none" } else { "" };
                    let _ = write!(text, "\n  {}:{none}", escape::line(key));
                    for row in rows {
                        let _ = write!(text, "\n    {}", escape::line(&row));
                    }
                    continue;
                }
                let value = match value {
                    Value::Number(total) if is_at_least && key == "total_found" => {
                        format!("at least {}", grouped(total.as_u64().unwrap_or_default()))
                    }
                    Value::String(value) => value.clone(),
                    Value::Array(_) | Value::Object(_) => {
                        serde_json::to_string_pretty(value).unwrap_or_default()
                    }
                    other => other.to_string(),
                };
                let value = escape::lines(&value).replace('\n', "\n    ");
                let _ = write!(text, "\n  {}: {value}", escape::line(key));
            }
        }
        Value::Array(items) => {
            if items.is_empty() {
                text.push_str("\n  none");
            }
            let plain = || items.iter().map(ToString::to_string).collect();
            for row in rows(items).unwrap_or_else(plain) {
                let _ = write!(text, "\n  {}", escape::line(&row));
            }
        }
        other => {
            let _ = write!(text, "\n  {}", escape::json(&other.to_string()));
        }
    }
    text.push('\n');
    text
}

/// Returns the word for what a change did to a file.
pub(super) fn done(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Replaced => "changed",
        ChangeKind::Removed => "deleted",
        ChangeKind::MadeDirectory => "made",
        ChangeKind::RemovedDirectory => "removed",
    }
}

/// Whether `--yes` approves a call before anybody is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PriorApproval {
    Given,
    NotGiven,
}

/// Prints what a call would do, for `--dry-run`.
pub(super) fn preview(terminal: Terminal, preview: &Preview, approval: PriorApproval) {
    let verdict = match (preview.decision.verdict(), approval) {
        (Verdict::Allow, _) => terminal.paint(Paint::Good, "would run"),
        (Verdict::Ask, PriorApproval::Given) => {
            terminal.paint(Paint::Good, "would run, because --yes approves it")
        }
        (Verdict::Ask, PriorApproval::NotGiven) => {
            terminal.paint(Paint::Warn, "would ask a person")
        }
        (Verdict::Deny, _) => terminal.paint(Paint::Bad, "would be refused"),
    };
    let rule = escape::line(&preview.decision.rule);
    print(&format!("{} {verdict}: {rule}\n{}", preview.tool, edits(terminal, preview)));
}

/// Returns what a call would change, file by file.
pub(super) fn edits(terminal: Terminal, preview: &Preview) -> String {
    let mut text = String::new();
    for (edit, place) in preview.question.plan.edits.iter().zip(&preview.question.shown.files) {
        let _ = writeln!(text, "  Would change: {}", escape::line(place));
        let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
        text.push_str(&texts(terminal, before.unwrap_or_default(), after.unwrap_or_default()));
    }
    text
}

/// Returns the difference that a change made to a file. It is empty for a directory, for a new or removed
/// file, and for a change whose result is not known.
pub(super) fn difference(
    terminal: Terminal,
    journal: &Journal,
    redactor: &Redactor,
    change: &Change,
) -> String {
    // The result of a change is not always known.
    if change.kind.is_of_directory() || change.after.is_none() {
        return String::new();
    }
    let load = |hash: &str| journal.content(hash).ok();
    let before = match &change.before {
        Some(image) if image.size <= MOST_DIFF_BYTES as u64 => load(&image.sha256),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let path = toolcrib_host::root_path(&change.place());
    let after = match &change.after {
        // If the file was changed again, the later change holds a copy of this content.
        Some(image) if image.size <= MOST_DIFF_BYTES as u64 => std::fs::read(path)
            .ok()
            .filter(|bytes| toolcrib_ledger::hash_of(bytes) == image.sha256)
            .or_else(|| load(&image.sha256)),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    // The content of a new file needs no difference: the arguments of the call show it.
    if change.kind != ChangeKind::Replaced {
        return String::new();
    }
    let path = escape::line(&change.path);
    let (Some(before), Some(after)) = (before, after) else {
        return format!("  {path} (no copy of the old content, or too large to compare)\n");
    };
    if before == after {
        return format!("  {path} (content unchanged)\n");
    }
    let (Ok(before), Ok(after)) = (String::from_utf8(before), String::from_utf8(after)) else {
        return format!("  {path} (not text)\n");
    };
    let difference = texts(terminal, &redactor.clean(&before), &redactor.clean(&after));
    if difference.is_empty() {
        return format!("  {path} (differs only in redacted secrets)\n");
    }
    format!("  {path}{}", difference.replacen("  ", " ", 1))
}

/// Returns the difference of two texts, with three lines of context around each change.
pub(super) fn texts(terminal: Terminal, before: &str, after: &str) -> String {
    if before.len() + after.len() > 2 * MOST_DIFF_BYTES {
        return "  (difference left out: too large to show)\n".to_owned();
    }
    // Lines end at line feeds alone, so that a carriage return shows like any other character.
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
            if shown > MOST_DIFF_LINES {
                continue;
            }
            let number = change.new_index().or(change.old_index()).unwrap_or_default() + 1;
            let (line, end) = match change.value().strip_suffix('\n') {
                Some(line) => (line, ""),
                None => (change.value(), " (no newline at end)"),
            };
            // A carriage return at the end of a line matters only where the line changes.
            let line =
                if change.tag() == ChangeTag::Equal { line.trim_end_matches('\r') } else { line };
            let line = escape::line(line);
            let cut = line.floor_char_boundary(MOST_LINE_BYTES);
            let more = match line.len() - cut {
                0 => String::new(),
                more => format!(" [… {} {LEFT_OUT}]", counted(more as u64, "byte")),
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
    if shown > MOST_DIFF_LINES {
        let _ = writeln!(text, "      … {} more lines left out", shown - MOST_DIFF_LINES);
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use toolcrib_tools::CATALOGUES;

    use super::*;
    use crate::cli::Cli;

    fn terminal() -> Terminal {
        Terminal::new(&Cli::parse_from(["toolcrib", "--color", "never", "tour"]).global)
    }

    /// Returns what a person is shown of a reply, an error with its hint and its suggestions.
    fn shown(catalogue: &Catalogue, tool: &ToolName, reply: &Value) -> String {
        let RenderedError { message, hint, suggestions } = (catalogue.render_error)(reply);
        if message.is_empty() {
            return success(terminal(), tool, (catalogue.render)(reply));
        }
        let mut text = format!("error: {message}\n");
        if let Some(hint) = hint {
            let _ = writeln!(text, " hint: {hint}");
        }
        for suggestion in suggestions.iter().filter_map(suggestion) {
            let _ = writeln!(text, "{suggestion}");
        }
        text
    }

    #[test]
    fn replies_are_shown_as_these() {
        for catalogue in CATALOGUES {
            let mut all = String::new();
            for declaration in catalogue.tools.iter().map(|tool| tool.declaration()) {
                let tool = ToolName::new(catalogue.name, declaration.name);
                for example in declaration.examples {
                    let reply = serde_json::from_str(example.reply).unwrap();
                    let _ = writeln!(all, "# {tool}: {}", example.about);
                    let _ = writeln!(all, "{}", shown(catalogue, &tool, &reply));
                }
            }
            insta::assert_snapshot!(format!("replies_of_{}", catalogue.name), all);
        }
    }

    #[test]
    fn a_total_that_is_a_lower_bound_is_shown_as_one() {
        let shown =
            |reply: Value| fields(terminal(), &ToolName::new("clemini", "grep"), &reply, None);
        let text = shown(serde_json::json!({"total_found": 10_000, "total_is_at_least": true}));
        assert_eq!(text, "✓ clemini/grep\n  total_found: at least 10,000\n");
        let text = shown(serde_json::json!({"total_found": 10_000}));
        assert_eq!(text, "✓ clemini/grep\n  total_found: 10000\n");
    }

    #[test]
    fn differences_are_shown_as_these() {
        let all = [
            ("a line changed", "one\ntwo\nthree\n", "one\n2\nthree\n"),
            ("the last line end removed", "one\ntwo\n", "one\ntwo"),
            ("carriage returns", "a\r\nb\r\n", "a\nb\r\n"),
            ("a control character", "a\n", "a\u{1b}[31m\n"),
            ("nothing", "same\n", "same\n"),
        ]
        .map(|(about, before, after)| format!("# {about}\n{}", texts(terminal(), before, after)));
        insta::assert_snapshot!("differences", all.concat());
    }
}
