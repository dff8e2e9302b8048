//! Stdin and stdout of this process, with a client at their other ends. The event loop and the reader thread share them.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::RequestId;
use rustix::stdio::{stdin, stdout};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use toolcrib_core::Cancel;

use super::input_watch::InputWatch;
use super::line_input::{LineInput, ReadLine};
use super::line_output::LineOutput;

/// How long a call goes on after its client has closed stdin. The SDK gives the calls of the event loop as long.
const LAST_CALL_TIME: Duration = Duration::from_secs(5);

/// How often to check whether such a call has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Stdin and stdout of this process, with a client at their other ends.
pub(super) struct ClientPipes {
    /// Whoever waits for a line has it locked.
    pub(super) input: Mutex<LineInput>,
    pub(super) output: LineOutput,
    pub(super) watch: InputWatch,
    /// Whether the event loop reads, and not the reader thread.
    is_read_by_loop: AtomicBool,
    /// Whether the reader thread makes a call or writes its reply.
    is_answering: AtomicBool,
    /// The call that the reader thread makes, until the client cancels it.
    running: Mutex<Option<ReaderCall>>,
    /// The requests of the client that have no reply yet.
    open_ids: Mutex<HashSet<RequestId>>,
}

/// A call that the reader thread makes.
struct ReaderCall {
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
            is_answering: AtomicBool::new(false),
            running: Mutex::default(),
            open_ids: Mutex::default(),
        })
    }

    /// Lets the event loop read from now on.
    pub(super) fn read_on_event_loop(&self) {
        self.is_read_by_loop.store(true, Ordering::SeqCst);
        self.watch.start();
    }

    /// Lets the reader thread read from now on.
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

    /// Waits on the event loop for a line that the reader thread does not read.
    pub(super) async fn next_line(&self) -> ReadLine {
        loop {
            if self.is_read_by_loop.load(Ordering::SeqCst) {
                // If the lock is held, the reader thread has just begun to read.
                let line = self.input.try_lock().ok().and_then(|mut input| input.take_line());
                if let Some(line) = line {
                    if line == ReadLine::End {
                        self.wait_for_answer().await;
                    }
                    return line;
                }
                // The reader thread may have made its call meanwhile. Then it reads what comes, and this wake is wasted.
                self.watch.start();
            }
            self.watch.ready().await;
        }
    }

    /// Waits until the client has the reply to a call that it made before it closed stdin, but not for ever: the call may wait
    /// for an answer that cannot come any more.
    async fn wait_for_answer(&self) {
        let until = Instant::now() + LAST_CALL_TIME;
        while self.is_answering.load(Ordering::Acquire) && Instant::now() < until {
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Opens a request. Returns false if the client has one with the same id that has no reply yet.
    pub(super) fn open(&self, id: &RequestId) -> bool {
        self.open_ids().insert(id.clone())
    }

    /// Closes a request, because it has its reply or the client wants none.
    pub(super) fn close(&self, id: &RequestId) {
        self.open_ids().remove(id);
    }

    /// Notes that the reader thread makes a call.
    pub(super) fn begin_answer(&self, id: &RequestId) {
        self.is_answering.store(true, Ordering::Release);
        *self.running() = Some(ReaderCall { id: id.clone(), cancel: None });
    }

    /// Says what cancels the call that the reader thread makes.
    pub(super) fn set_cancel(&self, cancel: Cancel) {
        match &mut *self.running() {
            Some(call) => call.cancel = Some(cancel),
            None => cancel.cancel(),
        }
    }

    /// Notes that the reader thread has made its call. Returns false if the client wants no reply any more.
    pub(super) fn has_made_call(&self) -> bool {
        self.running().take().is_some()
    }

    /// Notes that the client has the reply, or needs none.
    pub(super) fn end_answer(&self) {
        self.is_answering.store(false, Ordering::Release);
    }

    /// Closes a request that the client cancelled, and cancels its call if the reader thread makes it.
    pub(super) fn cancel(&self, id: &RequestId) {
        self.close(id);
        let mut running = self.running();
        if let Some(call) = running.take_if(|call| call.id == *id)
            && let Some(cancel) = call.cancel
        {
            cancel.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<ReaderCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open_ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
