//! Shows a call's outcome to a person: what happened, where, and the difference it made.

use std::fmt::Write;

use serde_json::{Value, json};
use toolcrib_core::catalogue::{RenderedError, Rendering};
use toolcrib_core::{Catalogue, ChangeKind, ToolName, escape};
use toolcrib_serve::{FullOutcome, PlannedCall, ShownChange};

use super::command_end::CommandEnd;
use super::difference;
use super::live_output::OutputShown;
use super::rows::rows;
use super::search::grouped;
use super::short_id::hinted;
use crate::exit::Exit;
use crate::terminal::{Format, Paint, Terminal, print, print_json};

/// Prints the outcome of a call, in the words of its catalogue.
pub(super) fn outcome(
    terminal: Terminal,
    catalogue: Option<&Catalogue>,
    outcome: &FullOutcome,
    shown: OutputShown,
) {
    let reply = toolcrib_core::json::parse(outcome.text.as_bytes()).unwrap_or_default();
    if let Some(error) = &outcome.error {
        if let Some(exit_code) = error.context.get("exit_code").and_then(Value::as_i64) {
            // The first line says the exit code, as the line at the end does.
            let stderr = error.message.split_once('\n').map_or("", |it| it.1);
            let end = CommandEnd { exit_code, stdout: "", stderr, notes: Vec::new() };
            return end.print(terminal, outcome, shown);
        }
        // What a command printed before its time was up.
        let streams = if shown == OutputShown::NotYet { &["stdout", "stderr"][..] } else { &[] };
        for stream in streams.iter().copied() {
            let printed = error.context.get(stream).and_then(Value::as_str);
            if let Some(printed) = printed.filter(|printed| !printed.is_empty()) {
                print(&content(printed));
            }
        }
        failure(terminal, catalogue, &reply);
        return;
    }
    let rendering = catalogue
        .map_or(Rendering::Fields { data: &reply, exit_code: None }, |catalogue| {
            (catalogue.view.render)(&reply)
        });
    let end = match rendering {
        Rendering::Fields { data, exit_code: Some(_) } => CommandEnd::of(data),
        Rendering::Message(_) | Rendering::Content { .. } => CommandEnd::of_text(&reply),
        Rendering::Fields { .. } => None,
    };
    if let Some(end) = end {
        return end.print(terminal, outcome, shown);
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
        add_changes(&mut text, terminal, outcome);
    }
    print(&text);
}

/// Adds what a call changed, how long it took, and how to undo it.
fn add_changes(text: &mut String, terminal: Terminal, outcome: &FullOutcome) {
    for ShownChange { change, .. } in &outcome.changes {
        if !change.kind.is_of_directory() || outcome.changes.len() == 1 {
            let _ = writeln!(text, "  Location: {}", escape::line(&change.place()));
        }
    }
    let _ = writeln!(text, "  Time: {}ms", outcome.elapsed_us / 1000);
    for ShownChange { change, difference } in &outcome.changes {
        if let Some(found) = difference {
            text.push_str(&difference::show_change(terminal, change, found));
        }
    }
    if let Some(grant) = outcome.grant.as_deref() {
        let _ = writeln!(text, "  Allowed by grant: {}", escape::line(hinted(grant)));
    }
    if !outcome.changes.is_empty() {
        let undo = format!("  Undo: toolcrib undo {}", escape::line(hinted(&outcome.call.0)));
        let _ = writeln!(text, "{}", terminal.paint(Paint::Dim, &undo));
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
        |catalogue| (catalogue.view.render_error)(reply),
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
    let mut text = format!("{mark} {}", escape::line(tool.as_str()));
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

/// Prints what a call would do, for `--dry-run`. Returns success, because nothing was run.
pub(super) fn planned(
    terminal: Terminal,
    planned: &PlannedCall,
    approval: PriorApproval,
    format: Format,
) -> Exit {
    if format == Format::Json {
        let PlannedCall { tool, decision, rule, files_affected, .. } = planned;
        let reply = json!({
            "tool": tool,
            "dry_run": true,
            "decision": decision,
            "rule": rule,
            "answered": approval == PriorApproval::Given,
            "files_affected": files_affected,
        });
        print_json(&reply.to_string());
        return Exit::Done;
    }
    let verdict = match (planned.decision.as_str(), approval) {
        ("allow", _) => terminal.paint(Paint::Good, "would run"),
        ("ask", PriorApproval::Given) => {
            terminal.paint(Paint::Good, "would run, because --yes approves it")
        }
        ("ask", PriorApproval::NotGiven) => terminal.paint(Paint::Warn, "would ask a person"),
        _ => terminal.paint(Paint::Bad, "would be refused"),
    };
    let (tool, rule) = (escape::line(planned.tool.as_str()), escape::line(&planned.rule));
    let edits = difference::show_edits(terminal, &planned.edits);
    print(&format!("{tool} {verdict}: {rule}\n{edits}"));
    Exit::Done
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
        let RenderedError { message, hint, suggestions } = (catalogue.view.render_error)(reply);
        if message.is_empty() {
            return success(terminal(), tool, (catalogue.view.render)(reply));
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
}
