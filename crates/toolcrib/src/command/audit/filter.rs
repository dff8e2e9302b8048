//! Which calls of the record the command line asks for.

use jiff::Timestamp;
use toolcrib_core::ToolName;
use toolcrib_ledger::{CallFilter, CallOutcome};

use crate::cli::CallFilterArgs;
use crate::command::when::parse_time;
use crate::error::CliError;

/// Returns the filter that takes these calls.
pub(super) fn call_filter(args: &CallFilterArgs) -> Result<CallFilter, CliError> {
    let now = Timestamp::now();
    let parse =
        |text: &String| parse_time(text, now).map_err(|err| CliError::usage(err.to_string()));
    let time = |text: &Option<String>| text.as_ref().map(parse).transpose();
    let outcome = args.outcome.as_deref();
    Ok(CallFilter {
        since: time(&args.since)?,
        until: time(&args.until)?,
        tool: args.tool.as_deref().map(ToolName::from),
        actor: args.actor.clone(),
        outcome: CallOutcome::ALL.into_iter().find(|known| Some(known.as_str()) == outcome),
        text: args.text.clone(),
        call: None,
    })
}
