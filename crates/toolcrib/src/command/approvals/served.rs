//! `toolcrib approvals` with a server. The token says who answers, so no terminal is needed.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolcrib_core::approval::ApprovalStatus;
use toolcrib_core::escape;
use toolcrib_runtime::ApprovalError;
use toolcrib_serve::PlannedEdit;

use super::explanation::explain;
use super::view::{APPROVALS, ApprovalView, candidate, print_list, what_follows};
use crate::cli::{ApprovalsArgs, ApprovalsCommand};
use crate::command::remote::{ServerClient, ServerReply, path_part};
use crate::command::short_id;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};

#[derive(Deserialize)]
struct ApprovalsBody {
    approvals: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ApprovalBody {
    approval: ApprovalView,
    changed: Vec<String>,
    edits: Vec<PlannedEdit>,
}

#[derive(Deserialize)]
struct ClosedBody {
    status: String,
}

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    args: &ApprovalsArgs,
) -> Result<Exit, CliError> {
    let given = match &args.command {
        ApprovalsCommand::List { all, json } => {
            let query = if *all { "?status=all" } else { "" };
            return list(client, query, Format::from(*json));
        }
        ApprovalsCommand::Show { id, .. }
        | ApprovalsCommand::Approve { id, .. }
        | ApprovalsCommand::Deny { id, .. } => id,
    };
    let all: ApprovalsBody = client.get("/api/approvals?status=all")?;
    let candidates = views(&all)?.into_iter().map(|it| {
        let args = it.pending.args.to_string();
        candidate(it.pending, &args)
    });
    let found = match short_id::find(APPROVALS, given, candidates) {
        Ok(found) => found,
        Err(err) => return Ok(err.tell(terminal)),
    };
    let path = format!("/api/approvals/{}", path_part(&found.id));
    match &args.command {
        ApprovalsCommand::List { .. } => Ok(Exit::Done),
        ApprovalsCommand::Show { json, .. } => {
            let ApprovalBody { approval, changed, edits } = client.get(&path)?;
            match Format::from(*json) {
                Format::Json => {
                    print_json(&approval.to_json_with(&changed).to_string());
                }
                Format::Text => approval.print(terminal, &changed, &edits),
            }
            Ok(Exit::Done)
        }
        ApprovalsCommand::Approve { json, .. } => {
            let reply = client.post_for_reply(&path, &json!({"decision": "approve"}), None)?;
            answered(client, terminal, &found.id, reply, |reply| {
                if *json {
                    print_json(&String::from_utf8_lossy(&reply.body));
                } else {
                    let pending = &found.item;
                    let follows = if pending.is_parked {
                        "runs on the server".to_owned()
                    } else {
                        what_follows(pending, None)
                    };
                    let text = format!("Approved: {} {follows}.", found.id);
                    print_lines(&[escape::line(&text).into_owned()]);
                    let call = escape::line(pending.call_id());
                    terminal.note(&format!("`toolcrib audit show {call}` shows what it did"));
                }
            })
        }
        ApprovalsCommand::Deny { words, .. } => {
            let body = json!({"decision": "deny", "words": words.join(" ")});
            let reply = client.post_for_reply(&path, &body, None)?;
            answered(client, terminal, &found.id, reply, |_| {
                let text = format!("Denied: {} of {}", found.id, found.item.tool);
                print_lines(&[escape::line(&text).into_owned()]);
            })
        }
    }
}

fn list(client: &ServerClient, query: &str, format: Format) -> Result<Exit, CliError> {
    let body: ApprovalsBody = client.get(&format!("/api/approvals{query}"))?;
    match format {
        Format::Json => {
            let all: Vec<&str> = body.approvals.iter().map(|it| it.get()).collect();
            print_json(&format!("[{}]", all.join(",")));
        }
        // The server has removed the secrets.
        Format::Text => print_list(&views(&body)?, Timestamp::now(), str::to_owned),
    }
    Ok(Exit::Done)
}

fn views(body: &ApprovalsBody) -> Result<Vec<ApprovalView>, CliError> {
    body.approvals.iter().map(|it| Ok(serde_json::from_str(it.get())?)).collect()
}

/// Tells what became of an answer, in the words that a terminal on the server's machine has.
fn answered(
    client: &ServerClient,
    terminal: Terminal,
    id: &str,
    reply: ServerReply,
    tell: impl FnOnce(&ServerReply),
) -> Result<Exit, CliError> {
    let err = match reply.refusal().as_ref().map(|(code, _)| code.as_str()) {
        None => {
            tell(&client.done(reply)?);
            return Ok(Exit::Done);
        }
        Some("own_call") => ApprovalError::OwnCall,
        Some("approval_not_found") => ApprovalError::NotFound,
        Some("already_answered") => match closed(&reply) {
            Some(status) => ApprovalError::Closed(status),
            None => return Err(client.refused(&reply)),
        },
        Some(_) => return Err(client.refused(&reply)),
    };
    explain(terminal, id, err)
}

fn closed(reply: &ServerReply) -> Option<ApprovalStatus> {
    let ClosedBody { status } = reply.parse().ok()?;
    let all = [
        ApprovalStatus::Pending,
        ApprovalStatus::Approved,
        ApprovalStatus::Denied,
        ApprovalStatus::TakenUp,
        ApprovalStatus::Expired,
        ApprovalStatus::Revoked,
    ];
    all.into_iter().find(|known| known.as_str() == status)
}
