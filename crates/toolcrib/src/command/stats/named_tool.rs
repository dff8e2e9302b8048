//! The tool that a person or a program names to statistics.

use serde_json::json;
use toolcrib_core::{ToolName, escape};
use toolcrib_ledger::ToolFigures;
use toolcrib_tools::CATALOGUES;

use crate::cli::StatsOf;
use crate::command::codes::is_described;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportForm {
    /// For people.
    Text,
    /// As the contract's JSON.
    Json,
}

impl StatsOf {
    pub(super) fn form(&self) -> ReportForm {
        if self.json { ReportForm::Json } else { ReportForm::Text }
    }
}

/// Finds a tool by `catalogue/tool` or by `tool`. Without exactly one, prints why and returns how the process ends.
pub(super) fn find_tool<'t>(
    terminal: Terminal,
    tools: &'t [(ToolName, ToolFigures)],
    wanted: &str,
    form: ReportForm,
) -> Result<&'t (ToolName, ToolFigures), Exit> {
    let found: Vec<_> = match tools.iter().find(|it| it.0 == wanted) {
        Some(it) => vec![it],
        None => tools.iter().filter(|it| it.0.last_part() == wanted).collect(),
    };
    // A report has some tools by their bare names, so a bare name means one of those first.
    let described: Vec<_> = found.iter().copied().filter(|it| is_described(&it.0)).collect();
    match (&found[..], &described[..]) {
        ([it], _) | (_, [it]) => Ok(*it),
        ([], _) => {
            let exists = CATALOGUES.iter().any(|catalogue| {
                let name = |tool: &str| ToolName::new(catalogue.name, tool);
                let mut tools = catalogue.tools.iter().map(|tool| tool.declaration().name);
                tools.any(|tool| tool == wanted || name(tool) == wanted)
            });
            let wanted = escape::line(wanted);
            if form == ReportForm::Json {
                let state = if exists { "was never called" } else { "not found" };
                let message = format!("Tool '{wanted}' {state}");
                let reply = json!({"ok": false, "error": "tool_not_found", "message": message});
                print_json(&reply.to_string());
            } else {
                let state = if exists { "was never called" } else { "does not exist" };
                terminal.fail(
                    &format!("tool `{wanted}` {state}"),
                    Some("`toolcrib stats` lists the tools that were called"),
                );
            }
            Err(if exists { Exit::Failed } else { Exit::NoTool })
        }
        _ => {
            let names: Vec<_> = found.iter().map(|it| it.0.as_str()).collect();
            let message = format!("several tools are called `{}`", escape::line(wanted));
            let hint = format!("name one of them: {}", names.join(", "));
            if form == ReportForm::Json {
                let message = format!("{message}; {hint}");
                let reply = json!({"ok": false, "error": "ambiguous_tool", "message": message});
                print_json(&reply.to_string());
            } else {
                terminal.fail(&message, Some(&hint));
            }
            Err(Exit::Failed)
        }
    }
}
