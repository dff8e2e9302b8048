//! The tool that a person names to statistics.

use toolcrib_core::ToolName;
use toolcrib_ledger::ToolStats;
use toolcrib_serve::ReportError;

use crate::exit::Exit;
use crate::terminal::Terminal;
use crate::wiring;

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportForm {
    /// For people.
    Text,
    /// As the contract's JSON.
    Json,
}

/// Finds a tool by `catalogue/tool` or by `tool`. Without exactly one, prints why and returns how the process ends.
pub(super) fn find_tool<'t>(
    terminal: Terminal,
    tools: &'t [(ToolName, ToolStats)],
    wanted: &str,
) -> Result<&'t (ToolName, ToolStats), Exit> {
    wiring::find_tool(tools, wanted).map_err(|err| tell(terminal, &err))
}

/// Prints why a tool was not found. Returns how the process ends.
pub(super) fn tell(terminal: Terminal, err: &ReportError) -> Exit {
    let hint = "`toolcrib stats` lists the tools that were called";
    let hint = (!matches!(err, ReportError::Ambiguous(_))).then_some(hint);
    terminal.fail(err.message(), hint);
    match err {
        ReportError::NotFound(_) => Exit::NoTool,
        ReportError::NeverCalled(_) | ReportError::Ambiguous(_) | ReportError::Unreadable(_) => {
            Exit::Failed
        }
    }
}
