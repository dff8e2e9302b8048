//! The question about a host: a command wants to reach it, and no setting lists it. The connection waits until a
//! person has answered.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use serde_json::json;
use tokio::runtime::Handle;
use toolcrib_core::Plan;
use toolcrib_core::approval::ApprovalQuestion;
use toolcrib_core::canonical::Digest;
use toolcrib_core::host_access::{HostGate, HostRequest, HostVerdict};
use toolcrib_core::policy::grant::{Covers, GrantError, Wish};
use toolcrib_core::policy::{Answer, NOBODY, by_tier};
use toolcrib_core::{Cancel, Note, RecordError};

use super::pins::Pins;
use super::question::{Asker, Question};
use super::scope::CallScope;
use crate::decide::grant_offers::GrantPlace;
use crate::decide::host_access::HostPlace;
use crate::decide::proposal::Proposal;

/// Asks about the hosts that the command of one call wants to reach.
pub(crate) struct HostQuestions {
    /// The call, which has the commands that have this gate.
    scope: Weak<CallScope>,
    root: String,
    plan: Plan,
    handle: Handle,
    /// How many questions were asked.
    asked: AtomicU32,
}

impl HostQuestions {
    /// Returns the gate for a call, if a person can be asked about hosts or has granted one. Without it, the command
    /// has no way to any host that no setting lists.
    pub(crate) fn of(scope: &Arc<CallScope>, proposal: &Proposal) -> Option<Self> {
        let command = proposal.plan.command.clone()?;
        let root = proposal.paths.root();
        let place = HostPlace { tool: &scope.tool, session: &scope.call.session.0, root: &root };
        if !scope.approval.approver.asks_about_hosts()
            && scope.judge.granted_hosts(&place, &scope.ctx).is_empty()
        {
            return None;
        }
        let handle = Handle::try_current().ok()?;
        let plan = Plan { command: Some(command), ..Plan::default() };
        Some(Self { scope: Arc::downgrade(scope), root, plan, handle, asked: AtomicU32::new(0) })
    }

    fn place<'a>(&'a self, scope: &'a CallScope) -> HostPlace<'a> {
        HostPlace { tool: &scope.tool, session: &scope.call.session.0, root: &self.root }
    }

    fn question(&self, scope: &CallScope, request: &HostRequest) -> Question {
        let decision = scope.decision.get().cloned();
        let offers = GrantPlace {
            tool: &scope.tool,
            root: &self.root,
            session: &scope.call.session.0,
            session_kind: scope.approval.session,
            programs: None,
        };
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let command = self.plan.command.as_ref().map(|command| &command.text);
        Question {
            id: format!("{}-host{number}", scope.call.id.0),
            digest: Digest::of(scope.tool.as_str(), &json!(request)).to_string(),
            pins: Pins::default(),
            tool: scope.tool.clone(),
            tier: scope.tier(),
            args: json!({"command": command}),
            plan: self.plan.clone(),
            decision: decision.unwrap_or_else(|| by_tier(scope.tier(), scope.judge.mode())),
            choices: Vec::new(),
            shown: ApprovalQuestion {
                what: format!("reach {request}"),
                why: "`sandbox.egress` does not list it".to_owned(),
                rule: "`sandbox.egress`".to_owned(),
                unpinned: vec!["what the command sends there".to_owned()],
                grants: offers.host_offers(request),
                host: Some(request.clone()),
                ..ApprovalQuestion::default()
            },
            asker: Asker::of(&scope.call),
            root: self.root.clone(),
        }
    }
}

/// Stores a grant, with the id of its question.
fn grant(scope: &CallScope, id: String, by: &str, wish: &Wish) -> Result<(), GrantError> {
    scope.judge.grant_host(id, by, wish, &scope.tool, &scope.ctx)?;
    scope.record_grant(by, wish);
    Ok(())
}

impl HostGate for HostQuestions {
    fn known(&self, request: &HostRequest) -> Option<HostVerdict> {
        let Some(scope) = self.scope.upgrade() else { return Some(call_is_over()) };
        let verdict = scope.judge.known_host(&self.place(&scope), request, &scope.ctx)?;
        if verdict == HostVerdict::Allowed {
            scope.judge.mark_tainted(&scope.call.session.0, &scope.ctx);
        }
        Some(verdict)
    }

    fn ask(&self, request: &HostRequest, cancel: &Cancel) -> HostVerdict {
        let refused = |why: &str| HostVerdict::Refused(why.to_owned());
        let not_listed = || {
            HostVerdict::Refused(format!(
                "`{request}` is not in `sandbox.egress`; the operator can add it"
            ))
        };
        let Some(scope) = self.scope.upgrade() else { return call_is_over() };
        if !scope.approval.approver.asks_about_hosts() {
            return not_listed();
        }
        let question = self.question(&scope, request);
        let _ = record(&scope, "host_asked", None, request);
        let answer = self.handle.block_on(async {
            tokio::select! {
                answer = scope.approval.approver.ask(&question) => Some(answer),
                () = cancel.cancelled() => None,
                () = scope.ctx.cancel.cancelled() => None,
            }
        });
        match answer {
            Some(Answer::Yes(by)) => allow(&scope, &by, request),
            Some(Answer::Always(by, wish)) => {
                // Nothing but what was offered for this host can be granted here.
                if !matches!(&wish.covers, Covers::Host(host) if host == request) {
                    return not_listed();
                }
                match grant(&scope, question.id, &by, &wish) {
                    Ok(()) => allow(&scope, &by, request),
                    Err(err) => HostVerdict::Refused(format!("the grant cannot be stored: {err}")),
                }
            }
            Some(Answer::No(by, words)) => {
                let _ = record(&scope, "host_refused", Some(&by), request);
                match words.as_str() {
                    words if by == NOBODY => refused(words),
                    "" => refused("a person said no"),
                    words => HostVerdict::Refused(format!("a person said no: {words}")),
                }
            }
            // There are no arguments to change.
            Some(
                Answer::Nobody
                | Answer::Parked(_)
                | Answer::RanElsewhere(_)
                | Answer::Changed { .. },
            ) => not_listed(),
            None => {
                let _ = record(&scope, "host_withdrawn", None, request);
                refused("the question was taken away")
            }
        }
    }
}

fn call_is_over() -> HostVerdict {
    HostVerdict::Refused("the call is over".to_owned())
}

/// Lets a command reach a host. What cannot be recorded is not allowed.
fn allow(scope: &CallScope, by: &str, request: &HostRequest) -> HostVerdict {
    if let Err(reason) = record(scope, "host_allowed", Some(by), request) {
        return HostVerdict::Refused(format!("the record cannot be written: {reason}"));
    }
    scope.judge.mark_tainted(&scope.call.session.0, &scope.ctx);
    HostVerdict::Allowed
}

/// Records that a host was asked about, that nobody waits for the answer any more, or who decided about it.
fn record(
    scope: &CallScope,
    event: &str,
    by: Option<&str>,
    request: &HostRequest,
) -> Result<(), RecordError> {
    let mut detail = json!({"words": request.to_string()});
    if let Some(by) = by {
        detail["by"] = by.into();
    }
    scope.recorder.note(&Note {
        at: scope.clock.now(),
        actor: if by.is_some() { "user" } else { "tool" },
        act: "approval",
        event,
        tool: Some(&scope.tool),
        call: &scope.call.id.0,
        detail,
    })
}
