//! Proposals on a terminal. They come from the state folder or from a server, whose texts may be anything.

use jiff::Timestamp;
use toolcrib_core::escape;
use toolcrib_plugins::permissions::{PermissionEntry, Permissions};
use toolcrib_serve::{AskedPermissions, PendingFields, ProposalFields, ReviewFields};

use crate::command::question::is_wanted;
use crate::error::CliError;
use crate::terminal::print_lines;

/// How many digits of a hash people are shown.
const SHOWN_DIGITS: usize = 12;

/// Prints the proposals that wait.
pub(super) fn print_pending(pending: &[PendingFields]) {
    if pending.is_empty() {
        print_lines(&["No proposals wait. `toolcrib proposals list --all` lists all.".to_owned()]);
        return;
    }
    print_lines(&pending.iter().flat_map(pending_lines).collect::<Vec<String>>());
}

/// Prints proposals, answered or not.
pub(super) fn print_all(all: &[ProposalFields]) {
    if all.is_empty() {
        print_lines(&["No proposals.".to_owned()]);
        return;
    }
    print_lines(&all.iter().map(headline).collect::<Vec<String>>());
}

/// Prints a proposal with all that an answer needs.
pub(super) fn print_review(review: &ReviewFields) {
    let mut lines = review_lines(review);
    if review.proposal.status == "pending" {
        let name = escape::line(&review.proposal.tool_name);
        let version = short(&review.proposal.hash);
        lines.push(String::new());
        lines.push(format!("load it:   toolcrib proposals approve {name} --hash {version}"));
        lines.push(format!("refuse it: toolcrib proposals reject {name} WHY"));
    }
    print_lines(&lines);
}

/// Shows a proposal to the person at the terminal, and asks whether to load it.
pub(super) fn is_wanted_after_reading(review: &ReviewFields) -> Result<bool, CliError> {
    print_lines(&review_lines(review));
    let ProposalFields { hash, tool_name, .. } = &review.proposal;
    let (version, name) = (short(hash), escape::line(tool_name));
    is_wanted(&format!("\nLoad version {version} of {name}? [y/N] "))
}

/// Prints what became of an approval.
pub(super) fn print_approved(name: &str, version: &str, path: Option<&str>) {
    let (name, version) = (escape::line(name), escape::line(version));
    let mut lines = vec![format!("Loaded: plugins/{name} {version}")];
    lines.extend(path.map(|path| format!("  file: {}", escape::line(path))));
    lines.push(format!("  try it: toolcrib call plugins/{name} --help"));
    lines.push(format!("  take it back: toolcrib plugins disable {name}"));
    print_lines(&lines);
}

/// Returns the digits of a hash that people are shown.
pub(in crate::command) fn short(hash: &str) -> String {
    let digits: String = hash.chars().take(SHOWN_DIGITS).collect();
    escape::line(&digits).into_owned()
}

fn pending_lines(pending: &PendingFields) -> Vec<String> {
    let PendingFields { proposal, declared_description, asked, .. } = pending;
    vec![
        headline(proposal),
        format!("    {}", first_line(&escape::lines(declared_description))),
        format!("    asks for {}; tier {}", asked_for(proposal, asked).join(", "), asked.tier),
        format!("    read it: toolcrib proposals show {}", escape::line(&proposal.tool_name)),
    ]
}

fn headline(proposal: &ProposalFields) -> String {
    let ProposalFields { tool_name, hash, status, by, created_at, expires_at, .. } = proposal;
    let until = match status.as_str() {
        "pending" => format!(", can be answered until {}", to_second(expires_at)),
        _ => String::new(),
    };
    let (name, status, by) = (escape::line(tool_name), escape::line(status), escape::line(by));
    let (version, at) = (short(hash), to_second(created_at));
    format!("{name}  {version}  {status}, proposed by {by} at {at}{until}")
}

/// Returns a time without the parts of a second.
pub(in crate::command) fn to_second(at: &str) -> String {
    at.parse::<Timestamp>().map_or_else(|_| escape::line(at).into_owned(), |at| format!("{at:.0}"))
}

