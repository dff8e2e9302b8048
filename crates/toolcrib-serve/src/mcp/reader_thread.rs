//! The reader thread: it reads what a client sends over stdin, and makes the calls that run no command itself, because to
//! hand a call to another thread takes longer than most calls. All other lines go to the event loop, which reads stdin while
//! the reader thread makes a call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, Weak};

use memchr::memmem;
use rmcp::model::{
    CallToolRequest, CallToolResponse, ClientRequest, GetExtensions, GetMeta, JsonRpcRequest,
    ServerResult,
};
use rmcp::service::{Peer, RequestContext, Service, TxJsonRpcMessage};
use rmcp::{ErrorData, RoleServer};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use toolcrib_core::Cancel;
use toolcrib_runtime::{LateAnswer, Watchdog, wait_for};

use super::client_connection::{ClientConnection, asks_by_reply};
use super::client_pipes::ClientPipes;
use super::line_input::ReadLine;
use super::message_line::message_line;

/// The reader thread.
#[derive(Clone)]
pub(super) struct ReaderThread {
    pub(super) pipes: Arc<ClientPipes>,
    /// Takes the lines that the thread does not answer.
    pub(super) event_loop: mpsc::Sender<ReadLine>,
    pub(super) peer: Peer<RoleServer>,
    /// Weak, because a thread that waits for a line must not keep the record open when the process ends.
    pub(super) connection: Weak<ClientConnection>,
    pub(super) watchdog: Arc<Watchdog>,
}

/// A call on the reader thread. Its request has this among its extensions.
#[derive(Clone)]
pub(super) struct OwnThreadCall {
    pipes: Arc<ClientPipes>,
    pub(super) watchdog: Arc<Watchdog>,
    /// Answers the call if the reader thread does not come back in time.
    pub(super) late: LateAnswer,
    is_abandoned: Arc<AtomicBool>,
}

impl OwnThreadCall {
    /// Lets the client cancel the call.
    pub(super) fn set_cancel(&self, cancel: Cancel) {
        self.pipes.set_cancel(cancel);
    }

    /// Notes that the watchdog answers the call.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Release);
    }
}

/// What became of a call that the reader thread began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerEnd {
    Answered,
    /// The call did not stop when it had to. The watchdog answered it, and started a new reader thread.
    Abandoned,
}

impl ReaderThread {
    /// Starts the thread, in the context of the event loop.
    pub(super) fn start(self) {
        let events = Handle::current();
        std::thread::spawn(move || {
            let _events = events.enter();
            self.read();
        });
    }

    /// Reads lines until there are no more.
    fn read(&self) {
        self.pipes.read_on_thread();
        loop {
            let (line, has_more) = {
                let mut input = self.pipes.input.lock().unwrap_or_else(PoisonError::into_inner);
                (input.wait_for_line(), input.has_more())
            };
            // Calls that come together run at once, which takes more than this thread.
            if !has_more
                && let ReadLine::Whole(line) = &line
                && let Some(connection) = self.connection.upgrade()
                && let Some((request, context)) = self.call_to_make(&connection, line)
            {
                match self.answer(&connection, request, context) {
                    AnswerEnd::Answered => continue,
                    AnswerEnd::Abandoned => return,
                }
            }
            let is_end = line == ReadLine::End;
            if self.event_loop.blocking_send(line).is_err() || is_end {
                return;
            }
        }
    }

