//! The approval queue: a question can be answered at the prompt or from another process, by whoever is first.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use toolcrib_core::approval::{
    ApprovalAnswer, ApprovalStatus, ApprovalStore, GrantOffer, PendingApproval,
};
use toolcrib_core::policy::{Answer, Wish};
use toolcrib_core::{Call, Clock};

use crate::approver::{AnswerFuture, Approver};
use crate::call::question::Question;
use crate::call::review::{ConfirmationSource, SessionKind};

/// How often the store is asked whether someone else has answered.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How many parked calls are remembered before those that were answered are forgotten.
const MOST_PARKED: usize = 256;

/// How many calls of one session can wait for an answer at once.
const MOST_WAITING: usize = 64;

/// A prompt that can be taken away because someone else answered.
pub trait Prompt: Approver {
    /// Tells the person that the question was answered elsewhere, if they were shown it.
    fn dismiss(&self, question: &Question);
}

/// Asks at the prompt if there is one, and lets other processes answer.
pub struct ApprovalQueue {
    /// Where the questions are put.
    pub store: Arc<dyn ApprovalStore>,
    /// The prompt of this process.
    pub prompt: Option<Arc<dyn Prompt>>,
    /// What becomes of a call that nobody can be asked about now.
    pub unattended: Unattended,
    /// Whether there is a session in which a call can be repeated.
    pub session: SessionKind,
    /// How long there is to answer at the prompt.
    pub prompt_time: Duration,
    /// How this process is known to others.
    pub process: String,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The calls that this process has parked.
    pub parked: ParkedQuestions,
}

/// The parked calls whose answer the caller was not told yet, by session and digest of the call. A clone has the same
/// ones.
#[derive(Clone, Default)]
pub struct ParkedQuestions(Arc<Mutex<HashMap<(String, String), PendingApproval>>>);

impl ParkedQuestions {
    /// Forgets a parked call, because its caller was told the answer.
    pub fn forget(&self, id: &str) {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, it| it.id != id);
    }

    /// Returns the parked call of a session that is equal to this one.
    pub fn equal_to(&self, call: &Call) -> Option<PendingApproval> {
        let parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if parked.is_empty() {
            return None;
        }
        let digest = call.digest().to_string();
        parked.get(&(call.session.0.clone(), digest)).cloned()
    }
}

/// What becomes of a call that nobody can be asked about now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unattended {
    /// It is refused at once.
    Refuse,
    /// It is parked, and can be answered for this long.
    Park(Duration),
}

impl Approver for ApprovalQueue {
    fn confirmation(&self) -> ConfirmationSource {
        match (&self.prompt, self.session) {
            (Some(_), _) => ConfirmationSource::NotNeeded,
            (None, SessionKind::SingleCall) => ConfirmationSource::InTheCall,
            (None, SessionKind::ManyCalls) => ConfirmationSource::WhenTold,
        }
    }

    fn session(&self) -> SessionKind {
        self.session
    }

    fn asks_about_hosts(&self) -> bool {
        self.prompt.is_some()
    }

    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            let unattended = match &question.shown.host {
                None => self.unattended,
                // The command waits for the answer, so nobody can give it later.
                Some(_) => Unattended::Refuse,
            };
            let time = match (&self.prompt, unattended) {
                (Some(_), _) => self.prompt_time,
                (None, Unattended::Park(time)) => time,
                (None, Unattended::Refuse) => return Answer::Nobody,
            };
            let pending = self.pending(question, time);
            let Some(prompt) = &self.prompt else {
                return self.park(pending, |pending| self.store.add(pending));
            };
            // A question that cannot be put into the store can still be asked here.
            if self.store.add(&pending).is_err() {
                return prompt.ask(question).await;
            }
            let mut open = AwaitedQuestion { queue: self, pending: &pending, stays_open: false };
            let answer = tokio::select! {
                answer = prompt.ask(question) => self.store_answer(&pending, answer),
                answer = self.answer_from_elsewhere(&pending) => {
                    prompt.dismiss(question);
                    answer
                }
            };
            let answer = match (answer, unattended) {
                (Answer::Nobody, Unattended::Park(time)) => self.leave(&pending, time),
                (answer, _) => answer,
            };
            open.stays_open = matches!(&answer, Answer::Parked(id) if *id == pending.id);
            answer
        })
    }
}

