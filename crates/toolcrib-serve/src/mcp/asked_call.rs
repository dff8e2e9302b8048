//! A call that a client is asked about by the reply to it. The question waits in the queue; the client brings the answer
//! with the same call, and with a sealed state that says which question it is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitResult, InputRequest,
    InputRequiredResult, InputResponses,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use toolcrib_core::approval::{ApprovalStatus, KeptOutcome, PendingApproval};
use toolcrib_core::calling_client::Answers;
use toolcrib_core::policy::Answer;
use toolcrib_core::{Call, Cancel};
use toolcrib_runtime::{
    AnswerFuture, ApprovalError, Approved, Approver, ConfirmationSource, Question,
};

use super::approval_form::{FormAnswer, FormQuestion};
use super::call_state::CallState;
use super::client_connection::ClientConnection;
use super::tool_call::{CallEnd, kept_result, person_at_client};
use crate::api::{DifferenceLength, PlannedEdit};

/// The name of the one question that a reply asks.
const QUESTION: &str = "approval";

impl ClientConnection {
    /// Returns the reply that asks about a parked call.
    pub(super) async fn ask_approval_by_reply(
        &self,
        call: &Call,
        id: &str,
    ) -> Option<InputRequiredResult> {
        let (pending, status) = self.server.api.answers.find(id).ok()?;
        if status != ApprovalStatus::Pending {
            return None;
        }
        Some(self.question(call, &pending).await)
    }

    /// Returns the outcome of a parked call that was approved and made since, once. It is looked for before the call is
    /// checked, because an edit that was made does not fit the file any more.
    pub(super) fn outcome_of_parked(&self, call: &Call) -> Option<CallToolResult> {
        let pending = self.server.parked.equal_to(call)?;
        let store = &self.server.api.answers.store;
        let kept = store.outcome(&pending.id).ok().flatten()?;
        let _ = store.mark_told(&pending.id);
        self.server.parked.forget(&pending.id);
        Some(kept_result(&pending.id, &kept))
    }

    /// Takes up the answer that a client brings.
    pub(super) async fn resume(
        &self,
        call: Call,
        id: &str,
        responses: &InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answers = &self.server.api.answers;
        let Ok((pending, status)) = answers.find(id) else {
            return Ok(told("the question is not known any more; make the call again").into());
        };
        if status != ApprovalStatus::Pending {
            return Ok(self.closed(&pending, status).into());
        }
        let response = responses.get(QUESTION).cloned();
        let Some(result) = response.and_then(|it| serde_json::from_value::<ElicitResult>(it).ok())
        else {
            return Ok(self.question(&call, &pending).await.into());
        };
        let answer = self.form(&pending, &[]).answer(&result);
        let by = person_at_client(&pending.caller);
        let wish = match answer {
            FormAnswer::Once => None,
            FormAnswer::Always(wish) => Some(wish),
            FormAnswer::Dismissed => {
                let text = format!(
                    "nobody answered the form, so the question waits; a person can approve the call with \
                     `toolcrib approvals approve {id}`; make the same call again later"
                );
                return Ok(told(&text).into());
            }
            FormAnswer::Unclear => return Ok(self.question(&call, &pending).await.into()),
            FormAnswer::No(words) => {
                if let Err(err) = answers.deny(id, &by, &words) {
                    return Ok(self.refused(&pending, &err).into());
                }
                self.server.parked.forget(id);
                // The call ends as declined, on the record and in its catalogue's words.
                let approver = Arc::new(Declined { by: by.name, words });
                let end = self.run(pending.to_call(), approver, Answers::new(), context).await?;
                return self.response(&call, end);
            }
        };
        match answers.approve(id, &by, wish) {
            Ok(Approved::RunsHere(parked)) => {
                self.server.parked.forget(id);
                let end = self.run(parked.call, parked.approver, Answers::new(), context).await?;
                if let CallEnd::Ended(made) = &end {
                    // Without it, somebody who asks later is told that the call runs; the record has the outcome.
                    let _ = answers.store.keep_outcome(id, &KeptOutcome::from(&**made));
                }
                let _ = answers.store.mark_told(id);
                self.response(&call, end)
            }
            Ok(Approved::RunsElsewhere) => {
                Ok(told("the call runs elsewhere; make it again to get its outcome").into())
            }
            Err(err) => Ok(self.refused(&pending, &err).into()),
        }
    }

    /// Returns the reply that asks about a call.
    async fn question(&self, call: &Call, pending: &PendingApproval) -> InputRequiredResult {
        let runtime = self.server.api.runtime.current();
        let preview = runtime.explain(pending.to_call(), Cancel::default()).await;
        let backend = &self.server.api.ports.backend;
        let edits = preview
            .map(|preview| backend.planned_edits(&preview, DifferenceLength::Usual))
            .unwrap_or_default();
        let form = self.form(pending, &edits).form();
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let left = pending.expires_at.duration_since(self.server.api.answers.clock.now());
        let state = CallState::Approval(pending.id.clone());
        let state =
            self.server.seal_state(&state, call, Duration::try_from(left).unwrap_or_default());
        let requests = BTreeMap::from([(QUESTION.to_owned(), request)]);
        InputRequiredResult::new(Some(requests), Some(state))
    }

    fn form<'a>(&self, pending: &'a PendingApproval, edits: &'a [PlannedEdit]) -> FormQuestion<'a> {
        FormQuestion {
            id: &pending.id,
            asker: pending.caller.client.as_deref().unwrap_or("The agent"),
            root: &pending.workspace,
            args: &pending.args,
            shown: &pending.question,
            edits,
            answers: self.trust().answers,
        }
    }

    /// Returns what the client is told about a question that was answered elsewhere, or too late.
    fn closed(&self, pending: &PendingApproval, status: ApprovalStatus) -> CallToolResult {
        let store = &self.server.api.answers.store;
        if let Ok(Some(kept)) = store.outcome(&pending.id) {
            let _ = store.mark_told(&pending.id);
            return kept_result(&pending.id, &kept);
        }
        match status {
            ApprovalStatus::Denied => {
                let answer = store.answer(&pending.id).ok().flatten();
                told(&declined(&answer.map(|answer| answer.words).unwrap_or_default()))
            }
            ApprovalStatus::Expired => {
                told("nobody answered in time; make the call again to ask again")
            }
            ApprovalStatus::Revoked => {
                told("the token that asked was revoked, so nobody can approve the call")
            }
            ApprovalStatus::Pending | ApprovalStatus::Approved | ApprovalStatus::TakenUp => told(
                "the call was approved elsewhere and runs; make it again later to get its outcome",
            ),
        }
    }

    fn refused(&self, pending: &PendingApproval, err: &ApprovalError) -> CallToolResult {
        match err {
            ApprovalError::Closed(status) => self.closed(pending, *status),
            ApprovalError::NotFound => {
                told("the question is not known any more; make the call again")
            }
            ApprovalError::OwnCall => {
                told("an answer of this client does not count; another person must answer")
            }
            ApprovalError::Store(err) => {
                told(&format!("the answer cannot be stored, so the call was not run: {err}"))
            }
        }
    }
}

/// A person who has said no to a call. Says who, and what the agent should know.
struct Declined {
    by: String,
    words: String,
}

impl Approver for Declined {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::No(self.by.clone(), self.words.clone()) })
    }

    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::NotNeeded
    }
}

fn declined(words: &str) -> String {
    if words.is_empty() {
        "a person declined the call; do something else, or ask them why".to_owned()
    } else {
        format!("a person declined the call: {words}")
    }
}

/// Returns a reply for a call that did not run.
fn told(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.to_owned())])
}
