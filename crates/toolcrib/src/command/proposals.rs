//! `toolcrib proposals`: lists, shows and answers the tools that somebody proposed.

use std::io::{BufRead, IsTerminal, Write};

use serde_json::json;
use toolcrib_core::escape;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::permissions::{PermissionChanges, PermissionEntry, Permissions};
use toolcrib_plugins::review::{KeptProposal, PendingTool, ProposalReview};
use toolcrib_plugins::tool_proposal::{ProposalStatus, ToolProposal};
use toolcrib_serve::{PendingFields, ProposalFields, ReviewFields};

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
    let crib = open(global, terminal)?;
    let lifecycle = crib.plugins().lifecycle(&crib.settings);
    match &args.command {
        ProposalsCommand::List { all: true, json } => list_all(&lifecycle, Format::from(*json)),
        ProposalsCommand::List { all: false, json } => {
            list_pending(&lifecycle, Format::from(*json))
        }
        ProposalsCommand::Show { tool, json } => show(&lifecycle, bare(tool), Format::from(*json)),
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

/// Returns the name of a plugin without its catalogue, with which outputs print it.
pub(super) fn bare(tool: &str) -> &str {
    tool.strip_prefix("plugins/").unwrap_or(tool)
}

fn list_pending(lifecycle: &Lifecycle, format: Format) -> Result<Exit, CliError> {
    let pending = lifecycle.pending()?;
    match format {
        Format::Json => {
            let all: Vec<PendingFields> = pending.iter().map(PendingFields::of).collect();
            print_json(&json!(all).to_string());
        }
        Format::Text if pending.is_empty() => {
            print_lines(&[
                "No proposals wait. `toolcrib proposals list --all` lists all.".to_owned()
            ]);
        }
        Format::Text => {
            print_lines(&pending.iter().flat_map(pending_lines).collect::<Vec<String>>());
        }
    }
    Ok(Exit::Done)
}

fn pending_lines(pending: &PendingTool) -> Vec<String> {
    let proposal = &pending.proposal;
    let asks = asked_for(proposal, &pending.declaration.permissions, &pending.permission_changes);
    vec![
        headline(proposal, ProposalStatus::Pending),
        format!("    {}", first_line(&escape::lines(&pending.declaration.description))),
        format!("    asks for {}; tier {}", asks.join(", "), pending.declaration.tier.number()),
        format!("    read it: toolcrib proposals show {}", proposal.name),
    ]
}

fn list_all(lifecycle: &Lifecycle, format: Format) -> Result<Exit, CliError> {
    let all = lifecycle.proposals()?;
    match format {
        Format::Json => {
            let fields = |it: &KeptProposal| ProposalFields::of(&it.proposal, it.status.as_str());
            let all: Vec<ProposalFields> = all.iter().map(fields).collect();
            print_json(&json!(all).to_string());
        }
        Format::Text if all.is_empty() => print_lines(&["No proposals.".to_owned()]),
        Format::Text => {
            let lines: Vec<String> =
                all.iter().map(|it| headline(&it.proposal, it.status)).collect();
            print_lines(&lines);
        }
    }
    Ok(Exit::Done)
}

fn show(lifecycle: &Lifecycle, tool: &str, format: Format) -> Result<Exit, CliError> {
    let review = lifecycle.review(tool)?;
    match format {
        Format::Json => {
            print_json(&json!(ReviewFields::of(review)).to_string());
        }
        Format::Text => {
            let mut lines = review_lines(&review);
            if review.status == ProposalStatus::Pending {
                let name = &review.proposal.name;
                let version = review.proposal.hash.short();
                lines.push(String::new());
                lines
                    .push(format!("load it:   toolcrib proposals approve {name} --hash {version}"));
                lines.push(format!("refuse it: toolcrib proposals reject {name} WHY"));
            }
            print_lines(&lines);
        }
    }
    Ok(Exit::Done)
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
    let version = review.proposal.hash.short().to_owned();
    // Whoever names a version has read it.
    if !global.yes && hash.is_none() && review.status == ProposalStatus::Pending {
        print_lines(&review_lines(&review));
        if !is_wanted(&format!("\nLoad version {version} of {}? [y/N] ", review.proposal.name))? {
            terminal.note("Not answered: the proposal still waits.");
            return Ok(Exit::NeedsApproval);
        }
    }
    // What was shown is what is approved.
    let shown = hash.unwrap_or(&version);
    let by = user_at_terminal();
    let approved = lifecycle.approve(review.proposal.id.as_str(), Some(shown), &by.principal)?;
    let (name, version) = (&approved.name, approved.hash.short());
    let mut lines = vec![format!("Loaded: plugins/{name} {version}")];
    match &approved.written {
        Ok(path) => lines.push(format!("  file: {}", path.display())),
        Err(err) => {
            terminal.warn(&format!("the tool is loaded, but its file was not written: {err}"));
        }
    }
    lines.push(format!("  try it: toolcrib call plugins/{name} --help"));
    lines.push(format!("  take it back: toolcrib plugins disable {name}"));
    print_lines(&lines);
    Ok(Exit::Done)
}

/// Asks the person at the terminal.
pub(super) fn is_wanted(question: &str) -> Result<bool, CliError> {
    let mut err = std::io::stderr();
    let asked = err.write_all(question.as_bytes()).and_then(|()| err.flush());
    let mut answer = String::new();
    asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer)).map_err(|err| {
        CliError::usage(format!("the answer cannot be read from the terminal: {err}"))
    })?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn headline(proposal: &ToolProposal, status: ProposalStatus) -> String {
    let ToolProposal { name, by, created_at, expires_at, .. } = proposal;
    let (by, version) = (escape::line(&by.principal.name), proposal.hash.short());
    let until = match status {
        ProposalStatus::Pending => format!(", can be answered until {expires_at:.0}"),
        ProposalStatus::Approved | ProposalStatus::Rejected | ProposalStatus::Expired => {
            String::new()
        }
    };
    format!("{name}  {version}  {}, proposed by {by} at {created_at:.0}{until}", status.as_str())
}

