//! A command and how far it is: what those who wait for it share with the one who follows it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use toolcrib_core::command::{ChangedFiles, End, Finished};
use toolcrib_core::{CallId, Cancel, SessionId, ToolError, Usage};

use super::output::Collector;

/// A command and all that is known of it.
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) at: Timestamp,
    pub(crate) rest: String,
    progress: Mutex<Progress>,
    changed: Condvar,
    /// Ends it.
    pub(crate) cancel: Cancel,
    /// Who started it, while it is a task whose end nobody was told.
    asker: Mutex<Option<Asker>>,
}

/// Who started a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    /// The conversation.
    pub session: SessionId,
    /// The tool, `catalogue/name`.
    pub tool: String,
}

impl Asker {
    /// Returns one for commands that no call asks for.
    pub fn nobody() -> Self {
        Self { session: SessionId(String::new()), tool: String::new() }
    }
}

/// A task that is over.
#[derive(Clone, Debug)]
pub struct TaskEnd {
    /// The call that started it, whose id is the task's.
    pub call: CallId,
    /// Who made that call.
    pub asker: Asker,
    /// How it ended.
    pub end: End,
    /// What it used.
    pub usage: Usage,
    /// How long it took.
    pub elapsed: Duration,
    /// What it was seen to have changed.
    pub touched: ChangedFiles,
}

/// How far a command is.
pub(crate) struct Progress {
    pub(crate) stdout: Collector,
    pub(crate) stderr: Collector,
    pub(crate) finished: Option<Result<Finished, ToolError>>,
    pub(crate) deadline: Instant,
}

impl Job {
    pub(crate) fn new(
        id: String,
        text: String,
        rest: String,
        at: Timestamp,
        progress: Progress,
    ) -> Self {
        let (progress, changed, cancel) = (Mutex::new(progress), Condvar::new(), Cancel::default());
        Self { id, text, at, rest, progress, changed, cancel, asker: Mutex::default() }
    }

    /// Makes it a task of this asker.
    pub(crate) fn keep_for(&self, asker: &Asker) {
        *self.asker.lock().unwrap_or_else(PoisonError::into_inner) = Some(asker.clone());
    }

    /// Who started it, if it is a task that is not over.
    pub(crate) fn task_of(&self) -> Option<Asker> {
        self.asker.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns who is to be told of its end: once, and only of a task.
    pub(crate) fn asker(&self) -> Option<Asker> {
        self.asker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How far it is, now.
    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is over, until `until`, or until `cancel`; returns whether it is over.
    pub(crate) fn wait(self: &Arc<Self>, until: Instant, cancel: &Cancel) -> bool {
        let waker = Waker::from(Arc::new(Notify(Arc::clone(self))));
        let mut cancelled = std::pin::pin!(cancel.cancelled());
        let mut progress = self.progress();
        loop {
            if progress.finished.is_some() {
                return true;
            }
            // Asking may wake at once, and waking takes the same lock.
            drop(progress);
            if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return false;
            }
            progress = self.progress();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return progress.finished.is_some();
            }
            if progress.finished.is_none() && !cancel.is_cancelled() {
                let waited = self.changed.wait_timeout(progress, left);
                progress = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    pub(crate) fn finish(&self, finished: Result<Finished, ToolError>) {
        self.progress().finished = Some(finished);
        self.changed.notify_all();
    }
}

/// Wakes whoever waits for a job.
struct Notify(Arc<Job>);

impl Wake for Notify {
    fn wake(self: Arc<Self>) {
        // Under the lock, so that it cannot fall between a look and the wait.
        let _held = self.0.progress();
        self.0.changed.notify_all();
    }
}
