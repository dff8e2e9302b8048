//! `toolcrib call` with a server: the arguments are read here, and the call is made there.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::catalogue::Failure;
use toolcrib_core::{CallId, ErrorKind, ToolError, ToolName, Toolset};
use toolcrib_runtime::failure_reply;
use toolcrib_serve::{CommandPlace, FullError, FullOutcome, PlannedCall};

use super::arguments::arguments;
use super::live_output::OutputShown;
use super::remote::{ServerClient, ServerReply, execute_path, toolset};
use super::render::{self, PriorApproval};
use crate::cli::CallArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};

/// Asks for the whole outcome of a call.
pub(super) const FULL_OUTCOME: &str = "return=representation";

/// The calls that a process makes on a server.
pub(super) struct RemoteCalls {
    pub(super) client: ServerClient,
    pub(super) toolset: Toolset,
}

/// What a server replied about a call.
pub(super) enum RemoteReply {
    /// The call ended, or could not be sent.
    Ended(Box<FullOutcome>),
    /// The server replied something else.
    Other(ServerReply),
}

impl RemoteCalls {
    /// Returns what makes calls of the tools that a server offers.
    pub(super) fn new(client: ServerClient, terminal: Terminal) -> Result<Self, CliError> {
        let toolset = toolset(&client, terminal)?;
        Ok(Self { client, toolset })
    }

    /// Makes a call, with what the client prefers. `more` has what the body has beside the arguments.
    pub(super) fn make(
        &self,
        asked: &ToolName,
        parse: impl FnOnce(&ToolName) -> Result<Value, ToolError>,
        prefer: &str,
        more: &[(&str, Value)],
    ) -> Result<RemoteReply, CliError> {
        // Nothing is sent that the server could not read.
        let unsent = |tool: &ToolName, err: &ToolError| {
            Ok(RemoteReply::Ended(Box::new(unsent(&self.toolset, tool, err))))
        };
        let tool = match self.toolset.find(asked) {
            Ok(offer) => offer.full_name(),
            // Without a tool, the arguments say what is wrong.
            Err(err) if asked.is_empty() => {
                return unsent(asked, &parse(asked).err().unwrap_or(err));
            }
            Err(err) => return unsent(asked, &err),
        };
        let args = match parse(tool) {
            Ok(args) if args.is_object() => args,
            Ok(_) => {
                let message = "invalid arguments: they are no JSON object";
                return unsent(tool, &ToolError::new(ErrorKind::BadArgs, message));
            }
            Err(err) => return unsent(tool, &err),
        };
        let mut body = json!({ "args": args });
        for (name, value) in more {
            body[*name] = value.clone();
        }
        let reply = self.client.post_for_reply(&execute_path(tool), &body, Some(prefer))?;
        Ok(match outcome_in(&reply) {
            Some(outcome) => RemoteReply::Ended(Box::new(outcome)),
            None => RemoteReply::Other(reply),
        })
    }
}

pub(super) fn run(
    client: ServerClient,
    terminal: Terminal,
    args: &CallArgs,
) -> Result<Exit, CliError> {
    let calls = RemoteCalls::new(client, terminal)?;
    let asked = ToolName::from(args.tool.as_deref().unwrap_or_default());
    let parse = |tool: &ToolName| arguments(&args.args, &calls.toolset, tool);
    let mut prefer = FULL_OUTCOME.to_owned();
    if let Some(seconds) = args.wait {
        prefer = format!("{prefer}, wait={seconds}");
    }
    let dry_run = [("dry_run", Value::Bool(true))];
    let more = if args.dry_run { &dry_run[..] } else { &[] };
    match calls.make(&asked, parse, &prefer, more)? {
        RemoteReply::Ended(outcome) => Ok(show(terminal, args, &calls.toolset, &outcome)),
        RemoteReply::Other(reply) if args.dry_run => {
            let planned: PlannedCall = calls.client.done(reply)?.parse()?;
            let approval = PriorApproval::NotGiven;
            Ok(render::planned(terminal, &planned, approval, args.json.into()))
        }
        RemoteReply::Other(reply) => refused(&calls.client, terminal, args, &reply),
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
