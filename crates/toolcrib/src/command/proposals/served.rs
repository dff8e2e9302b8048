//! `toolcrib proposals` with a server. The token says who answers, so no terminal is needed.

use std::io::IsTerminal;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolcrib_core::escape;
use toolcrib_serve::{PendingFields, ProposalFields, ReviewFields};

use super::view;
use crate::cli::{ProposalsArgs, ProposalsCommand};
use crate::command::plugin_name::bare;
use crate::command::remote::{ServerClient, path_part};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};

#[derive(Deserialize)]
struct PendingBody {
    pending: Box<RawValue>,
}

#[derive(Deserialize)]
struct ProposalsBody {
    proposals: Vec<ProposalFields>,
}

#[derive(Deserialize)]
struct ApprovedBody {
    tool: ApprovedTool,
}

#[derive(Deserialize)]
struct ApprovedTool {
    name: String,
    version: String,
    path: Option<String>,
}

#[derive(Deserialize)]
struct RejectedBody {
    tool: RejectedTool,
}

#[derive(Deserialize)]
struct RejectedTool {
    name: String,
}

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    args: &ProposalsArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        ProposalsCommand::List { all: true, json } => {
            let ProposalsBody { mut proposals } = client.get("/api/proposals?limit=1000")?;
            // A server lists the newest first.
            proposals.reverse();
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(proposals).to_string());
                }
                Format::Text => view::print_all(&proposals),
            }
            Ok(Exit::Done)
        }
        ProposalsCommand::List { all: false, json } => {
            let PendingBody { pending } = client.get("/api/tools/pending")?;
            match Format::from(*json) {
                Format::Json => {
                    print_json(pending.get());
                }
                Format::Text => {
                    let pending: Vec<PendingFields> = serde_json::from_str(pending.get())?;
                    view::print_pending(&pending);
                }
            }
            Ok(Exit::Done)
        }
        ProposalsCommand::Show { tool, json } => {
            let review: ReviewFields = client.get(&shown_at(bare(tool)))?;
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(review).to_string());
                }
                Format::Text => view::print_review(&review),
            }
            Ok(Exit::Done)
        }
        ProposalsCommand::Approve { tool, hash } => {
            approve(client, terminal, bare(tool), hash.as_deref())
        }
        ProposalsCommand::Reject { tool, words } => {
            let path = format!("/api/tools/reject/{}", path_part(bare(tool)));
            let RejectedBody { tool } = client.post(&path, &json!({"reason": words.join(" ")}))?;
            print_lines(&[format!("Rejected: {}", escape::line(&tool.name))]);
            Ok(Exit::Done)
        }
    }
}

/// Approves a proposal that was read: before, with its hash, or now, at this terminal.
fn approve(
    client: &ServerClient,
    terminal: Terminal,
    tool: &str,
    hash: Option<&str>,
) -> Result<Exit, CliError> {
    let (id, hash) = if let Some(hash) = hash {
        (tool.to_owned(), hash.to_owned())
    } else {
        let review: ReviewFields = client.get(&shown_at(tool))?;
        if !std::io::stdin().is_terminal() {
            let message = "nobody has read the proposal, and there is no terminal to show it on";
            let hint = format!(
                "`toolcrib proposals show {}` shows it, and --hash says that it was read",
                escape::line(tool)
            );
            terminal.fail(message, Some(&hint));
            return Ok(Exit::Failed);
        }
        if review.proposal.status == "pending" && !view::is_wanted_after_reading(&review)? {
            terminal.note("Not answered: the proposal still waits.");
            return Ok(Exit::NeedsApproval);
        }
        (review.proposal.id, review.proposal.hash)
    };
    let path = format!("/api/tools/approve/{}", path_part(&id));
    let ApprovedBody { tool } = client.post(&path, &json!({"hash": hash}))?;
    if tool.path.is_none() {
        terminal.warn("the tool is loaded, but its file was not written on the server");
    }
    view::print_approved(&tool.name, &tool.version, tool.path.as_deref());
    Ok(Exit::Done)
}

fn shown_at(tool: &str) -> String {
    format!("/api/tools/pending/{}", path_part(tool))
}
