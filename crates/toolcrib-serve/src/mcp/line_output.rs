//! What a client reads from stdout, line by line.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, retry_on_intr, write};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use super::line_input::{Wait, is_ready};

/// Writes lines to a client, each of them whole.
pub(super) struct LineOutput(Mutex<Option<OutputPipe>>);

/// Where lines are written.
enum OutputPipe {
    /// A pipe or a socket: writes wait until the client reads.
    Waits(AsyncFd<OwnedFd>),
    /// A file, or what else epoll refuses.
    File(OwnedFd),
}

impl LineOutput {
    /// Writes to a pipe, a socket or a file.
    pub(super) fn new(output: OwnedFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&output)?;
        // The event loop must not wait for a client.
        fcntl_setfl(&output, flags | OFlags::NONBLOCK)?;
        let pipe = match AsyncFd::try_with_interest(output, Interest::WRITABLE) {
            Ok(pipe) => OutputPipe::Waits(pipe),
            Err(refused) => {
                let (output, _) = refused.into_parts();
                OutputPipe::File(output)
            }
        };
        Ok(Self(Mutex::new(Some(pipe))))
    }

    /// Writes a line on the event loop.
    pub(super) async fn write(&self, line: &[u8]) -> io::Result<()> {
        let pipe = self.0.lock().await;
        let mut left = line;
        while !left.is_empty() {
            let written = match pipe.as_ref().ok_or(io::ErrorKind::NotConnected)? {
                OutputPipe::File(file) => retry_on_intr(|| write(file, left))?,
                OutputPipe::Waits(pipe) => {
                    let mut ready = pipe.writable().await?;
                    match ready.try_io(|pipe| Ok(write(pipe.get_ref(), left)?)) {
                        Ok(written) => written?,
                        Err(_) => continue,
                    }
                }
            };
            left = &left[written..];
        }
        Ok(())
    }

    /// Writes a line on this thread, which must not be one of the event loop. If the client has to read first, calls
    /// `before_wait` and waits for it.
    pub(super) fn write_here(&self, line: &[u8], before_wait: impl Fn()) -> io::Result<()> {
        let pipe = self.0.try_lock().unwrap_or_else(|_| {
            before_wait();
            self.0.blocking_lock()
        });
        let mut left = line;
        while !left.is_empty() {
            let pipe = match pipe.as_ref().ok_or(io::ErrorKind::NotConnected)? {
                OutputPipe::File(file) => file,
                OutputPipe::Waits(pipe) => pipe.get_ref(),
            };
            match write(pipe.as_fd(), left) {
                Ok(written) => left = &left[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    before_wait();
                    is_ready(pipe, PollFlags::OUT, Wait::Forever);
                }
                Err(err) => return Err(err.into()),
            }
        }
        Ok(())
    }

    /// Writes nothing more.
    pub(super) async fn close(&self) {
        self.0.lock().await.take();
    }
}
