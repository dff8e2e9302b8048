//! A running or ended command: the state that its supervisor shares with those who wait for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use toolcrib_core::command::{ChangedFiles, End, Finished, NetworkAccount};
use toolcrib_core::{CallId, Cancel, Principal, SessionId, ToolError, ToolName, Usage};

use super::output::Collector;

/// A command, from its start until this process forgets it.
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Whose command it is. `None` stands for the user at the terminal.
    pub(crate) principal: Option<Principal>,
    pub(crate) at: Timestamp,
    /// How a reader gets at the output that is left out of the answer.
    pub(crate) rest_hint: String,
    progress: Mutex<JobProgress>,
    changed: Condvar,
    /// Cancelling it ends the command.
    pub(crate) cancel: Cancel,
    /// The owner of a task whose end was not reported yet.
    owner: Mutex<Option<TaskOwner>>,
}

/// Who started a task: a session, through a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskOwner {
    /// Whose commands they are. Nobody else reads or ends them. `None` stands for the user at the terminal.
    pub principal: Option<Principal>,
    /// The session.
    pub session: SessionId,
    /// The tool, `catalogue/name`.
    pub tool: ToolName,
}

impl TaskOwner {
    /// Returns the owner of commands that no call started.
    pub fn nobody() -> Self {
        Self { principal: None, session: SessionId(String::new()), tool: ToolName::default() }
    }
}

/// The end of a task.
#[derive(Clone, Debug)]
pub struct TaskEnd {
    /// The call that started the task. The id of the call is the id of the task.
    pub call: CallId,
    /// Who made that call.
    pub owner: TaskOwner,
    /// How the task ended.
    pub end: End,
    /// What the task used.
    pub usage: Usage,
    /// How long the task took.
    pub elapsed: Duration,
    /// The files that it changed, as far as a scan found them.
    pub touched: ChangedFiles,
    /// What passed between it and the network.
    pub network: NetworkAccount,
}

impl TaskEnd {
    /// Returns the end of a task of which nothing is known but that it is over.
    pub(crate) fn unknown(call: CallId, owner: TaskOwner) -> Self {
        Self {
            call,
            owner,
            end: End::Killed,
            usage: Usage::default(),
            elapsed: Duration::ZERO,
            touched: ChangedFiles::default(),
            network: NetworkAccount::default(),
        }
    }

    /// Returns how many bytes the task wrote or sent, as quotas count them.
    pub fn written_bytes(&self) -> u64 {
        self.usage.written_bytes.saturating_add(self.network.total().bytes_up)
    }
}

/// The progress of a command.
pub(crate) struct JobProgress {
    pub(crate) stdout: Collector,
    pub(crate) stderr: Collector,
    pub(crate) finished: Option<Result<Finished, ToolError>>,
    pub(crate) deadline: Instant,
}

impl Job {
    pub(crate) fn new(
        id: String,
        text: String,
        rest_hint: String,
        at: Timestamp,
        progress: JobProgress,
    ) -> Self {
        let (progress, changed, cancel) = (Mutex::new(progress), Condvar::new(), Cancel::default());
        let (principal, owner) = (None, Mutex::default());
        Self { id, text, principal, at, rest_hint, progress, changed, cancel, owner }
    }

    /// Returns the job as one of this principal.
    pub(crate) fn of(self, principal: Option<Principal>) -> Self {
        Self { principal, ..self }
    }

    /// Makes the command a task of `owner`.
    pub(crate) fn detach_to(&self, owner: &TaskOwner) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner.clone());
    }

    /// Returns the owner, if the command is a task whose end was not reported yet.
    pub(crate) fn owner(&self) -> Option<TaskOwner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the owner, so that the end of a task is reported once. `None` for a command that is no task.
    pub(crate) fn take_owner(&self) -> Option<TaskOwner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Locks and returns the progress.
    pub(crate) fn progress(&self) -> MutexGuard<'_, JobProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the command has ended, until `until`, or until `cancel`. Returns whether the command has ended.
    pub(crate) fn wait(self: &Arc<Self>, until: Instant, cancel: &Cancel) -> bool {
        let waker = Waker::from(Arc::new(Notify(Arc::clone(self))));
        let mut cancelled = std::pin::pin!(cancel.cancelled());
        let mut progress = self.progress();
        loop {
            if progress.finished.is_some() {
                return true;
            }
            // Polling may call the waker at once, and the waker takes the same lock.
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

    /// Stores how the command ended and wakes those who wait for it.
    pub(crate) fn finish(&self, finished: Result<Finished, ToolError>) {
        self.progress().finished = Some(finished);
        self.changed.notify_all();
    }
}

/// Wakes those who wait for a job.
struct Notify(Arc<Job>);

impl Wake for Notify {
    fn wake(self: Arc<Self>) {
        // The lock is held so that the wakeup cannot fall between a check and the wait.
        let _progress = self.0.progress();
        self.0.changed.notify_all();
    }
}
