//! Fills in the question about a call: what a person is shown, and what their answer is bound to.

use serde_json::{Value, json};
use toolcrib_core::approval::{ApprovalQuestion, ExpectedChange, ExpectedChangeKind};
use toolcrib_core::canonical::Digest;
use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::pin::Pin;
use toolcrib_core::policy::by_tier;
use toolcrib_core::{Decision, Plan, ToolError};

use super::pins::Pins;
use super::question::{Asker, Question};
use super::review::Review;
use super::scope::CallScope;
use crate::decide::expected_changes::expected_changes;
use crate::decide::grant_offers::GrantPlace;
use crate::decide::host_access::HostPlace;
use crate::decide::judge::Choice;
use crate::decide::proposal::Proposal;

impl Question {
    /// Returns the question about a proposal. `choices` are what "always" could cover.
    pub(crate) fn new(
        scope: &CallScope,
        proposal: &Proposal,
        decision: Decision,
        choices: Vec<Choice>,
    ) -> Result<Self, ToolError> {
        let places = proposal.edited_paths()?;
        let pins = pins_of(scope, proposal);
        let shown = shown(scope, proposal, &decision, &pins, &choices);
        Ok(Self {
            id: scope.call.id.0.clone(),
            digest: pinned_digest(scope, proposal, &places, &pins.pinned),
            pins,
            tool: scope.tool.clone(),
            tier: scope.tier(),
            args: scope.call.args.clone(),
            plan: proposal.plan.clone(),
            decision,
            choices,
            shown: ApprovalQuestion { files: places, ..shown },
            asker: Asker::of(&scope.call),
            root: proposal.paths.root(),
        })
    }

    /// Returns the question about a call that runs on another machine, which knows what the call would do. "Always" is
    /// not offered: a grant is about files and programs of this machine.
    pub(crate) fn elsewhere(
        scope: &CallScope,
        proposal: &Proposal,
        decision: Decision,
        elsewhere: CheckedElsewhere,
    ) -> Self {
        Self {
            id: scope.call.id.0.clone(),
            digest: elsewhere.digest,
            pins: Pins::default(),
            tool: scope.tool.clone(),
            tier: scope.tier(),
            args: scope.call.args.clone(),
            plan: elsewhere.plan,
            decision,
            choices: Vec::new(),
            shown: elsewhere.question,
            asker: Asker::of(&scope.call),
            root: proposal.paths.root(),
        }
    }
}

/// Returns what a person is shown about a proposal.
fn shown(
    scope: &CallScope,
    proposal: &Proposal,
    decision: &Decision,
    pins: &Pins,
    choices: &[Choice],
) -> ApprovalQuestion {
    let root = proposal.paths.root();
    let offers = GrantPlace {
        tool: &scope.tool,
        root: &root,
        session: &scope.call.session.0,
        session_kind: scope.approval.session,
        programs: proposal.call_programs(&scope.ctx),
    };
    let denied = scope.judge.denied_paths(&scope.tool, proposal, &scope.ctx);
    let changes = expected_changes(proposal, &scope.ctx, denied.as_ref());
    let source = decision.source.as_ref();
    ApprovalQuestion {
        what: what(scope, proposal, &changes),
        runs: decision.reading.clone(),
        files: Vec::new(),
        changes,
        network: network(scope, proposal, &root),
        why: why(scope, proposal, decision),
        rule: decision.rule.clone(),
        rule_source: source.map(|source| format!("{}, line {}", source.file, source.line)),
        unpinned: pins.unpinned.clone(),
        grants: offers.offers(choices),
        refused_grants: offers.refused(choices),
        place: None,
        host: None,
    }
}

/// Returns the hosts that a call reaches, if it has a command or fetches itself.
fn network(scope: &CallScope, proposal: &Proposal, root: &str) -> Option<Vec<String>> {
    let Plan { command, hosts, .. } = &proposal.plan;
    match command {
        Some(_) => Some(reachable_hosts(scope, root)),
        None => Some(hosts.clone()).filter(|hosts| !hosts.is_empty()),
    }
}

