//! `toolcrib call` with a server: the arguments are read here, and the call is made there.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::catalogue::Failure;
use toolcrib_core::{CallId, ErrorKind, ToolError, ToolName, Toolset};
use toolcrib_runtime::failure_reply;
use toolcrib_serve::{CommandPlace, FullError, FullOutcome};

use super::arguments::arguments;
use super::live_output::OutputShown;
use super::remote::{ServerClient, ServerReply, execute_path, only_local, toolset};
use super::render;
use crate::cli::CallArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    args: &CallArgs,
) -> Result<Exit, CliError> {
    if args.dry_run {
        let hint = "`toolcrib call` without --dry-run makes the call, which policy decides there";
        return Err(only_local("--dry-run", hint));
    }
    let toolset = toolset(client, terminal)?;
    let asked = ToolName::from(args.tool.as_deref().unwrap_or_default());
    let found = toolset.find(&asked).map(|offer| offer.full_name().clone());
    let parsed = found.and_then(|tool| Ok((arguments(&args.args, &toolset, &tool)?, tool)));
    let (parsed, tool) = match parsed {
        Ok(parsed) => parsed,
        // Nothing is sent that the server could not read.
        Err(err) => return Ok(show(terminal, args, &toolset, &unsent(&toolset, &asked, &err))),
    };
    if !parsed.is_object() {
        let err = ToolError::new(ErrorKind::BadArgs, "invalid arguments: they are no JSON object");
        return Ok(show(terminal, args, &toolset, &unsent(&toolset, &tool, &err)));
    }
    let mut prefer = "return=representation".to_owned();
    if let Some(seconds) = args.wait {
        prefer = format!("{prefer}, wait={seconds}");
    }
    let body = json!({ "args": parsed });
    let reply = client.post_for_reply(&execute_path(&tool), &body, Some(&prefer))?;
    match outcome_in(&reply) {
        Some(outcome) => Ok(show(terminal, args, &toolset, &outcome)),
        None => refused(client, terminal, args, &reply),
    }
}

/// Returns the outcome that a reply has, if it is no error of the server itself.
fn outcome_in(reply: &ServerReply) -> Option<FullOutcome> {
    serde_json::from_slice(&reply.body).ok()
}

/// Says why the server has no outcome. A person's answer counts as one.
fn refused(
    client: &ServerClient,
    terminal: Terminal,
    args: &CallArgs,
    reply: &ServerReply,
) -> Result<Exit, CliError> {
    let Some((code, message)) = reply.refusal() else { return Err(client.refused(reply)) };
    let exit = match code.as_str() {
        "declined" => Exit::Refused,
        "approval_required" | "approval_expired" => Exit::NeedsApproval,
        _ => return Err(client.refused(reply)),
    };
    if args.json {
        print_json(&String::from_utf8_lossy(&reply.body));
    } else {
        terminal.fail(&message, None);
    }
    Ok(exit)
}

/// Returns the outcome of a call that is not sent, in the words of its catalogue.
fn unsent(toolset: &Toolset, tool: &ToolName, err: &ToolError) -> FullOutcome {
    let (name, elapsed) = (tool.last_part(), Duration::ZERO);
    let failure = Failure { tool: name, args: &Value::Null, error: err, elapsed };
    let reply = failure_reply(toolset.catalogue(tool), &failure);
    FullOutcome {
        call: CallId(String::new()),
        tool: tool.clone(),
        text: reply.to_string(),
        error: Some(FullError::from(err)),
        decision: None,
        grant: None,
        changes: Vec::new(),
        touched: None,
        place: CommandPlace::default(),
        elapsed_us: 0,
        has_failed_command: false,
        unrecorded: None,
    }
}

fn show(terminal: Terminal, args: &CallArgs, toolset: &Toolset, outcome: &FullOutcome) -> Exit {
    if args.json {
        print_json(&outcome.text);
    } else {
        let catalogue = toolset.catalogue(&outcome.tool);
        render::outcome(terminal, catalogue, outcome, OutputShown::NotYet);
    }
    Exit::of_full(outcome)
}
