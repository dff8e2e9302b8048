//! The queue behind the prompt: what a person is asked can be answered here or from another process, by
//! whoever is first.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use toolcrib_core::policy::Answer;
use toolcrib_ledger::{ApprovalAnswer, ApprovalQuestion, Approvals, PendingApproval, this_process};
use toolcrib_runtime::{AnswerFuture, Approver, ConfirmationSource, Question};

use super::prompt::{Prompt, show};

/// How often it is looked whether someone else has answered.
const LOOK: Duration = Duration::from_millis(200);

/// Asks on the terminal if there is one, and lets others answer.
pub(super) struct Queue {
    pub(super) approvals: Approvals,
    pub(super) prompt: Option<Prompt>,
    /// Whether a call that nobody can be asked about now is kept.
    pub(super) parks: bool,
    /// Whether this is one call and no session: there is nothing to repeat it in.
    pub(super) is_single: bool,
    /// How long a call that is kept can be answered.
    pub(super) park_time: Duration,
    /// How long there is to answer.
    pub(super) time: Duration,
}

impl Approver for Queue {
    fn confirmation(&self) -> ConfirmationSource {
        match (&self.prompt, self.is_single) {
            (Some(_), _) => ConfirmationSource::NotNeeded,
            (None, true) => ConfirmationSource::InTheCall,
            (None, false) => ConfirmationSource::WhenTold,
        }
    }

    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            if self.prompt.is_none() && !self.parks {
                return Answer::Nobody;
            }
            let pending = self.pending(question);
            // What cannot be put up for others can still be asked here.
            let is_up = self.approvals.add(&pending).is_ok();
            match &self.prompt {
                None if is_up => Answer::Parked(pending.id),
                None => Answer::Nobody,
                Some(prompt) if !is_up => prompt.ask(question).await,
                Some(prompt) => tokio::select! {
                    answer = prompt.ask(question) => self.settle(&pending.id, answer),
                    answer = self.other(&pending.id) => {
                        show("\nAnswered elsewhere.\n");
                        answer
                    }
                },
            }
        })
    }
}

impl Queue {
    /// Puts an answer down; if someone else was faster, theirs counts.
    fn settle(&self, id: &str, answer: Answer) -> Answer {
        let (is_approved, by, words) = match &answer {
            Answer::Yes(by) | Answer::Always(by, _) => (true, by.clone(), String::new()),
            Answer::No(by, words) => (false, by.clone(), words.clone()),
            Answer::Nobody | Answer::Parked(_) => return answer,
        };
        let decided = ApprovalAnswer { is_approved, by, words, at: Timestamp::now() };
        match self.approvals.decide(id, &decided) {
            Ok(true) if is_approved => self.take_up(id, answer),
            Ok(true) | Err(_) => answer,
            Ok(false) => self.read(id).unwrap_or(Answer::Nobody),
        }
    }

    /// Waits until someone else has answered.
    async fn other(&self, id: &str) -> Answer {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(answer) = self.read(id) {
                return answer;
            }
        }
    }

    fn read(&self, id: &str) -> Option<Answer> {
        let decided = self.approvals.answer(id).ok().flatten()?;
        if !decided.is_approved {
            return Some(Answer::No(decided.by, decided.words));
        }
        Some(self.take_up(id, Answer::Yes(decided.by)))
    }

    /// What is approved is run once: by whoever takes it up first.
    fn take_up(&self, id: &str, answer: Answer) -> Answer {
        match self.approvals.take_up(id) {
            Ok(true) => answer,
            _ => Answer::No("another process".to_owned(), "it runs there already".to_owned()),
        }
    }

    fn pending(&self, question: &Question) -> PendingApproval {
        let now = Timestamp::now();
        let time = if self.prompt.is_some() { self.time } else { self.park_time };
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::from_secs(120));
        PendingApproval {
            id: question.call.0.clone(),
            tool: format!("{}/{}", question.catalogue, question.declaration.name),
            args: question.args.clone(),
            digest: question.digest.clone(),
            workspace: question.root.clone(),
            requester: question.session.clone(),
            question: ApprovalQuestion {
                rule: question.decision.rule.clone(),
                reading: question.decision.reading.clone(),
                files: question.places.clone(),
                loose: question.unpinned.clone(),
            },
            is_parked: self.prompt.is_none(),
            process: this_process(),
            created_at: now,
            expires_at: now.checked_add(time).unwrap_or(now),
        }
    }
}
