//! Messages of an MCP server over the pipes of its worker, one on each line. It takes the place of the SDK's own
//! transport, which has no longest line and lets a server flood it.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerRequest};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::Mutex;
use toolcrib_core::worker::{StartedWorker, WorkerControl};

/// The longest line of a server, in bytes.
const MAX_LINE_BYTES: usize = 8 << 20;

/// How many lines that are no messages a server may print. Some print a greeting.
const MAX_BAD_LINES: usize = 64;

/// How many messages a server may send that answer nothing, between two answers and in [`UNASKED_TIME`].
const MAX_UNASKED_MESSAGES: usize = 10_000;

/// How many of them may ask for something. Each of these is on the record.
const MAX_REQUESTS: usize = 100;

/// The time after which the count of unasked messages begins again, so that a server may live for long without a call.
const UNASKED_TIME: Duration = Duration::from_mins(1);

/// How many bytes are read at a time.
const READ_BYTES: usize = 64 << 10;

/// How long a server may let a message wait before it reads it.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// How long a server that closed its pipes may take to end.
const LAST_TIME: Duration = Duration::from_millis(500);

/// How often it is looked whether a server has ended.
const LOOK_TIME: Duration = Duration::from_millis(5);

/// Why there are no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipeFault {
    /// The server closed its end.
    Closed,
    /// A line was longer than it may be.
    LongLine,
    /// Too many lines were no messages.
    BadLines,
    /// Too many messages answered nothing.
    Flood,
    /// The server did not read.
    Stuck,
}

/// The pipes of a server.
pub(crate) struct PipeTransport {
    input: Arc<Mutex<pipe::Sender>>,
    output: pipe::Receiver,
    control: Arc<dyn WorkerControl>,
    fault: Arc<OnceLock<PipeFault>>,
    /// What was read and not returned yet.
    read: Vec<u8>,
    /// How much of it has no line end.
    searched: usize,
    bad_lines: usize,
    unasked: Unasked,
}

/// The messages since the last answer that answered nothing.
struct Unasked {
    /// How many requests of ours have no answer yet. Only their answers begin the count anew.
    unanswered: usize,
    since: Instant,
    messages: usize,
    requests: usize,
}

impl Unasked {
    fn none(unanswered: usize) -> Self {
        Self { unanswered, since: Instant::now(), messages: 0, requests: 0 }
    }

    /// Counts a message. Returns whether there are too many.
    fn add(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let asks = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) if self.unanswered > 0 => {
                *self = Self::none(self.unanswered - 1);
                return false;
            }
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Error(_)
            | JsonRpcMessage::Notification(_) => false,
            JsonRpcMessage::Request(asked) => {
                !matches!(asked.request, ServerRequest::PingRequest(_))
            }
        };
        if self.since.elapsed() > UNASKED_TIME {
            *self = Self::none(self.unanswered);
        }
        self.messages += 1;
        self.requests += usize::from(asks);
        self.messages > MAX_UNASKED_MESSAGES || self.requests > MAX_REQUESTS
    }
}

impl PipeTransport {
    /// Takes the pipes of a worker. `fault` is set when no more messages come.
    pub(crate) fn new(worker: StartedWorker, fault: Arc<OnceLock<PipeFault>>) -> io::Result<Self> {
        let StartedWorker { input, output, control } = worker;
        Ok(Self {
            input: Arc::new(Mutex::new(pipe::Sender::from_owned_fd(input)?)),
            output: pipe::Receiver::from_owned_fd(output)?,
            control,
            fault,
            read: Vec::new(),
            searched: 0,
            bad_lines: 0,
            unasked: Unasked::none(0),
        })
    }

    /// Reads until a line is whole. Nothing is lost if the future is dropped.
    async fn next_line(&mut self) -> Result<Vec<u8>, PipeFault> {
        loop {
            let rest = &self.read[self.searched..];
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(self.searched + at + 1);
                self.searched = 0;
                return Ok(std::mem::replace(&mut self.read, rest));
            }
            self.searched = self.read.len();
            if self.searched > MAX_LINE_BYTES {
                return Err(PipeFault::LongLine);
            }
            self.read.reserve(READ_BYTES);
            match self.output.read_buf(&mut self.read).await {
                Ok(0) | Err(_) => return Err(PipeFault::Closed),
                Ok(_) => {}
            }
        }
    }

    async fn next_message(&mut self) -> Result<RxJsonRpcMessage<RoleClient>, PipeFault> {
        loop {
            let line = self.next_line().await?;
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let message = serde_json::from_slice(line).ok().or_else(|| bad_answer(line));
            let Some(message) = message else {
                self.bad_lines += 1;
                if self.bad_lines > MAX_BAD_LINES {
                    return Err(PipeFault::BadLines);
                }
                continue;
            };
            if self.unasked.add(&message) {
                return Err(PipeFault::Flood);
            }
            return Ok(message);
        }
    }
}

/// Makes an error of a line that answers a request with nonsense, so that nobody waits for a better answer.
fn bad_answer(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("method").is_some() {
        return None;
    }
    let id: RequestId = serde_json::from_value(value.get("id")?.clone()).ok()?;
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "the answer is not one of MCP", None);
    Some(RxJsonRpcMessage::<RoleClient>::error(error, Some(id)))
}

/// Ends a server and waits until it is gone. One that closed its pipes has a moment to end by itself, so that the reason
/// is known.
pub(crate) fn end(control: &dyn WorkerControl, fault: Option<PipeFault>) {
    if fault == Some(PipeFault::Closed) {
        let until = Instant::now() + LAST_TIME;
        while control.end().is_none() && Instant::now() < until {
            thread::sleep(LOOK_TIME);
        }
    }
    control.kill();
}

/// Ends a server without keeping the event loop waiting.
fn end_soon(control: &Arc<dyn WorkerControl>, fault: Option<PipeFault>) {
    let control = Arc::clone(control);
    tokio::task::spawn_blocking(move || end(&*control, fault));
}

impl Transport<RoleClient> for PipeTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.unasked.unanswered += usize::from(matches!(item, JsonRpcMessage::Request(_)));
        let (input, control) = (Arc::clone(&self.input), Arc::clone(&self.control));
        let fault = Arc::clone(&self.fault);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let written = tokio::time::timeout(WRITE_TIME, async {
                input.lock().await.write_all(&line).await
            });
            match written.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(err)) => {
                    let _ = fault.set(PipeFault::Closed);
                    end_soon(&control, Some(PipeFault::Closed));
                    Err(err)
                }
                Err(_) => {
                    // Half a line may be in the pipe, so nothing can follow it.
                    let _ = fault.set(PipeFault::Stuck);
                    end_soon(&control, None);
                    Err(io::ErrorKind::TimedOut.into())
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self.next_message().await {
            Ok(message) => Some(message),
            Err(fault) => {
                let _ = self.fault.set(fault);
                end_soon(&self.control, Some(fault));
                None
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        end_soon(&self.control, self.fault.get().copied());
        Ok(())
    }
}