/// Returns what a person sees of a proposal before answering it.
fn review_lines(review: &ProposalReview) -> Vec<String> {
    let ProposalReview { proposal, declaration, .. } = review;
    let row = |name: &str, text: &str| format!("  {name:<12} {text}");
    let by = &proposal.by;
    let mut lines = vec![headline(proposal, review.status)];
    let role = by.principal.role.as_str();
    let name = escape::line(&by.principal.name);
    lines.push(row("Id", proposal.id.as_str()));
    lines.push(row("Proposed by", &format!("{name} ({role}), {}", by.door.as_str())));
    lines.push(row("Why", &indented(&proposal.reasoning)));
    if proposal.description != escape::lines(&declaration.description) {
        lines.push(row("Said to do", &indented(&proposal.description)));
    }
    lines.push(row("Does", &indented(&escape::lines(&declaration.description))));
    lines.push(row("Tier", &declaration.tier.number().to_string()));
    let asked = asked_for(proposal, &declaration.permissions, &review.permission_changes);
    lines.push(row("Asks for", &asked.join(&format!("\n{:15}", ""))));
    lines.push(row("Arguments", &escape::line(&declaration.parameters.to_string())));
    for example in &proposal.examples {
        let about = if example.about.is_empty() { "example" } else { &example.about };
        let told = match &example.message {
            None => format!("passed: {about}"),
            Some(message) => format!("FAILED: {about}: {message}"),
        };
        lines.push(row("Example", &told));
    }
    if proposal.examples.is_empty() {
        lines.push(row("Examples", "none, so nobody has seen it work"));
    }
    if let Some(answer) = &review.answer {
        let words =
            if answer.words.is_empty() { String::new() } else { format!(": {}", answer.words) };
        let told = format!("{} by {}{words}", answer.status.as_str(), answer.answerer());
        lines.push(row("Answer", &escape::line(&told)));
    }
    let (title, text) = match (&review.active, &review.difference) {
        (Some(active), Some(difference)) if !difference.is_empty() => {
            (format!("Difference to the active version {}", active.short()), difference)
        }
        _ => ("Code".to_owned(), &review.code),
    };
    lines.push(String::new());
    lines.push(format!("  {title}"));
    lines.extend(text.lines().map(|line| format!("    {line}")));
    lines
}

/// Returns what a tool asks for, with what is new in it.
fn asked_for(
    proposal: &ToolProposal,
    asked: &Permissions,
    changes: &PermissionChanges,
) -> Vec<String> {
    let changes = proposal.replaces.as_ref().map(|_| changes);
    let is_new = |it: &PermissionEntry| changes.is_some_and(|changes| changes.added.contains(it));
    let entry = |it: &PermissionEntry| {
        let new = if is_new(it) { " (new)" } else { "" };
        format!("{} {}{new}", it.list, escape::line(&it.entry))
    };
    let mut all: Vec<String> = asked.entries().iter().map(entry).collect();
    let removed = changes.into_iter().flat_map(|changes| &changes.removed);
    all.extend(removed.map(|it| format!("{} {} (not any more)", it.list, escape::line(&it.entry))));
    if all.is_empty() { vec!["nothing: it only computes".to_owned()] } else { all }
}

fn indented(text: &str) -> String {
    if text.is_empty() {
        "not said".to_owned()
    } else {
        text.replace('\n', &format!("\n{:15}", ""))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
