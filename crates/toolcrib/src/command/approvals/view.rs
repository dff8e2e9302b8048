//! An approval as people and programs are shown it, whether it comes from the state folder or from a server.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::approval::{ApprovalAnswer, ApprovalStatus, ApprovalStore, PendingApproval};
use toolcrib_core::policy::Wish;
use toolcrib_core::{Principal, Role, escape};
use toolcrib_ledger::Approvals;
use toolcrib_serve::PlannedEdit;

use crate::command::difference;
use crate::command::layout::fit_all;
use crate::command::past_call;
use crate::command::short_id::{Candidate, IdNoun, ShortIds};
use crate::terminal::{Terminal, print, print_lines, width};

pub(super) const APPROVALS: IdNoun =
    IdNoun { one: "approval", many: "approvals", listed_by: "toolcrib approvals list --all" };

/// An approval, with how it stands.
#[derive(Deserialize)]
pub(super) struct ApprovalView {
    #[serde(flatten)]
    pub(super) pending: PendingApproval,
    pub(super) status: String,
    pub(super) answer: Option<ApprovalAnswer>,
}

/// Returns an approval as something that an id can mean. `args` has no secrets.
pub(super) fn candidate(pending: PendingApproval, args: &str) -> Candidate<PendingApproval> {
    let what = asked_host(&pending).unwrap_or_else(|| past_call::what(args));
    Candidate {
        at: format!("{:.0}", pending.created_at),
        what: format!("{}  {what}", pending.tool),
        id: pending.id.clone(),
        item: pending,
    }
}

/// Returns what a question is about that is about a host, and not about a call.
fn asked_host(pending: &PendingApproval) -> Option<String> {
    pending.question.host.as_ref().map(|_| pending.question.what.clone())
}

/// Says what an approval does that another process waited for.
pub(super) fn what_follows(pending: &PendingApproval, wish: Option<&Wish>) -> String {
    let Some(host) = &pending.question.host else {
        return "runs in the process that asked".to_owned();
    };
    let host = host.to_string();
    let host = escape::line(&host);
    match wish {
        None => format!("lets its command reach {host}, as long as it runs"),
        Some(_) => format!("lets its command reach {host}, and leaves a grant for it"),
    }
}

/// Prints approvals, one in a line. `clean` removes secrets.
pub(super) fn print_list(shown: &[ApprovalView], now: Timestamp, clean: impl Fn(&str) -> String) {
    if shown.is_empty() {
        print_lines(&["No call is waiting for an answer.".to_owned()]);
        return;
    }
    let ids = ShortIds::of(shown.iter().map(|it| it.pending.id.as_str()));
    let line = |ApprovalView { pending, status, .. }: &ApprovalView| {
        let age = now.duration_since(pending.created_at).as_secs();
        // `show` has the whole arguments, for the person who answers.
        let args = || clean(&pending.args.to_string()).chars().take(80).collect();
        // The number of a question about a host is at the end of its id, and says which.
        let id = match asked_host(pending) {
            None => ids.short(&pending.id),
            Some(_) => &pending.id,
        };
        format!(
            "{}  {}  {age} s ago  {}  {}",
            escape::line(id),
            escape::line(status),
            escape::line(pending.tool.as_str()),
            escape::line(&asked_host(pending).unwrap_or_else(args))
        )
    };
    print_lines(&fit_all(&shown.iter().map(line).collect::<Vec<_>>(), width()));
}

impl ApprovalView {
    /// Returns an approval of the state folder.
    pub(super) fn of(
        approvals: &Approvals,
        pending: PendingApproval,
        status: ApprovalStatus,
    ) -> Self {
        let answer = approvals.answer(&pending.id).ok().flatten();
        Self { pending, status: status.as_str().to_owned(), answer }
    }

    /// Returns the approval, for programs.
    pub(super) fn to_json(&self) -> Value {
        // The state of thousands of files says nothing to whoever reads this.
        let pending = PendingApproval { pins: Vec::new(), ..self.pending.clone() };
        let mut value = serde_json::to_value(&pending).unwrap_or_default();
        value["status"] = self.status.as_str().into();
        value["answer"] = json!(self.answer);
        value
    }

    /// Returns the approval with what changed since the question, for programs.
    pub(super) fn to_json_with(&self, changes: &[String]) -> Value {
        let mut value = self.to_json();
        value["changed"] = json!(changes);
        value
    }

    /// Prints the approval, with what changed since the question and what its call would change.
    pub(super) fn print(&self, terminal: Terminal, changes: &[String], edits: &[PlannedEdit]) {
        print_lines(&self.details(changes));
        print(&difference::show_edits(terminal, edits));
    }

    fn details(&self, changes: &[String]) -> Vec<String> {
        let Self { pending, status, answer } = self;
        let mut lines = vec![escape::line(&format!("{} {status}", pending.id)).into_owned()];
        let mut add = |name: &str, text: &str| {
            lines.push(escape::line(&format!("  {name:<12}{text}")).into_owned());
        };
        add("tool:", pending.tool.as_str());
        for (key, value) in pending.args.as_object().into_iter().flatten() {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            add(&format!("{key}:"), &shown);
        }
        add("workspace:", &pending.workspace);
        if let Some(place) = &pending.question.place {
            add("runs at:", place);
        }
        for file in &pending.question.files {
            add("changes:", file);
        }
        for unpinned in &pending.question.unpinned {
            let name = if pending.question.host.is_some() { "covers:" } else { "not pinned:" };
            add(name, unpinned);
        }
        for change in changes {
            add("changed:", change);
        }
        if let Some(host) = &pending.question.host {
            add("wants:", &host.to_string());
        }
        add("rule:", &pending.question.rule);
        if let Some(reading) = &pending.question.runs {
            add("reading:", &reading.to_string());
        }
        let Principal { name, role } = &pending.caller.principal;
        match role {
            Role::User => add("asked by:", &pending.requester),
            role => add("asked by:", &format!("{name} ({})", role.as_str())),
        }
        add("asked at:", &format!("{:.0}", pending.created_at));
        add("expires:", &format!("{:.0}", pending.expires_at));
        if let Some(answer) = answer {
            let verb = if answer.is_approved { "approved" } else { "denied" };
            add("answer:", &format!("{verb} by {} {}", answer.by, answer.words));
        }
        lines
    }
}
