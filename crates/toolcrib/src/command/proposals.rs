//! `toolcrib proposals`: lists, shows and answers the tools that somebody proposed.

mod served;
mod view;

use std::io::IsTerminal;

use serde_json::json;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::review::KeptProposal;
use toolcrib_plugins::tool_proposal::ProposalStatus;
use toolcrib_serve::{PendingFields, ProposalFields, ReviewFields};

pub(super) use self::view::{permission_lines, short, to_second};
use super::plugin_name::bare;
use super::remote;
use super::setup::open;
use crate::cli::{Global, ProposalsArgs, ProposalsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};
use crate::wiring::user_at_terminal;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ProposalsArgs,
) -> Result<Exit, CliError> {
    if let Some(client) = remote::chosen(global, terminal)? {
        return served::run(&client, terminal, args);
    }
    let crib = open(global, terminal)?;
    let lifecycle = crib.plugins().lifecycle(&crib.settings);
    match &args.command {
        ProposalsCommand::List { all: true, json } => {
            let all = lifecycle.proposals()?;
            let fields = |it: &KeptProposal| ProposalFields::of(&it.proposal, it.status.as_str());
            let all: Vec<ProposalFields> = all.iter().map(fields).collect();
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(all).to_string());
                }
                Format::Text => view::print_all(&all),
            }
            Ok(Exit::Done)
        }
        ProposalsCommand::List { all: false, json } => {
            let pending: Vec<PendingFields> =
                lifecycle.pending()?.iter().map(PendingFields::of).collect();
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(pending).to_string());
                }
                Format::Text => view::print_pending(&pending),
            }
            Ok(Exit::Done)
        }
        ProposalsCommand::Show { tool, json } => {
            let review = ReviewFields::of(lifecycle.review(bare(tool))?);
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(review).to_string());
                }
                Format::Text => view::print_review(&review),
            }
            Ok(Exit::Done)
        }
        ProposalsCommand::Approve { tool, hash } => {
            approve(global, terminal, &lifecycle, bare(tool), hash.as_deref())
        }
        ProposalsCommand::Reject { tool, words } => {
            let by = user_at_terminal();
            let (proposal, _) = lifecycle.reject(bare(tool), &words.join(" "), &by.principal)?;
            print_lines(&[format!("Rejected: {} {}", proposal.name, proposal.hash.short())]);
            Ok(Exit::Done)
        }
    }
}

/// Approves a proposal if this process may, and the person at its terminal wants to.
fn approve(
    global: &Global,
    terminal: Terminal,
    lifecycle: &Lifecycle,
    tool: &str,
    hash: Option<&str>,
) -> Result<Exit, CliError> {
    let review = lifecycle.review(tool)?;
    if !global.yes && !std::io::stdin().is_terminal() {
        // An agent has no terminal, so it cannot approve its own tools.
        let hint = "run this command on a terminal, or add --yes if you are the person who decides";
        terminal.fail(
            "only a person can approve a tool, and there is no terminal to ask on",
            Some(hint),
        );
        return Ok(Exit::Failed);
    }
    let (id, version) = (review.proposal.id.clone(), review.proposal.hash.short().to_owned());
    // Whoever names a version has read it.
    if !global.yes && hash.is_none() && review.status == ProposalStatus::Pending {
        let shown = ReviewFields::of(review);
        if !view::is_wanted_after_reading(&shown)? {
            terminal.note("Not answered: the proposal still waits.");
            return Ok(Exit::NeedsApproval);
        }
    }
    // What was shown is what is approved.
    let shown = hash.unwrap_or(&version);
    let by = user_at_terminal();
    let approved = lifecycle.approve(id.as_str(), Some(shown), &by.principal)?;
    let path = match &approved.written {
        Ok(path) => Some(path.display().to_string()),
        Err(err) => {
            terminal.warn(&format!("the tool is loaded, but its file was not written: {err}"));
            None
        }
    };
    view::print_approved(&approved.name, approved.hash.short(), path.as_deref());
    Ok(Exit::Done)
}
