//! `toolcrib stats --window`: how all tools did in a window of time that ends now, as the page shows it.

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::escape;
use toolcrib_ledger::TimeWindow;
use toolcrib_serve::{RecordedOverview, Statistics};

use super::columns::shorten;
use crate::command::layout::fit_all;
use crate::command::remote::ServerClient;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Paint, Terminal, print_json, print_lines, width};
use crate::wiring::StateAccess;

/// How all tools did in a window.
#[derive(Deserialize)]
struct WindowBody {
    /// When the window ends.
    at: String,
    tools: Vec<Value>,
}

#[derive(Deserialize)]
struct WindowRow {
    tool: String,
    calls: u64,
    failed_percent: Option<f64>,
    refused: u64,
    declined: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    last_error: Option<WindowError>,
    health: WindowHealth,
}

#[derive(Deserialize)]
struct WindowError {
    at: String,
    message: String,
}

#[derive(Deserialize)]
struct WindowHealth {
    state: String,
    because: Vec<String>,
}

/// Shows the figures of the state folder.
pub(super) fn show(
    access: &StateAccess,
    terminal: Terminal,
    window: TimeWindow,
    format: Format,
) -> Result<Exit, CliError> {
    let overview = access.reports().overview(window);
    let overview = overview.map_err(|err| CliError::usage(err.message()))?;
    print(terminal, window, format, &WindowBody::of(&overview))
}

/// Shows the figures of a server.
pub(super) fn show_served(
    client: &ServerClient,
    terminal: Terminal,
    window: TimeWindow,
    format: Format,
) -> Result<Exit, CliError> {
    let body = client.get(&format!("/api/overview?window={}", window.as_str()))?;
    print(terminal, window, format, &body)
}

impl WindowBody {
    fn of(overview: &RecordedOverview) -> Self {
        let RecordedOverview { activity, unwell } = overview;
        let row = |it| {
            let mut row = json!(it);
            let health = unwell.iter().find(|(tool, _)| row["tool"] == tool.as_str());
            row["health"] = match health {
                Some((_, health)) => json!(health),
                None => json!({"state": "ok", "because": []}),
            };
            row
        };
        Self { at: activity.at.to_string(), tools: activity.tools.iter().map(row).collect() }
    }
}

fn print(
    terminal: Terminal,
    window: TimeWindow,
    format: Format,
    body: &WindowBody,
) -> Result<Exit, CliError> {
    let WindowBody { at, tools } = body;
    let mut rows = Vec::new();
    let mut shown = Vec::new();
    for tool in tools {
        let row = WindowRow::deserialize(tool)?;
        if row.calls + row.refused + row.declined > 0 || row.health.state != "ok" {
            rows.push(row);
            shown.push(tool);
        }
    }
    let window = window.as_str();
    if format == Format::Json {
        print_json(&json!({"ok": true, "at": at, "window": window, "tools": shown}).to_string());
    } else if rows.is_empty() {
        print_lines(&[format!("No tool was called in the last {window}.")]);
    } else {
        print_lines(&fit_all(&table(terminal, &rows), width()));
    }
    Ok(Exit::Done)
}

fn table(terminal: Terminal, rows: &[WindowRow]) -> Vec<String> {
    let names = rows.iter().map(|row| row.tool.chars().count());
    let width = names.max().unwrap_or_default().clamp(4, 40);
    let heading = format!(
        "{:<width$} {:>9} {:>7} {:>8} {:>10} {:>10}  {:<12}  {}",
        "tool", "calls", "errors", "refused", "p50", "p95", "health", "last error"
    );
    let mut lines = vec![terminal.paint(Paint::Strong, &heading)];
    for row in rows {
        let percent = row.failed_percent.map_or("-".to_owned(), |it| format!("{it:.1}%"));
        let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.1} ms"));
        let paint = match row.health.state.as_str() {
            "ok" => Paint::Good,
            "disabled" => Paint::Dim,
            _ => Paint::Bad,
        };
        let health = format!("{:<12}", escape::line(&row.health.state));
        let last = row.last_error.as_ref().map(|last| format!("{}  {}", last.at, last.message));
        let said: Vec<String> = row.health.because.iter().cloned().chain(last).collect();
        lines.push(format!(
            "{:<width$} {:>9} {percent:>7} {:>8} {:>10} {:>10}  {}  {}",
            escape::line(&row.tool),
            row.calls,
            row.refused + row.declined,
            ms(row.p50_ms),
            ms(row.p95_ms),
            terminal.paint(paint, &health),
            shorten(&said.join("; ")),
        ));
    }
    lines
}
