//! Answers to pending approvals from a process that did not ask: approve, deny, and run what was parked.

use std::io;
use std::sync::Arc;

use serde_json::json;
use toolcrib_core::approval::{ApprovalAnswer, ApprovalStatus, ApprovalStore, PendingApproval};
use toolcrib_core::pin::{Pin, list_changes, pin_changes};
use toolcrib_core::policy::{Answer, Wish};
use toolcrib_core::{Call, Clock, Note, Principal, Recorder};

use super::queue::yes_with;
use crate::approver::{AnswerFuture, Approver};
use crate::call::question::Question;
use crate::call::review::{ConfirmationSource, Review};

/// Gives answers to pending approvals.
pub struct ApprovalAnswers {
    /// Where the approvals are.
    pub store: Arc<dyn ApprovalStore>,
    /// Keeps the record.
    pub recorder: Arc<dyn Recorder>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// Why an answer does not count.
#[derive(Debug)]
pub enum ApprovalError {
    /// No approval has this id.
    NotFound,
    /// The one who answers is the one who asked.
    OwnCall,
    /// It was answered before, or it expired.
    Closed(ApprovalStatus),
    /// The store failed.
    Store(io::Error),
}

impl From<io::Error> for ApprovalError {
    fn from(err: io::Error) -> Self {
        Self::Store(err)
    }
}

/// What follows from an approval.
pub enum Approved {
    /// The process that asked runs the call.
    RunsElsewhere,
    /// The call was parked, so whoever approved it runs it, once.
    RunsHere(Box<ParkedCall>),
}

/// A parked call that was approved.
pub struct ParkedCall {
    /// The workspace it belongs to.
    pub workspace: String,
    /// The call.
    pub call: Call,
    /// Says yes to this call and to no other.
    pub approver: Arc<dyn Approver>,
}

impl ApprovalAnswers {
    /// Returns an approval and its status.
    pub fn find(&self, id: &str) -> Result<(PendingApproval, ApprovalStatus), ApprovalError> {
        let pending = self.store.find(id).map_err(|_| ApprovalError::NotFound)?;
        let status = self.store.status(&pending, self.clock.now())?;
        Ok((pending, status))
    }

    /// Returns an approval that `by` may answer.
    fn find_for(
        &self,
        id: &str,
        by: &Principal,
    ) -> Result<(PendingApproval, ApprovalStatus), ApprovalError> {
        let (pending, status) = self.find(id)?;
        if !by.may_answer_for(&pending.caller.principal) {
            return Err(ApprovalError::OwnCall);
        }
        Ok((pending, status))
    }

    /// Denies a call.
    pub fn deny(
        &self,
        id: &str,
        by: &Principal,
        words: &str,
    ) -> Result<PendingApproval, ApprovalError> {
        let (pending, status) = self.find_for(id, by)?;
        self.answer(&pending, status, GivenVerdict::Denied(words), by)?;
        self.note(&pending, "denied", by, words);
        Ok(pending)
    }

    /// Approves a call, and takes it up if nobody waits for it. `wish` is the grant of a person who said "always".
    pub fn approve(
        &self,
        id: &str,
        by: &Principal,
        wish: Option<Wish>,
    ) -> Result<Approved, ApprovalError> {
        let (pending, status) = self.find_for(id, by)?;
        // A call that was approved by a process that ended before taking it up can be taken up now.
        if status != ApprovalStatus::Approved {
            self.answer(&pending, status, GivenVerdict::Approved(wish), by)?;
            self.note(&pending, "approved", by, "");
        }
        if !pending.is_parked || !self.store.take_up(id)? {
            return Ok(Approved::RunsElsewhere);
        }
        let answer = self.store.answer(id)?;
        let (by, wish) = answer.map(|answer| (answer.by, answer.wish)).unwrap_or_default();
        let call = pending.to_call();
        let approver =
            Arc::new(GivenAnswer { digest: pending.digest, pinned: pending.pins, by, wish });
        let parked = ParkedCall { workspace: pending.workspace, call, approver };
        Ok(Approved::RunsHere(Box::new(parked)))
    }

    fn answer(
        &self,
        pending: &PendingApproval,
        status: ApprovalStatus,
        verdict: GivenVerdict<'_>,
        by: &Principal,
    ) -> Result<(), ApprovalError> {
        let (is_approved, words, wish) = match verdict {
            GivenVerdict::Approved(wish) => (true, "", wish),
            GivenVerdict::Denied(words) => (false, words, None),
        };
        let (by, words) = (by.name.clone(), words.to_owned());
        let answer = ApprovalAnswer { is_approved, by, words, wish, at: self.clock.now() };
        if status == ApprovalStatus::Pending && self.store.decide(&pending.id, &answer)? {
            return Ok(());
        }
        Err(ApprovalError::Closed(self.store.status(pending, self.clock.now())?))
    }

    /// Records an answer. What became of one about a host is recorded by the process whose command waits for it, if the
    /// command still runs then.
    fn note(&self, pending: &PendingApproval, event: &str, by: &Principal, words: &str) {
        let PendingApproval { requester, caller, .. } = pending;
        let asker = &caller.principal.name;
        let mut detail = json!({
            "by": by.name, "role": by.role.as_str(), "words": words,
            "requester": requester, "asker": asker,
        });
        let mut recorded = event;
        if let Some(host) = &pending.question.host {
            recorded = "host_answered";
            let words = if words.is_empty() { String::new() } else { format!(": {words}") };
            detail["words"] = format!("{host} {event}{words}").into();
        }
        let (tool, call, event) = (Some(&pending.tool), pending.call_id(), recorded);
        let at = self.clock.now();
        let note = Note { at, actor: "user", act: "approval", event, tool, call, detail };
        let _ = self.recorder.note(&note);
    }
}

enum GivenVerdict<'a> {
    Approved(Option<Wish>),
    Denied(&'a str),
}

/// An answer given before, to one call and no other.
struct GivenAnswer {
    digest: String,
    pinned: Vec<Pin>,
    by: String,
    wish: Option<Wish>,
}

impl Approver for GivenAnswer {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            if question.digest == self.digest {
                return yes_with(self.by.clone(), self.wish.clone(), &question.shown.grants);
            }
            let changes = list_changes(pin_changes(&self.pinned, &question.pins.pinned));
            let words = match changes {
                Some(changes) => {
                    format!(
                        "something changed after the question: {changes}; the agent must make the call again"
                    )
                }
                None => "it is not the call that was approved".to_owned(),
            };
            Answer::No(self.by.clone(), words)
        })
    }

    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::NotNeeded
    }

    fn review(&self) -> Review {
        Review::Parked
    }
}
