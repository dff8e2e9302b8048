//! A timer for what is usually done at once.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

/// Waits. The timer is set when the waiting task is polled for the second time. A request is mostly answered by then:
/// its first poll only asks for the body, which has come with the head. To set a timer for each request costs memory,
/// locks and a wake-up of the event loop.
pub(crate) async fn late_sleep(duration: Duration) {
    let mut is_polled = false;
    poll_fn(|cx| {
        if is_polled {
            return Poll::Ready(());
        }
        is_polled = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    sleep(duration).await;
}
