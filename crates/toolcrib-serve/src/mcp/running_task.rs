//! A call that goes on without its client, which comes back for the outcome: a task of MCP.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;
use toolcrib_core::calling_client::{Answers, ClientQuestion};
use toolcrib_core::{Cancel, ErrorKind, ToolError};
use toolcrib_ledger::{DetachedCall, DetachedEnd};

/// The tasks that this process runs, by id.
#[derive(Default)]
pub(super) struct RunningTasks(Mutex<HashMap<String, Arc<RunningTask>>>);

/// A call that goes on without its client.
pub(super) struct RunningTask {
    /// The call, as it is on the disk.
    pub(super) call: DetachedCall,
    /// Cancels it.
    pub(super) cancel: Cancel,
    state: Mutex<TaskProgress>,
    has_answers: Notify,
}

#[derive(Default)]
struct TaskProgress {
    updated: Option<Timestamp>,
    pending: BTreeMap<String, ClientQuestion>,
    answers: Answers,
    /// How it ended, if that could not be written to the disk.
    end: Option<DetachedEnd>,
}

impl RunningTasks {
    pub(super) fn add(&self, task: &Arc<RunningTask>) {
        self.lock().insert(task.call.id.clone(), Arc::clone(task));
    }

    /// Returns how many tasks of a principal run.
    pub(super) fn count_of(&self, principal: &str) -> usize {
        self.lock().values().filter(|task| task.call.principal == principal).count()
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<RunningTask>> {
        self.lock().get(id).cloned()
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<RunningTask>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningTask {
    pub(super) fn new(call: DetachedCall, cancel: Cancel) -> Self {
        Self { call, cancel, state: Mutex::default(), has_answers: Notify::new() }
    }

    /// Asks the client, which finds the questions when it looks how the task stands.
    pub(super) async fn ask(
        &self,
        questions: BTreeMap<String, ClientQuestion>,
        now: Timestamp,
    ) -> Result<Answers, ToolError> {
        let names: Vec<String> = questions.keys().cloned().collect();
        {
            let mut state = self.state();
            state.pending.extend(questions);
            state.updated = Some(now);
        }
        loop {
            let answered = self.has_answers.notified();
            {
                let mut state = self.state();
                if names.iter().all(|name| state.answers.contains_key(name)) {
                    let taken = names.iter().filter_map(|name| state.answers.remove_entry(name));
                    return Ok(taken.collect());
                }
            }
            tokio::select! {
                () = answered => {}
                () = self.cancel.cancelled() => {
                    return Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"));
                }
            }
        }
    }

    /// Takes the answers to questions that are open. Others are ignored, and so is what has not the form of an answer.
    pub(super) fn answer(&self, answers: BTreeMap<String, Value>, now: Timestamp) {
        let mut state = self.state();
        for (name, answer) in answers {
            if answer.is_object() && state.pending.remove(&name).is_some() {
                state.answers.insert(name, answer);
                state.updated = Some(now);
            }
        }
        drop(state);
        self.has_answers.notify_waiters();
    }

    /// Returns the questions that are open.
    pub(super) fn pending(&self) -> BTreeMap<String, ClientQuestion> {
        self.state().pending.clone()
    }

    /// Returns when it changed last.
    pub(super) fn updated(&self) -> Timestamp {
        self.state().updated.unwrap_or(self.call.at)
    }

    /// Keeps in memory how the call ended.
    pub(super) fn keep_end(&self, end: DetachedEnd) {
        self.state().end = Some(end);
    }

    /// Returns how the call ended, if that could not be written to the disk.
    pub(super) fn kept_end(&self) -> Option<DetachedEnd> {
        self.state().end.clone()
    }

    fn state(&self) -> MutexGuard<'_, TaskProgress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
