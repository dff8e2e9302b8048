//! Isolation of a tool from the process: it runs off the main thread if it can block, within its deadline, and its
//! panics are caught.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib_core::{Cancel, Effect, ErrorKind, Recorder, ToolError};

use super::scope::CallScope;
use super::stopping::{CANCEL_GRACE, FLUSH_AFTER, abandoned, cancelled, stopped_with, timeout};
use super::watchdog::{CallTime, OwnThread};

/// The time and the cancellation token of one piece of work.
pub(crate) struct Allowance<'a> {
    pub(crate) effect: Effect,
    pub(crate) time: CallTime,
    pub(crate) cancel: &'a Cancel,
    pub(crate) recorder: &'a dyn Recorder,
    pub(crate) place: WorkPlace<'a>,
    /// Why the work was told to stop, once it was. Work that ends well all the same can be followed by more, which then
    /// must not run.
    pub(crate) stopped: OnceLock<ToolError>,
}

impl Allowance<'_> {
    /// Fails if earlier work of the call was told to stop, for the reason that it was told. The cancellation token alone
    /// does not say whether a deadline passed or somebody cancelled the call.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        self.stopped.get().map_or(Ok(()), |stopped| Err(stopped.clone()))
    }
}

/// Where the work of a call is done.
pub(crate) enum WorkPlace<'a> {
    /// On another thread if it can block; the caller's thread has other things to do.
    EventLoop,
    /// On the caller's own thread.
    OwnThread(&'a OwnThread<'a>, Arc<CallScope>),
}

/// Runs blocking `work`, at most until the deadline or until the call is cancelled.
pub(crate) async fn blocking<T: Send + 'static>(
    allowance: &Allowance<'_>,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let contained =
        move || catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(bug(&*panic)));
    if let WorkPlace::OwnThread(own, scope) = &allowance.place {
        return own.run(scope, allowance.time, &allowance.stopped, contained);
    }
    let mut task = tokio::task::spawn_blocking(contained);
    let deadline = Instant::now() + allowance.time.deadline + allowance.time.reserve;
    // One timer for both times, because to set a timer costs more than a short call should.
    let mut timer = pin!(tokio::time::sleep(FLUSH_AFTER));
    let mut is_flushed = false;
    let stopped = loop {
        tokio::select! {
            done = &mut task => return joined(done),
            () = &mut timer => {
                if is_flushed {
                    break timeout(allowance.time.deadline);
                }
                is_flushed = true;
                allowance.recorder.flush();
                timer.as_mut().reset(deadline);
            }
            () = allowance.cancel.cancelled() => break cancelled(),
        }
    };
    let stopped = allowance.stopped.get_or_init(|| stopped).clone();
    allowance.cancel.cancel();
    await_stop(task, stopped, allowance.effect).await
}

/// Waits a little for cancelled work to stop. If it finishes all the same, its result is the one that counts.
async fn await_stop<T>(
    task: JoinHandle<Result<T, ToolError>>,
    stopped: ToolError,
    effect: Effect,
) -> Result<T, ToolError> {
    match tokio::time::timeout(CANCEL_GRACE, task).await {
        Ok(done) => match joined(done) {
            Err(own) if own.kind == ErrorKind::Cancelled => Err(stopped_with(stopped, own)),
            other => other,
        },
        Err(_) => Err(abandoned(stopped, effect)),
    }
}

/// Runs a future on this thread, and catches its panics.
pub(crate) async fn inline<T>(
    allowance: &Allowance<'_>,
    work: impl Future<Output = Result<T, ToolError>> + Send,
) -> Result<T, ToolError> {
    let work = Contained(Box::pin(work));
    if let WorkPlace::OwnThread(own, scope) = &allowance.place {
        let work = || Handle::current().block_on(work);
        return own.run(scope, allowance.time, &allowance.stopped, work);
    }
    let deadline = allowance.time.deadline;
    tokio::select! {
        biased;
        done = work => done,
        () = tokio::time::sleep(deadline) => Err(timeout(deadline)),
        () = allowance.cancel.cancelled() => Err(cancelled()),
    }
}

/// A future whose panics become errors.
struct Contained<F>(Pin<Box<F>>);

impl<T, F: Future<Output = Result<T, ToolError>>> Future for Contained<F> {
    type Output = Result<T, ToolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(bug(&*panic))))
    }
}

fn joined<T>(done: Result<Result<T, ToolError>, tokio::task::JoinError>) -> Result<T, ToolError> {
    done.unwrap_or_else(|_| Err(bug(&())))
}

fn bug(panic: &(dyn Any + Send)) -> ToolError {
    // A panic's message can contain anything, secrets included, so the caller learns only that it happened.
    let _ = panic;
    ToolError::new(ErrorKind::Bug, "the tool crashed")
        .hint("this is a bug in the tool; report it (the record has the call)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use toolcrib_core::{Durability, Event, Note, RecordError};

    /// Counts how often it is flushed.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Recorder for Counter {
        fn record(&self, _: &Event<'_>, _: Durability) -> Result<(), RecordError> {
            Ok(())
        }

        fn note(&self, _: &Note<'_>) -> Result<(), RecordError> {
            Ok(())
        }

        fn flush(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_slow_call_is_on_the_record_before_it_ends() {
        let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (time, expect) in [(FLUSH_AFTER * 10, 1), (Duration::ZERO, 0)] {
            let (recorder, cancel) = (Counter::default(), Cancel::default());
            let deadline = Duration::from_mins(1);
            let allowance = Allowance {
                effect: Effect::Read,
                time: CallTime { deadline, reserve: Duration::ZERO },
                cancel: &cancel,
                recorder: &recorder,
                place: WorkPlace::EventLoop,
                stopped: OnceLock::new(),
            };
            let work = move || {
                std::thread::sleep(time);
                Ok(())
            };
            events.block_on(blocking(&allowance, work)).unwrap();
            assert_eq!(recorder.0.load(Ordering::Relaxed), expect, "{time:?}");
        }
    }
}
