//! Tells the event loop that the client says more while the reader thread makes a call. While the reader thread waits for
//! lines itself, the event loop is not woken: each wake would cost as much as a call.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Watches stdin for the event loop: at first, and then when told to.
pub(super) struct InputWatch {
    input: OwnedFd,
    /// An epoll set with stdin alone, which the event loop watches. None for a file, which epoll refuses.
    epoll: Option<AsyncFd<OwnedFd>>,
}

impl InputWatch {
    /// Watches `input` from now on.
    pub(super) fn new(input: OwnedFd) -> io::Result<Self> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let epoll = match epoll::add(&set, &input, epoll::EventData::new_u64(0), wanted()) {
            Ok(()) => Some(AsyncFd::with_interest(set, Interest::READABLE)?),
            Err(Errno::PERM) => None,
            Err(err) => return Err(err.into()),
        };
        Ok(Self { input, epoll })
    }

    /// Whether the event loop can be told of input.
    pub(super) fn can_watch(&self) -> bool {
        self.epoll.is_some()
    }

    /// Watches the input, until something comes.
    pub(super) fn start(&self) {
        self.change(wanted());
    }

    /// Does not watch the input any more.
    pub(super) fn stop(&self) {
        self.change(epoll::EventFlags::ONESHOT);
    }

    /// Waits until something came. Then the input is not watched any more.
    pub(super) async fn ready(&self) {
        let Some(set) = &self.epoll else { return pending().await };
        if let Ok(mut ready) = set.readable().await {
            let mut events = [epoll::Event {
                flags: epoll::EventFlags::empty(),
                data: epoll::EventData::new_u64(0),
            }];
            let none = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            // Takes the event out, so that the next one is told again.
            let _ = epoll::wait(set.get_ref(), &mut events, Some(&none));
            ready.clear_ready();
        }
    }

    fn change(&self, events: epoll::EventFlags) {
        if let Some(set) = &self.epoll {
            // Both are open as long as this is.
            let _ = epoll::modify(set.get_ref(), &self.input, epoll::EventData::new_u64(0), events);
        }
    }
}

fn wanted() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT
}
