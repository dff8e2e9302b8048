//! Watches calls that run on the thread of their caller. It does for them what the event loop does for calls on other
//! threads: it writes the record of a slow call, ends a call at its deadline, and answers for a call that does not stop.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
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
    /// Whether this part of the call has ended. An inspection that began before may come after.
    is_over: bool,
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
    /// later does not count. Why it had to stop goes to `stopped`, even if it ended well.
    pub(crate) fn run<T>(
        &self,
        scope: &Arc<CallScope>,
        time: CallTime,
        stopped: &OnceLock<ToolError>,
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
        let Some(why) = call.progress().end() else { return done };
        let why = stopped.get_or_init(|| why);
        match done {
            Err(own) if own.kind == ErrorKind::Cancelled => Err(stopped_with(why.clone(), own)),
            done => done,
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
        progress.inspect(age, self.time, &self.cancel)
    }

    /// Answers for the call, because its thread does not come back.
    fn answer(&self) {
        let Some(stopped) = self.progress().end() else { return };
        if !self.scope.claim_end() {
            return;
        }
        let scope = &self.scope;
        let result = Err(abandoned(stopped, scope.effect()));
        let ended = Ended::of(scope, result, self.asked.elapsed());
        (self.late)(ended.close(&scope.judge, &*scope.recorder, &*scope.clock));
    }
}

impl WatchProgress {
    /// Tells the call to stop if it is `age` old and that is too old, or if it was cancelled.
    fn inspect(&mut self, age: Duration, time: CallTime, cancel: &Cancel) -> Inspected {
        // This part has ended. The next thing may be a question to a person, whose time does not count.
        if self.is_over {
            return Inspected::GoesOn;
        }
        match &self.stopped {
            Some((_, since)) if since.elapsed() >= CANCEL_GRACE => return Inspected::Abandoned,
            None if cancel.is_cancelled() => self.stopped = Some((cancelled(), Instant::now())),
            None if age >= time.deadline + time.reserve => {
                self.stopped = Some((timeout(time.deadline), Instant::now()));
                cancel.cancel();
            }
            Some(_) | None => {}
        }
        Inspected::GoesOn
    }

    /// Ends this part of the call. Returns why it was told to stop, to whoever comes first.
    fn end(&mut self) -> Option<ToolError> {
        self.is_over = true;
        self.stopped.take().map(|(why, _)| why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_inspection_does_not_stop_what_comes_after_a_part_of_a_call() {
        let deadline = Duration::from_secs(1);
        let time = CallTime { deadline, reserve: Duration::ZERO };
        let inspect = |progress: &mut WatchProgress, age: Duration| {
            let cancel = Cancel::default();
            let _ = progress.inspect(age, time, &cancel);
            (cancel.is_cancelled(), progress.end().map(|why| why.kind))
        };
        let mut ended = WatchProgress::default();
        assert!(ended.end().is_none());
        assert_eq!(inspect(&mut ended, deadline), (false, None));
        // The control: before its end, the call is stopped, and only for its age.
        let mut running = WatchProgress::default();
        assert_eq!(inspect(&mut running, deadline), (true, Some(ErrorKind::Timeout)));
        let mut young = WatchProgress::default();
        assert_eq!(inspect(&mut young, Duration::ZERO), (false, None));
    }
}
