//! Watches calls that run on the thread of their caller. It does for them what the event loop does for calls on other
//! threads: it writes the record of a slow call, ends a call at its deadline, and answers for a call that does not stop.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::{Cancel, ErrorKind, Outcome, ToolError};

use super::ended::Ended;
use super::scope::CallScope;
use super::stopping::{CANCEL_GRACE, FLUSH_AFTER, abandoned, cancelled, stopped_with, timeout};

/// How often calls are inspected while there are some.
const TICK: Duration = FLUSH_AFTER;

/// Watches the calls of many threads, on one thread of its own, which sleeps while there are no calls.
pub struct Watchdog(Arc<WatchdogState>);

/// What the callers and the watching thread share.
#[derive(Default)]
struct WatchdogState {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Default)]
struct Watched {
    calls: Vec<Arc<WatchedCall>>,
    /// How many calls entered since the last inspection.
    entered: u64,
    thread: WatchThread,
}

/// What the watching thread does.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum WatchThread {
    /// It waits until there is a call.
    #[default]
    Sleeps,
    /// It inspects the calls at every tick.
    Ticks,
    /// It is to end.
    Ends,
}

/// Answers for a call whose thread does not come back in time.
pub type LateAnswer = Arc<dyn Fn(Outcome) + Send + Sync>;

/// The thread of a caller that waits for its call, however long that takes.
pub(crate) struct OwnThread<'a> {
    pub(crate) watchdog: &'a Watchdog,
    /// Answers in its place.
    pub(crate) late: LateAnswer,
    /// When the call was asked for.
    pub(crate) asked: Instant,
}

/// The time that a part of a call has.
#[derive(Clone, Copy)]
pub(crate) struct CallTime {
    /// The time that the tool has.
    pub(crate) deadline: Duration,
    /// The time that comes on top for a tool that keeps its deadline itself.
    pub(crate) reserve: Duration,
}

/// A call that runs on the thread of its caller.
struct WatchedCall {
    scope: Arc<CallScope>,
    cancel: Cancel,
    late: LateAnswer,
    /// When the call was asked for.
    asked: Instant,
    /// When this part of its work began.
    began: Instant,
    time: CallTime,
    progress: Mutex<WatchProgress>,
}

#[derive(Default)]
struct WatchProgress {
    is_flushed: bool,
    /// Why the call was told to stop, and when.
    stopped: Option<(ToolError, Instant)>,
}

impl Default for Watchdog {
    fn default() -> Self {
        let state = Arc::new(WatchdogState::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || watch(&shared));
        Self(state)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.watched().thread = WatchThread::Ends;
        self.0.changed.notify_one();
    }
}

impl Watchdog {
    /// Returns how many calls are watched.
    pub fn watched_calls(&self) -> usize {
        self.0.watched().calls.len()
    }
}

impl OwnThread<'_> {
    /// Runs `work` on this thread. If it must stop and does not, the call is answered for it, and what it returns
    /// later does not count.
    pub(crate) fn run<T>(
        &self,
        scope: &Arc<CallScope>,
        time: CallTime,
        work: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let cancel = &scope.ctx.cancel;
        cancel.check()?;
        let call = Arc::new(WatchedCall {
            scope: Arc::clone(scope),
            cancel: cancel.clone(),
            late: Arc::clone(&self.late),
            asked: self.asked,
            began: Instant::now(),
            time,
            progress: Mutex::default(),
        });
        self.watchdog.0.enter(&call);
        let done = work();
        self.watchdog.0.leave(&call);
        let stopped = call.progress().stopped.take();
        match (done, stopped) {
            (Err(own), Some((stopped, _))) if own.kind == ErrorKind::Cancelled => {
                Err(stopped_with(stopped, own))
            }
            (done, _) => done,
        }
    }
}

impl WatchdogState {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, call: &Arc<WatchedCall>) {
        let mut watched = self.watched();
        watched.calls.push(Arc::clone(call));
        watched.entered += 1;
        if watched.thread == WatchThread::Sleeps {
            watched.thread = WatchThread::Ticks;
            drop(watched);
            self.changed.notify_one();
        }
    }

    fn leave(&self, call: &Arc<WatchedCall>) {
        let mut watched = self.watched();
        if let Some(at) = watched.calls.iter().position(|it| Arc::ptr_eq(it, call)) {
            watched.calls.swap_remove(at);
        }
    }
}

/// Inspects the calls at every tick, and sleeps when there were none for a tick.
fn watch(state: &WatchdogState) {
    let mut watched = state.watched();
    loop {
        match watched.thread {
            WatchThread::Ends => return,
            WatchThread::Sleeps => {
                watched = state.changed.wait(watched).unwrap_or_else(PoisonError::into_inner);
            }
            WatchThread::Ticks => {
                let waited = state.changed.wait_timeout(watched, TICK);
                watched = waited.unwrap_or_else(PoisonError::into_inner).0;
                let calls = watched.calls.clone();
                drop(watched);
                for call in calls.iter().filter(|call| call.inspect() == Inspected::Abandoned) {
                    state.leave(call);
                    call.answer();
                }
                watched = state.watched();
                let is_quiet = watched.calls.is_empty() && watched.entered == 0;
                watched.entered = 0;
                if is_quiet && watched.thread == WatchThread::Ticks {
                    watched.thread = WatchThread::Sleeps;
                }
            }
        }
    }
}

/// What became of a call at an inspection.
#[derive(PartialEq, Eq)]
enum Inspected {
    GoesOn,
    Abandoned,
}

impl WatchedCall {
    fn progress(&self) -> MutexGuard<'_, WatchProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is due for the call.
    fn inspect(&self) -> Inspected {
        let mut progress = self.progress();
        let age = self.began.elapsed();
        if age >= FLUSH_AFTER && !progress.is_flushed {
            progress.is_flushed = true;
            self.scope.recorder.flush();
        }
        match &progress.stopped {
            Some((_, since)) if since.elapsed() >= CANCEL_GRACE => return Inspected::Abandoned,
            None if self.cancel.is_cancelled() => {
                progress.stopped = Some((cancelled(), Instant::now()));
            }
            None if age >= self.time.deadline + self.time.reserve => {
                progress.stopped = Some((timeout(self.time.deadline), Instant::now()));
                self.cancel.cancel();
            }
            Some(_) | None => {}
        }
        Inspected::GoesOn
    }

    /// Answers for the call, because its thread does not come back.
    fn answer(&self) {
        let Some((stopped, _)) = self.progress().stopped.take() else { return };
        if !self.scope.claim_end() {
            return;
        }
        let scope = &self.scope;
        let result = Err(abandoned(stopped, scope.effect()));
        let ended = Ended::of(scope, result, self.asked.elapsed());
        (self.late)(ended.close(&scope.judge, &*scope.recorder, &*scope.clock));
    }
}
