//! A list of calls, as people are shown it.

use std::io::{self, IsTerminal};

use jiff::Timestamp;
use serde::Deserialize;
use toolcrib_core::{ToolName, escape};
use toolcrib_ledger::{CallOutcome, CallSummary};

use crate::command::call_history;
use crate::command::layout::fit_all;
use crate::command::short_id::ShortIds;
use crate::terminal::{Paint, Terminal, print_lines, width};

/// The most bytes of arguments in one line of `search`.
const SEARCH_ARGS_BYTES: usize = 60;

/// A call, with what a list shows of it.
#[derive(Deserialize)]
pub(super) struct ListedCall {
    pub(super) call: String,
    pub(super) at: String,
    pub(super) tool: ToolName,
    pub(super) args: Option<String>,
    pub(super) outcome: String,
    pub(super) elapsed_ms: Option<f64>,
}

impl From<CallSummary> for ListedCall {
    fn from(summary: CallSummary) -> Self {
        let CallSummary { call, at, tool, args, outcome, end, .. } = summary;
        let (outcome, elapsed_ms) = (outcome.to_owned(), end.elapsed_ms);
        Self { call, at, tool, args, outcome, elapsed_ms }
    }
}

/// Prints a list of calls, newest first.
pub(super) fn print_calls(terminal: Terminal, calls: &[ListedCall], limit: usize) {
    if calls.is_empty() {
        print_lines(&["No matching calls.".to_owned()]);
        return;
    }
    let ids = ShortIds::of(calls.iter().map(|call| call.call.as_str()));
    let columns = CallColumns::of(calls);
    let lines: Vec<String> = calls
        .iter()
        .map(|call| search_line(terminal, ids.short(&call.call), call, &columns))
        .collect();
    print_lines(&fit_all(&lines, width()));
    if calls.len() == limit {
        terminal
            .note(&format!("these are the newest {limit} calls; for more, use --limit or --until"));
    }
}

/// How the columns of a list of calls are filled.
struct CallColumns {
    tool: usize,
    outcome: usize,
    /// The day whose calls are listed without their date. Programs get whole times.
    today: Option<Timestamp>,
}

impl CallColumns {
    /// Returns columns that leave a person as much room for the arguments as there is.
    fn of(calls: &[ListedCall]) -> Self {
        if !io::stdout().is_terminal() {
            return Self { tool: 28, outcome: 14, today: None };
        }
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
        Self {
            tool: widest(&mut calls.iter().map(|call| call.tool.as_str().len())),
            outcome: widest(&mut calls.iter().map(|call| call.outcome.len())),
            today: Some(Timestamp::now()),
        }
    }

    fn time(&self, at: &str) -> String {
        let Ok(at) = at.parse::<Timestamp>() else { return escape::line(at).into_owned() };
        match self.today {
            Some(now) if day_of(at) == day_of(now) => at.strftime("%H:%M:%SZ").to_string(),
            Some(_) => at.strftime("%m-%d %H:%MZ").to_string(),
            None => format!("{at:.0}"),
        }
    }
}

fn day_of(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

fn search_line(terminal: Terminal, id: &str, call: &ListedCall, columns: &CallColumns) -> String {
    let took = call.elapsed_ms;
    let known = CallOutcome::ALL.into_iter().find(|known| known.as_str() == call.outcome);
    let paint = known.map_or(Paint::Dim, call_history::colour);
    let args = escape::line(call.args.as_deref().unwrap_or_default()).into_owned();
    let cut = args.floor_char_boundary(SEARCH_ARGS_BYTES);
    let CallColumns { tool: tool_width, outcome: outcome_width, .. } = columns;
    let shown = format!("{:<outcome_width$}", escape::line(&call.outcome));
    format!(
        "{}  {}  {:<tool_width$}  {}  {:>9}  {}",
        escape::line(id),
        columns.time(&call.at),
        escape::line(call.tool.as_str()),
        terminal.paint(paint, &shown),
        took.map_or_else(|| "-".to_owned(), |took| format!("{took:.1} ms")),
        &args[..cut]
    )
}