/// Returns what a person sees of a proposal before answering it.
fn review_lines(review: &ReviewFields) -> Vec<String> {
    let ReviewFields { proposal, description, declared_description, .. } = review;
    let row = |name: &str, text: &str| format!("  {name:<12} {text}");
    let mut lines = vec![headline(proposal)];
    lines.push(row("Id", &escape::line(&proposal.id)));
    let [by, role, door] =
        [&proposal.by, &proposal.role, &proposal.door].map(|it| escape::line(it));
    lines.push(row("Proposed by", &format!("{by} ({role}), {door}")));
    lines.push(row("Why", &indented(&proposal.reasoning)));
    if description != declared_description {
        lines.push(row("Said to do", &indented(description)));
    }
    lines.push(row("Does", &indented(declared_description)));
    lines.push(row("Tier", &review.asked.tier.to_string()));
    let asked = asked_for(proposal, &review.asked);
    lines.push(row("Asks for", &asked.join(&format!("\n{:15}", ""))));
    for grant in &review.grants {
        lines.push(row("Granted", &escape::line(grant)));
    }
    lines.push(row("Arguments", &escape::line(&review.parameters.to_string())));
    for example in &proposal.examples {
        let about = if example.about.is_empty() { "example" } else { &example.about };
        let about = escape::line(about);
        let told = match &example.message {
            None if example.ok && example.compared => format!("passed: {about}"),
            None if example.ok => format!("ran, without a result to compare with: {about}"),
            None => format!("FAILED: {about}"),
            Some(message) => format!("FAILED: {about}: {}", escape::line(message)),
        };
        lines.push(row("Example", &told));
    }
    if proposal.examples.is_empty() {
        lines.push(row("Examples", "none, so nobody has seen it work"));
    }
    if let Some(answer) = &review.answer {
        let by = answer.by.as_deref().unwrap_or("nobody");
        let reason =
            if answer.reason.is_empty() { String::new() } else { format!(": {}", answer.reason) };
        lines.push(row("Answer", &escape::line(&format!("{} by {by}{reason}", proposal.status))));
    }
    let (title, text) = match (&review.active, &review.difference) {
        (Some(active), Some(difference)) if !difference.is_empty() => {
            (format!("Difference to the active version {}", short(active)), difference)
        }
        _ => ("Code".to_owned(), &review.code),
    };
    lines.push(String::new());
    lines.push(format!("  {title}"));
    lines.extend(escape::lines(text).lines().map(|line| format!("    {line}")));
    lines
}

/// Returns what a tool asks for, with what is new in it.
fn asked_for(proposal: &ProposalFields, asked: &AskedPermissions) -> Vec<String> {
    let changes = proposal.replaces.as_ref().map(|_| &asked.permission_changes);
    let is_new = |it: &PermissionEntry| changes.is_some_and(|changes| changes.added.contains(it));
    let entry = |it: &PermissionEntry| {
        let new = if is_new(it) { " (new)" } else { "" };
        format!("{}{new}", permission(it))
    };
    let mut all: Vec<String> = asked.permissions.entries().iter().map(entry).collect();
    let removed = changes.into_iter().flat_map(|changes| &changes.removed);
    all.extend(removed.map(|it| format!("{} (not any more)", permission(it))));
    if all.is_empty() { vec!["nothing: it only computes".to_owned()] } else { all }
}

fn permission(it: &PermissionEntry) -> String {
    format!("{} {}", escape::line(&it.list), escape::line(&it.entry))
}

/// Returns what a tool may use, a line for each thing.
pub(in crate::command) fn permission_lines(permissions: &Permissions) -> Vec<String> {
    let may = |list: &str| match list {
        "tools" => "may call",
        "hosts" => "may reach",
        "secrets" => "gets the secret",
        "volumes" => "has the volume",
        "read" => "may read",
        _ => "may write",
    };
    let entries = permissions.entries();
    entries.iter().map(|it| format!("  {} {}", may(&it.list), escape::line(&it.entry))).collect()
}

fn indented(text: &str) -> String {
    if text.is_empty() {
        "not said".to_owned()
    } else {
        escape::lines(text).replace('\n', &format!("\n{:15}", ""))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
