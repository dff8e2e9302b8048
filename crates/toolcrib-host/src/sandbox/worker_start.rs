//! The start of a worker: waits until its program runs, or says why it does not.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_inside::wire::{self, Report};

use super::end_notes;
use super::supervisor::pid_of;

/// How long a worker may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Our ends of the connections to a worker.
pub(super) struct WorkerPipes {
    pub(super) control: OwnedFd,
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
}

/// The handles of a worker that runs.
pub(super) struct WorkerHandles {
    /// The pidfd of the first process inside, which all others die with.
    pub(super) first: OwnedFd,
    /// The same process by its number, unless it is gone already.
    pub(super) pid: Option<Pid>,
    /// The listener for the proxy, if one was wanted.
    pub(super) listener: Option<OwnedFd>,
}

/// Waits until the program of a worker runs in its sandbox.
pub(super) fn wait_until_running(pipes: &WorkerPipes) -> Result<WorkerHandles, ToolError> {
    let until = Instant::now() + START_TIMEOUT;
    let mut bubblewrap = None;
    let mut ready: Option<WorkerHandles> = None;
    loop {
        match next_report(&pipes.control, until) {
            Ok(Some((Report::Started, handles))) => bubblewrap = handles.into_iter().next(),
            Ok(Some((Report::Ready, handles))) => {
                let mut handles = handles.into_iter();
                let first = handles.next().ok_or_else(end_notes::no_handle)?;
                let pid = pid_of(&first);
                ready = Some(WorkerHandles { first, pid, listener: handles.next() });
            }
            Ok(Some((Report::Running, _))) => return ready.ok_or_else(end_notes::no_handle),
            Ok(Some((Report::Failed { step, why, errno }, _))) => {
                return Err(end_notes::not_started(step, &why, errno));
            }
            Ok(
                Some((Report::Exited { .. } | Report::Gone { .. } | Report::Ended { .. }, _))
                | None,
            ) => {
                return Err(end_notes::no_sandbox(&printed(&pipes.errors)));
            }
            Err(err) => {
                // The first process inside ends with bubblewrap, and all others with it.
                if let Some(handle) = bubblewrap {
                    let _ = pidfd_send_signal(handle, Signal::KILL);
                }
                let message = format!("the worker cannot be started: {err}");
                return Err(ToolError::new(ErrorKind::Io, message).hint("try again"));
            }
        }
    }
}

type ReceivedReport = Option<(Report, Vec<OwnedFd>)>;

fn next_report(control: &OwnedFd, until: Instant) -> io::Result<ReceivedReport> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let mut polls = [PollFd::new(control, PollFlags::IN)];
        match poll(&mut polls, Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return wire::receive(control),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Returns what bubblewrap printed before it ended.
fn printed(errors: &OwnedFd) -> String {
    let mut text = Vec::new();
    if let Ok(errors) = errors.try_clone() {
        let _ = File::from(errors).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