/// A question that a process waits for. If it waits no more, the question is closed, so that nobody approves a call that
/// will not run. If it was answered, that changes nothing: the first answer counts.
struct AwaitedQuestion<'a> {
    queue: &'a ApprovalQueue,
    pending: &'a PendingApproval,
    /// Whether the call was parked, and can be answered later.
    stays_open: bool,
}

impl Drop for AwaitedQuestion<'_> {
    fn drop(&mut self) {
        if self.stays_open {
            return;
        }
        let words = match self.pending.question.host {
            None => "the call ended before anyone answered",
            Some(_) => "nothing waits for this host any more",
        };
        let closed = ApprovalAnswer {
            is_approved: false,
            by: "Toolcrib".to_owned(),
            words: words.to_owned(),
            wish: None,
            at: self.queue.clock.now(),
        };
        let _ = self.queue.store.decide(&self.pending.id, &closed);
    }
}

/// Returns a yes, with the grant that was wished for if it is one of those that were offered.
pub(super) fn yes_with(by: String, wish: Option<Wish>, offers: &[GrantOffer]) -> Answer {
    match wish.filter(|wish| offers.iter().any(|offer| offer.wish == *wish)) {
        Some(wish) => Answer::Always(by, wish),
        None => Answer::Yes(by),
    }
}

impl ApprovalQueue {
    /// Parks a call. If the session has parked an equal one that nobody has answered yet, that one's answer is for
    /// both: a hundred equal calls are one question. If it was answered meanwhile, the caller is told so, once.
    /// `store` puts it into the store.
    fn park(
        &self,
        pending: PendingApproval,
        store: impl Fn(&PendingApproval) -> io::Result<()>,
    ) -> Answer {
        let call = pending.to_call().digest().to_string();
        let key = (pending.requester.clone(), call);
        // Held while the question is stored, so that two equal calls do not both ask.
        let mut parked = self.parked.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = parked.get(&key);
        match first.and_then(|it| self.store.status(it, pending.created_at).ok()) {
            Some(ApprovalStatus::Pending)
                if first.is_some_and(|it| it.digest == pending.digest) =>
            {
                return Answer::Parked(first.map_or_else(String::new, |it| it.id.clone()));
            }
            Some(ApprovalStatus::Denied | ApprovalStatus::TakenUp) => {
                let told = parked.remove(&key).and_then(|first| self.answer_to_parked(&first));
                if let Some(told) = told {
                    return told;
                }
            }
            // One that expired, or that is about something else by now, is asked about anew.
            Some(_) | None => {}
        }
        let waits = |it: &PendingApproval| {
            let status = self.store.status(it, pending.created_at);
            it.requester == pending.requester && matches!(status, Ok(ApprovalStatus::Pending))
        };
        if parked.keys().filter(|it| it.0 == key.0).count() >= MOST_WAITING
            && parked.values().filter(|it| waits(it)).count() >= MOST_WAITING
        {
            let words = format!(
                "{MOST_WAITING} calls of this session wait for an answer already; make this call when some are answered"
            );
            return Answer::No("Toolcrib".to_owned(), words);
        }
        if store(&pending).is_err() {
            return Answer::Nobody;
        }
        if parked.len() >= MOST_PARKED {
            let now = pending.created_at;
            let waits = |it: &PendingApproval| self.store.status(it, now).ok();
            parked.retain(|_, it| waits(it) == Some(ApprovalStatus::Pending));
        }
        let id = pending.id.clone();
        parked.insert(key, pending);
        Answer::Parked(id)
    }

