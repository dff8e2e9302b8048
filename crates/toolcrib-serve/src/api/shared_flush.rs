//! Writes the ends of calls that end at the same time with one append to the record. An append locks the record, reads
//! its end, writes and unlocks it, which costs more than the lines of a short call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task::yield_now;
use toolcrib_core::{Durability, Event, HeldCounts, Moment, Note, RecordError, Recorder};

/// A recorder that leaves the end of a call to be written by [`SharedFlush`].
pub(super) struct BufferedEnds(pub(super) Arc<dyn Recorder>);

impl Recorder for BufferedEnds {
    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), RecordError> {
        let is_end = matches!(event.moment, Moment::Ended { .. });
        self.0.record(event, if is_end { Durability::Buffered } else { durability })
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn note(&self, note: &Note<'_>) -> Result<(), RecordError> {
        self.0.note(note)
    }

    fn held_counts(&self) -> HeldCounts {
        self.0.held_counts()
    }
}

/// Writes what is buffered, once for all who ask at the same time.
#[derive(Clone, Default)]
pub struct SharedFlush(Arc<Mutex<Option<Vec<oneshot::Sender<()>>>>>);

impl SharedFlush {
    /// Returns when everything is written that was buffered before. The first who asks lets other requests come to the
    /// same point, and then writes for all of them.
    pub(super) async fn flush(&self, recorder: Arc<dyn Recorder>) {
        let told = match &mut *self.lock() {
            Some(others) => {
                let (tell, told) = oneshot::channel();
                others.push(tell);
                Some(told)
            }
            nobody => {
                *nobody = Some(Vec::new());
                None
            }
        };
        if let Some(told) = told {
            let _ = told.await;
        } else {
            let _writes = FlushOnDrop { shared: self, recorder };
            yield_now().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<oneshot::Sender<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes, also if whoever was the first went away: others wait for it.
struct FlushOnDrop<'a> {
    shared: &'a SharedFlush,
    recorder: Arc<dyn Recorder>,
}

impl Drop for FlushOnDrop<'_> {
    fn drop(&mut self) {
        // Taken first: who asks from now on is not sure to have its lines in this write.
        let others = self.shared.lock().take();
        self.recorder.flush();
        for tell in others.into_iter().flatten() {
            let _ = tell.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often it is flushed.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Recorder for Counter {
        fn record(&self, _: &Event<'_>, _: Durability) -> Result<(), RecordError> {
            Ok(())
        }

        fn flush(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn note(&self, _: &Note<'_>) -> Result<(), RecordError> {
            Ok(())
        }
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn those_who_come_together_are_written_together_and_later_ones_again() {
        block_on(async {
            let (shared, counter) = (SharedFlush::default(), Arc::new(Counter::default()));
            let flush = || shared.flush(Arc::clone(&counter) as _);
            tokio::join!(flush(), flush(), flush());
            assert_eq!(counter.0.load(Ordering::Relaxed), 1);
            flush().await;
            assert_eq!(counter.0.load(Ordering::Relaxed), 2);
        });
    }

    #[test]
    fn who_goes_away_writes_for_the_others_first() {
        block_on(async {
            let (shared, counter) = (SharedFlush::default(), Arc::new(Counter::default()));
            let mut first = Box::pin(shared.flush(Arc::clone(&counter) as _));
            let mut second = Box::pin(shared.flush(Arc::clone(&counter) as _));
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(first.as_mut().poll(&mut cx).is_pending());
            assert!(second.as_mut().poll(&mut cx).is_pending());
            drop(first);
            second.await;
            assert_eq!(counter.0.load(Ordering::Relaxed), 1);
        });
    }
}