/// Returns the hosts that commands can reach, because of the settings or because of grants.
fn reachable_hosts(scope: &CallScope, root: &str) -> Vec<String> {
    let place = HostPlace { tool: &scope.tool, session: &scope.call.session.0, root };
    let mut hosts = scope.ctx.commands.reachable_hosts();
    let granted = scope.judge.granted_hosts(&place, &scope.ctx);
    hosts.extend(granted.iter().map(ToString::to_string));
    hosts
}

/// Returns what a call wants to do, in a few words that follow "wants to".
fn what(scope: &CallScope, proposal: &Proposal, changes: &[ExpectedChange]) -> String {
    if proposal.plan.command.is_some() {
        return "run a command".to_owned();
    }
    let (mut added, mut removed, mut is_known) = (0, 0, !changes.is_empty());
    for change in changes {
        match change.lines {
            Some(lines) => (added, removed) = (added + lines.0, removed + lines.1),
            None => is_known = false,
        }
    }
    let lines = if is_known { format!(" (+{added} -{removed})") } else { String::new() };
    match changes {
        [] => format!("call {}", scope.tool),
        [only] => {
            let verb = match only.kind {
                ExpectedChangeKind::Create => "create",
                ExpectedChangeKind::Change => "change",
                ExpectedChangeKind::Delete => "delete",
            };
            // With blanks in it, a path could pass for other words of the title.
            let quote = if only.path.contains(' ') { "\"" } else { "" };
            format!("{verb} {quote}{}{quote}{lines}", only.path)
        }
        several => format!("change {} files{lines}", several.len()),
    }
}

/// Returns why a call is asked about.
fn why(scope: &CallScope, proposal: &Proposal, decision: &Decision) -> String {
    let mode = scope.judge.mode();
    if decision.rule == by_tier(scope.tier(), mode).rule {
        let what = match (&proposal.plan.command, &proposal.plan.edits[..]) {
            (Some(_), _) => "commands that are not known to be harmless",
            (None, []) => "such calls",
            (None, _) => "changes to files",
        };
        return format!("{what} are asked about in {} mode", mode.as_str());
    }
    let Decision { rule, because, source, .. } = decision;
    let Some(source) = source.as_ref().filter(|_| !because.is_empty()) else {
        return rule.clone();
    };
    // The rule in words ends with the reason, which comes first here.
    let name = rule.split_once(':').map_or(rule.as_str(), |it| it.0);
    let shipped = if source.file.starts_with("shipped") { ", shipped" } else { "" };
    format!("{because} ({name}{shipped})")
}

/// What someone was asked about: the state that the call is compared with before it runs.
pub(crate) struct AskedState {
    pub(crate) digest: String,
    pub(crate) pinned: Vec<Pin>,
}

impl From<Question> for AskedState {
    fn from(question: Question) -> Self {
        Self { digest: question.digest, pinned: question.pins.pinned }
    }
}

/// Returns what an answer to the question about a proposal pins. Nothing is pinned for an answer that was given before
/// anything was shown.
pub(crate) fn pins_of(scope: &CallScope, proposal: &Proposal) -> Pins {
    match scope.approval.review {
        Review::Files | Review::Parked => Pins::of(proposal, &scope.ctx),
        Review::Nothing => Pins::default(),
    }
}

/// Returns the digest of what an answer is bound to: the tool, its arguments, what it would do to which files, and
/// what is pinned. A loaded tool is its version, since another version may do something else.
pub(crate) fn pinned_digest(
    scope: &CallScope,
    proposal: &Proposal,
    places: &[String],
    pinned: &[Pin],
) -> String {
    let plan = &proposal.plan;
    let edits = plan.edits.iter().map(|edit| json!([edit.path, edit.before, edit.after]));
    let directory = plan.command.as_ref().and_then(|command| command.directory.as_ref());
    let directory = directory.and_then(|directory| proposal.paths.absolute(directory).ok());
    let edits: Vec<Value> = edits.collect();
    let version = scope.offer.tool.loaded().map(|tool| tool.version());
    let all = match version {
        None => json!([scope.call.args, places, edits, directory, pinned]),
        Some(version) => json!([scope.call.args, places, edits, directory, pinned, version]),
    };
    Digest::of(scope.tool.as_str(), &all).to_string()
}