    /// Leaves a question to others that nobody at the prompt has answered. Somebody may answer it at this very moment.
    fn leave(&self, pending: &PendingApproval, time: Duration) -> Answer {
        if let Some(answer) = self.stored_answer(pending) {
            return answer;
        }
        let parked =
            PendingApproval { is_parked: true, expires_at: self.expiry(time), ..pending.clone() };
        let left = self.park(parked, |parked| self.store.park(parked));
        match self.stored_answer(pending) {
            Some(answer) if matches!(&left, Answer::Parked(id) if *id == pending.id) => {
                self.parked.forget(&pending.id);
                answer
            }
            _ => left,
        }
    }

    /// Returns what a caller is told who asks again for a call that was parked and is answered.
    fn answer_to_parked(&self, first: &PendingApproval) -> Option<Answer> {
        let answer = self.store.answer(&first.id).ok().flatten()?;
        Some(if answer.is_approved {
            Answer::RanElsewhere(first.id.clone())
        } else {
            Answer::No(answer.by, answer.words)
        })
    }

    /// Stores an answer. If someone else was faster, theirs counts.
    fn store_answer(&self, pending: &PendingApproval, answer: Answer) -> Answer {
        let (is_approved, by, words, wish) = match &answer {
            Answer::Yes(by) => (true, by.clone(), String::new(), None),
            Answer::Always(by, wish) => (true, by.clone(), String::new(), Some(wish.clone())),
            Answer::No(by, words) => (false, by.clone(), words.clone(), None),
            Answer::Changed { by, call, .. } => {
                (false, by.clone(), format!("changed, and made as call {call}"), None)
            }
            Answer::Nobody | Answer::Parked(_) | Answer::RanElsewhere(_) => return answer,
        };
        let stored = ApprovalAnswer { is_approved, by, words, wish, at: self.clock.now() };
        match self.store.decide(&pending.id, &stored) {
            Ok(true) if is_approved => self.take_up(&pending.id, answer),
            Ok(true) | Err(_) => answer,
            Ok(false) => self.stored_answer(pending).unwrap_or(Answer::Nobody),
        }
    }

    async fn answer_from_elsewhere(&self, pending: &PendingApproval) -> Answer {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if let Some(answer) = self.stored_answer(pending) {
                return answer;
            }
        }
    }

    fn stored_answer(&self, pending: &PendingApproval) -> Option<Answer> {
        let answer = self.store.answer(&pending.id).ok().flatten()?;
        if !answer.is_approved {
            return Some(Answer::No(answer.by, answer.words));
        }
        let yes = yes_with(answer.by, answer.wish, &pending.question.grants);
        Some(self.take_up(&pending.id, yes))
    }

    /// Takes up an approved call, because it runs once: in the process that is first.
    fn take_up(&self, id: &str, answer: Answer) -> Answer {
        match self.store.take_up(id) {
            Ok(true) => answer,
            _ => Answer::No("another process".to_owned(), "it runs there already".to_owned()),
        }
    }

    fn pending(&self, question: &Question, time: Duration) -> PendingApproval {
        PendingApproval {
            id: question.id.clone(),
            tool: question.tool.clone(),
            args: question.args.clone(),
            digest: question.digest.clone(),
            workspace: question.root.clone(),
            requester: question.asker.session.clone(),
            caller: (*question.asker.caller).clone(),
            conversation: question.asker.conversation.clone(),
            trace: question.asker.trace.clone(),
            question: question.shown.clone(),
            pins: question.pins.pinned.clone(),
            is_parked: self.prompt.is_none(),
            process: self.process.clone(),
            created_at: self.clock.now(),
            expires_at: self.expiry(time),
        }
    }

    /// Returns when a question expires that is asked now.
    fn expiry(&self, time: Duration) -> Timestamp {
        let now = self.clock.now();
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::from_secs(120));
        now.checked_add(time).unwrap_or(now)
    }
}