    /// Returns the call of a line, if the reader thread may make it.
    fn call_to_make(
        &self,
        connection: &ClientConnection,
        line: &[u8],
    ) -> Option<(ClientRequest, RequestContext<RoleServer>)> {
        memmem::find(line, br#""tools/call""#)?;
        let JsonRpcRequest { id, request, .. } =
            serde_json::from_slice::<JsonRpcRequest<CallToolRequest>>(line).ok()?;
        if !connection.may_run_on_reader(&request.params.name) {
            return None;
        }
        let mut request = ClientRequest::CallToolRequest(request);
        let mut context = RequestContext::new(id, self.peer.clone());
        std::mem::swap(&mut context.meta, request.get_meta_mut());
        std::mem::swap(&mut context.extensions, request.extensions_mut());
        // An id that is in use is refused by the event loop.
        (may_end_here(&context) && self.pipes.open(&context.id)).then_some((request, context))
    }

    /// Makes a call and writes its reply. Meanwhile the event loop reads.
    fn answer(
        &self,
        connection: &ClientConnection,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> AnswerEnd {
        let id = context.id.clone();
        let is_abandoned = Arc::new(AtomicBool::new(false));
        context.extensions.insert(OwnThreadCall {
            pipes: Arc::clone(&self.pipes),
            watchdog: Arc::clone(&self.watchdog),
            late: self.late_answer(&context),
            is_abandoned: Arc::clone(&is_abandoned),
        });
        self.pipes.begin_answer(&id);
        self.pipes.read_on_event_loop();
        let answer = catch_unwind(AssertUnwindSafe(|| {
            wait_for(connection.handle_request(request, context))
        }));
        if is_abandoned.load(Ordering::Acquire) {
            return AnswerEnd::Abandoned;
        }
        if !self.pipes.has_made_call() {
            self.pipes.read_on_thread();
            self.pipes.end_answer();
            return AnswerEnd::Answered;
        }
        let message = match answer {
            Ok(Ok(result)) => TxJsonRpcMessage::<RoleServer>::response(result, id.clone()),
            Ok(Err(error)) => TxJsonRpcMessage::<RoleServer>::error(error, Some(id.clone())),
            Err(_) => {
                let error = ErrorData::internal_error("the call crashed; report it", None);
                TxJsonRpcMessage::<RoleServer>::error(error, Some(id.clone()))
            }
        };
        // Before the reply: the client may use the id again as soon as it has it.
        self.pipes.close(&id);
        self.write(connection, &message);
        self.pipes.end_answer();
        AnswerEnd::Answered
    }

    fn write(&self, connection: &ClientConnection, message: &TxJsonRpcMessage<RoleServer>) {
        let Ok(line) = message_line(message) else { return };
        let _waiting = Arc::clone(&connection.gate).count(line.len());
        // A client sends its next call as soon as it has the reply, and the event loop must not be woken by it.
        self.pipes.read_on_thread();
        // A client that went away reads no reply. The next read tells it.
        let waits = || self.pipes.read_on_event_loop();
        let _ = self.pipes.output.write_here(&line, waits);
        self.pipes.read_on_thread();
    }

    /// Returns what answers a call whose thread does not come back. Another thread then takes its place.
    fn late_answer(&self, context: &RequestContext<RoleServer>) -> LateAnswer {
        let (id, asks_by_reply) = (context.id.clone(), asks_by_reply(context));
        let thread = self.clone();
        let events = Handle::current();
        Arc::new(move |outcome| {
            thread.pipes.close(&id);
            if thread.pipes.has_made_call()
                && let Some(connection) = thread.connection.upgrade()
            {
                let result = CallToolResponse::from(connection.server.result_of(&outcome));
                let mut result = ServerResult::from(result);
                if !asks_by_reply {
                    result.strip_result_type_for_legacy_peer();
                }
                let message = TxJsonRpcMessage::<RoleServer>::response(result, id.clone());
                let (pipes, gate) = (Arc::clone(&thread.pipes), Arc::clone(&connection.gate));
                // The watchdog must not wait for a client that does not read.
                events.spawn(async move {
                    if let Ok(line) = message_line(&message) {
                        let _waiting = gate.count(line.len());
                        let _ = pipes.output.write(&line).await;
                    }
                    pipes.end_answer();
                });
            } else {
                thread.pipes.end_answer();
            }
            let _events = events.enter();
            thread.clone().start();
        })
    }
}

/// Whether a call can be answered once and for all: nobody is told how far it is, and it cannot go on without its client.
fn may_end_here(context: &RequestContext<RoleServer>) -> bool {
    let has_tasks = || context.client_capabilities().is_some_and(|can| can.supports_tasks());
    context.meta.get_progress_token().is_none() && !has_tasks()
}
