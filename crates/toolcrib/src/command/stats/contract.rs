//! Reports in the contract's form, and what is told of figures that were cleared.

use serde_json::{Value, json};
use toolcrib_core::escape;
use toolcrib_serve::{ReportError, ReportKind};

use super::named_tool::{ReportForm, tell};
use crate::cli::{StatsArgs, StatsCommand, StatsOf};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json, print_lines};

/// Returns the report that is asked for in the contract's form, if one is.
pub(super) fn wanted(args: &StatsArgs) -> Option<(ReportKind, &StatsOf)> {
    match &args.command {
        Some(StatsCommand::Errors(of)) if of.json => Some((ReportKind::Errors, of)),
        Some(StatsCommand::Regression(of)) if of.json => Some((ReportKind::Regression, of)),
        Some(StatsCommand::Resources(of)) if of.json => Some((ReportKind::Resources, of)),
        _ => None,
    }
}

/// Prints why there is no report, in the contract's form.
pub(super) fn fail_in_json(err: ReportError) -> Result<Exit, CliError> {
    let exit = match err {
        ReportError::NotFound(_) => Exit::NoTool,
        ReportError::NeverCalled(_) | ReportError::Ambiguous(_) => Exit::Failed,
        ReportError::Unreadable(message) => return Err(CliError::usage(message)),
    };
    let reply = json!({"ok": false, "error": err.code(), "message": err.message()});
    print_json(&reply.to_string());
    Ok(exit)
}

/// Prints what was cleared.
pub(super) fn show_cleared(
    terminal: Terminal,
    kind: ReportKind,
    tool: &str,
    cleared: Result<Value, ReportError>,
    form: ReportForm,
) -> Result<Exit, CliError> {
    match (cleared, form) {
        (Ok(reply), ReportForm::Json) => {
            print_json(&reply.to_string());
        }
        (Ok(reply), ReportForm::Text) => {
            let name = escape::line(reply["tool"].as_str().unwrap_or(tool)).into_owned();
            print_lines(&[if kind == ReportKind::Regression {
                format!("The recent calls of {name} are its new baseline.")
            } else {
                format!("Cleared the {} of {name}; counting starts again from zero.", kind.as_str())
            }]);
        }
        (Err(err), ReportForm::Json) => return fail_in_json(err),
        (Err(err), ReportForm::Text) => return Ok(tell(terminal, &err)),
    }
    Ok(Exit::Done)
}
