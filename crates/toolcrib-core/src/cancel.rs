//! The cancellation token of a call. Everything that works for the call has a clone of it.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use crate::error::{ErrorKind, ToolError};

/// The cancellation token of one call.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Cancel {
    /// Cancels the call. Its work ends when it next checks the token.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Release);
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.drain(..).for_each(Waker::wake);
    }

    /// Whether the call was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Fails if the call was cancelled.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.is_cancelled() {
            return Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"));
        }
        Ok(())
    }

    /// Waits until the call is cancelled.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send {
        poll_fn(|context| {
            if self.is_cancelled() {
                return Poll::Ready(());
            }
            let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            // Checked again under the lock, because `cancel` may have run in between.
            if self.is_cancelled() {
                return Poll::Ready(());
            }
            if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
    }
}
