//! The cancellation token of a call. Everything that works for the call has a clone of it.

use std::fmt;
use std::future::Future;
use std::iter::successors;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{ErrorKind, ToolError};

/// The cancellation token of one call. Who works for the call elsewhere, such as behind a connection, knows it by this
/// token alone, and so counts through it what goes over the network.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    state: Arc<CancelState>,
    counter: Option<Arc<dyn HostCounter>>,
}

/// Counts what goes to and from hosts for a call.
pub trait HostCounter: fmt::Debug + Send + Sync {
    /// Adds to the count of a host.
    fn count_host(&self, host: &str, connections: u64, bytes_up: u64, bytes_down: u64);
}

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: AtomicBool,
    /// Those who wait for this token, by the number of their future.
    waiting: Mutex<Vec<(u64, Waker)>>,
    /// The token that cancels this one too.
    parent: Option<Cancel>,
}

impl CancelState {
    fn waiting(&self) -> MutexGuard<'_, Vec<(u64, Waker)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cancel {
    /// Returns a token that is cancelled with this one, and does not cancel this one.
    pub fn child(&self) -> Self {
        let state = CancelState { parent: Some(self.clone()), ..CancelState::default() };
        Self { state: Arc::new(state), counter: self.counter.clone() }
    }

    /// Returns the same token for a call whose traffic is counted here.
    pub fn counting(&self, counter: Arc<dyn HostCounter>) -> Self {
        Self { state: Arc::clone(&self.state), counter: Some(counter) }
    }

    /// Returns what counts the traffic of the call, if that is counted.
    pub fn counter(&self) -> Option<&dyn HostCounter> {
        self.counter.as_deref()
    }

    /// Cancels the call. Its work ends when it next checks the token.
    pub fn cancel(&self) {
        self.state.is_cancelled.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.state.waiting());
        for (_, waker) in waiting {
            waker.wake();
        }
    }

    /// Whether the call was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.chain().any(|state| state.is_cancelled.load(Ordering::Acquire))
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
        Cancelled { token: self, number: None }
    }

    /// Returns how many futures wait for this token or for a child of it.
    pub fn waiting_futures(&self) -> usize {
        self.state.waiting().len()
    }

    /// Returns this token and those that it is cancelled with.
    fn chain(&self) -> impl Iterator<Item = &CancelState> {
        successors(Some(&*self.state), |state| state.parent.as_ref().map(|parent| &*parent.state))
    }
}

/// Waits for a token. A token can outlive thousands of those who wait for it, so it forgets each of them when its
/// future is dropped.
struct Cancelled<'a> {
    token: &'a Cancel,
    /// Its number in the lists of the tokens, once it is in them.
    number: Option<u64>,
}

impl Future for Cancelled<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
        for state in self.token.chain() {
            let mut waiting = state.waiting();
            // Checked again under the lock, because `cancel` may have run in between.
            if state.is_cancelled.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            match waiting.iter_mut().find(|(it, _)| *it == number) {
                Some((_, waker)) => waker.clone_from(context.waker()),
                None => waiting.push((number, context.waker().clone())),
            }
        }
        Poll::Pending
    }
}

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        for state in self.token.chain() {
            let mut waiting = state.waiting();
            if let Some(at) = waiting.iter().position(|(it, _)| *it == number) {
                waiting.swap_remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_token_wakes_who_waits_for_it_or_for_its_child_and_forgets_who_left() {
        let (parent, woken) = (Cancel::default(), Arc::new(Counter::default()));
        let child = parent.child();
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        for _ in 0..1000 {
            let mut left = pin!(child.cancelled());
            assert!(left.as_mut().poll(&mut context).is_pending());
            assert_eq!((parent.waiting_futures(), child.waiting_futures()), (1, 1));
        }
        assert_eq!((parent.waiting_futures(), child.waiting_futures()), (0, 0));
        let mut stays = pin!(child.cancelled());
        assert!(stays.as_mut().poll(&mut context).is_pending());
        assert!(stays.as_mut().poll(&mut context).is_pending(), "asked twice, it waits once");
        assert_eq!(parent.waiting_futures(), 1);
        parent.cancel();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(stays.as_mut().poll(&mut context).is_ready() && child.check().is_err());
    }

    #[test]
    fn a_child_does_not_cancel_its_parent() {
        let parent = Cancel::default();
        let (one, other) = (parent.child(), parent.child());
        one.cancel();
        assert!(one.is_cancelled() && !other.is_cancelled() && !parent.is_cancelled());
    }
}
