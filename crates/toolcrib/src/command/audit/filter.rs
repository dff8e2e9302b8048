//! Which calls of the record the command line asks for.

use jiff::Timestamp;
use toolcrib_core::{Door, ToolName};
use toolcrib_ledger::{CallFilter, CallOutcome, CallerFilter, RecordedDecision};

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
    let decision = args.decision.as_deref();
    Ok(CallFilter {
        since: time(&args.since)?,
        until: time(&args.until)?,
        tool: args.tool.as_deref().map(ToolName::from),
        actor: args.actor.clone(),
        outcome: CallOutcome::ALL.into_iter().find(|known| Some(known.as_str()) == outcome),
        text: args.text.clone(),
        session: args.session.clone(),
        caller: CallerFilter {
            door: args.door.as_deref().and_then(Door::parse),
            ..CallerFilter::default()
        },
        decision: RecordedDecision::ALL.into_iter().find(|it| Some(it.as_str()) == decision),
        changed_files: args.changed,
        ..CallFilter::default()
    })
}
