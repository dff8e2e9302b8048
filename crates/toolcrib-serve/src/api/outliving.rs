//! Work that goes on if whoever waits for it goes away.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that is polled in place, without the switch of threads that a task costs. If it is dropped before its end, it
/// goes on as a task.
pub(crate) struct Outliving<T: Send + 'static>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

/// The work panicked.
#[derive(Debug)]
pub(crate) struct Panicked;

impl<T: Send + 'static> Outliving<T> {
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for Outliving<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, Panicked>> {
        let Some(work) = self.0.as_mut() else { return Poll::Ready(Err(Panicked)) };
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => {
                self.0 = None;
                Poll::Ready(Ok(done))
            }
            Err(_) => {
                self.0 = None;
                Poll::Ready(Err(Panicked))
            }
        }
    }
}

impl<T: Send + 'static> Drop for Outliving<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async {
                let _ = work.await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn work_goes_on_when_nobody_waits_for_it() {
        block_on(async {
            let (go, wait) = oneshot::channel::<()>();
            let (tell, told) = oneshot::channel::<()>();
            let mut work = Outliving::new(async move {
                let _ = wait.await;
                let _ = tell.send(());
            });
            // It has begun, and waits.
            assert!(poll_once(&mut work).await.is_pending());
            drop(work);
            go.send(()).unwrap();
            told.await.unwrap();
        });
    }

    #[test]
    fn work_that_is_done_is_done_once_and_a_panic_is_told() {
        block_on(async {
            let is_done = Arc::new(AtomicBool::new(false));
            let mark = Arc::clone(&is_done);
            let done = Outliving::new(async move { mark.swap(true, Ordering::Relaxed) }).await;
            assert!(!done.unwrap() && is_done.load(Ordering::Relaxed));
            assert!(Outliving::new(async { panic!("a defect") }).await.is_err());
        });
    }

    async fn poll_once<T: Send + 'static>(work: &mut Outliving<T>) -> Poll<Result<T, Panicked>> {
        std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *work).poll(cx))).await
    }
}
