//! Stdin and stdout of a client, which the event loop and the thread that reads share.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use rustix::stdio::{stdin, stdout};
use tokio::sync::mpsc;
use toolcrib_core::Cancel;

use super::input_watch::InputWatch;
use super::line_input::{LineInput, ReadLine};
use super::line_output::LineOutput;

/// Stdin and stdout of a client.
pub(super) struct ClientPipes {
    /// Whoever waits for a line has it locked.
    pub(super) input: Mutex<LineInput>,
    pub(super) output: LineOutput,
    pub(super) watch: InputWatch,
    /// Whether the event loop reads, and not the thread.
    is_read_by_loop: AtomicBool,
    /// The call that the thread answers, until the client cancels it.
    answered: Mutex<Option<AnsweredCall>>,
    /// The requests of the client that have no reply yet.
    open: Mutex<HashSet<RequestId>>,
}

/// A call that the thread answers.
struct AnsweredCall {
    id: RequestId,
    /// Known once it runs.
    cancel: Option<Cancel>,
}

impl ClientPipes {
    /// Takes stdin and stdout of this process. At first, the event loop reads.
    pub(super) fn of_process() -> io::Result<Self> {
        let input = stdin().try_clone_to_owned()?;
        let watch = InputWatch::new(input.try_clone()?)?;
        Ok(Self {
            input: Mutex::new(LineInput::new(input)),
            output: LineOutput::new(stdout().try_clone_to_owned()?)?,
            watch,
            is_read_by_loop: AtomicBool::new(true),
            answered: Mutex::default(),
            open: Mutex::default(),
        })
    }

    /// Lets the event loop read from now on.
    pub(super) fn read_on_event_loop(&self) {
        self.is_read_by_loop.store(true, Ordering::SeqCst);
        self.watch.start();
    }

    /// Lets the thread read from now on.
    pub(super) fn read_on_thread(&self) {
        if self.is_read_by_loop.swap(false, Ordering::SeqCst) {
            self.watch.stop();
        }
    }

    /// Hands all lines of an input that cannot be watched to the event loop, from a thread that waits for them.
    pub(super) fn hand_all_over(self: &Arc<Self>, event_loop: mpsc::Sender<ReadLine>) {
        self.read_on_thread();
        let pipes = Arc::clone(self);
        std::thread::spawn(move || {
            let mut input = pipes.input.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let line = input.wait_for_line();
                let is_end = line == ReadLine::End;
                if event_loop.blocking_send(line).is_err() || is_end {
                    return;
                }
            }
        });
    }

    /// Waits on the event loop for a line that the thread does not read.
    pub(super) async fn next_line(&self) -> ReadLine {
        loop {
            if self.is_read_by_loop.load(Ordering::SeqCst) {
                // If the lock is held, the thread has just begun to read.
                let line = self.input.try_lock().ok().and_then(|mut input| input.take_line());
                if let Some(line) = line {
                    return line;
                }
                // The thread may have answered its call meanwhile. Then it gets what comes, and this is woken for nothing.
                self.watch.start();
            }
            self.watch.ready().await;
        }
    }

    /// Opens a request. Returns false if the client has one with the same id that has no reply yet.
    pub(super) fn open(&self, id: &RequestId) -> bool {
        self.open_requests().insert(id.clone())
    }

    /// Closes a request, because it has its reply or the client wants none.
    pub(super) fn close(&self, id: &RequestId) {
        self.open_requests().remove(id);
    }

    /// Notes that the thread answers a call.
    pub(super) fn begin_answer(&self, id: &RequestId) {
        *self.answered() = Some(AnsweredCall { id: id.clone(), cancel: None });
    }

    /// Says what cancels the call that the thread answers.
    pub(super) fn set_cancel(&self, cancel: Cancel) {
        match &mut *self.answered() {
            Some(call) => call.cancel = Some(cancel),
            None => cancel.cancel(),
        }
    }

    /// Notes that the thread has made its call. Returns false if the client wants no reply any more.
    pub(super) fn end_answer(&self) -> bool {
        self.answered().take().is_some()
    }

    /// Cancels the call that the thread answers, if it is this one.
    pub(super) fn cancel(&self, id: &RequestId) {
        self.close(id);
        let mut answered = self.answered();
        if let Some(call) = answered.take_if(|call| call.id == *id)
            && let Some(cancel) = call.cancel
        {
            cancel.cancel();
        }
    }

    fn answered(&self) -> MutexGuard<'_, Option<AnsweredCall>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_requests(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
