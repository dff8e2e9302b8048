//! Messages over pipes, one on each line. A line that is no message is answered with what is wrong with it, so that no
//! client waits for a reply that never comes.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use toolcrib_core::json;

use super::call_gate::CallGate;

/// What reads messages.
pub(super) type LineInput = Box<dyn AsyncRead + Send + Unpin>;

/// What writes messages.
pub(super) type LineOutput = Box<dyn AsyncWrite + Send + Unpin>;

/// How much is read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// A client at the other end of two pipes.
pub(super) struct LineTransport {
    input: BufReader<LineInput>,
    /// The beginning of a line. It is kept here because a future that reads it can be dropped.
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    is_skipping: bool,
    output: Arc<Mutex<Option<LineOutput>>>,
    gate: Arc<CallGate>,
    /// Whether messages that need the server can be answered.
    opened: CancellationToken,
    has_begun: bool,
    /// A first message that needs the server.
    held: Option<RxJsonRpcMessage<RoleServer>>,
}

/// A line from the client.
enum ReadLine {
    Whole,
    TooLong,
    End,
}

impl LineTransport {
    /// Only a first message that needs no server is passed on before `opened` is cancelled.
    pub(super) fn new(
        input: LineInput,
        output: LineOutput,
        gate: Arc<CallGate>,
        opened: CancellationToken,
    ) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            line: Vec::new(),
            is_skipping: false,
            output: Arc::new(Mutex::new(Some(output))),
            gate,
            opened,
            has_begun: false,
            held: None,
        }
    }

    /// Reads a line, of at most as many bytes as a call may have.
    async fn read_line(&mut self) -> io::Result<ReadLine> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                return Ok(ReadLine::End);
            }
            let end = memchr::memchr(b'\n', read);
            let count = end.map_or(read.len(), |at| at + 1);
            if !self.is_skipping {
                self.line.extend_from_slice(&read[..count]);
            }
            self.input.consume(count);
            let is_too_long = self.line.len() > json::MAX_BYTES;
            if is_too_long && !self.is_skipping {
                self.is_skipping = true;
                self.line.clear();
            }
            if end.is_some() {
                let was_too_long = std::mem::take(&mut self.is_skipping);
                return Ok(if was_too_long { ReadLine::TooLong } else { ReadLine::Whole });
            }
        }
    }

    /// Returns the message of the line that was read, or what to answer if it is none. An empty line is nothing.
    fn message(
        &self,
    ) -> Option<Result<RxJsonRpcMessage<RoleServer>, TxJsonRpcMessage<RoleServer>>> {
        let line = self.line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        Some(serde_json::from_slice(line).map_err(|_| refusal(line)))
    }
}

/// Whether a message asks only what the server can do, which is the same for all.
fn needs_no_server(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    use rmcp::model::{ClientRequest, JsonRpcMessage};
    let JsonRpcMessage::Request(request) = message else { return false };
    matches!(
        request.request,
        ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
    )
}

/// Says why a line is no message.
fn refusal(line: &[u8]) -> TxJsonRpcMessage<RoleServer> {
    let error = |code: ErrorCode, message: String| ErrorData::new(code, message, None);
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(err) => {
            let message = format!("the line is not JSON: {err}; send one message on each line");
            return TxJsonRpcMessage::<RoleServer>::error(
                error(ErrorCode::PARSE_ERROR, message),
                None,
            );
        }
    };
    if value.is_array() {
        let message = "MCP has no batches; send one message on each line".to_owned();
        return TxJsonRpcMessage::<RoleServer>::error(
            error(ErrorCode::INVALID_REQUEST, message),
            None,
        );
    }
    let id = serde_json::from_value::<RequestId>(value["id"].clone()).ok();
    let refused = if let Some(method) = value["method"].as_str() {
        let shown: String = method.chars().take(128).collect();
        let message = format!("the parameters of `{shown}` do not fit the protocol");
        error(ErrorCode::INVALID_PARAMS, message)
    } else {
        let message =
            "the line is no message of JSON-RPC 2.0: it has neither a method nor a result";
        error(ErrorCode::INVALID_REQUEST, message.to_owned())
    };
    TxJsonRpcMessage::<RoleServer>::error(refused, id)
}

fn too_long() -> TxJsonRpcMessage<RoleServer> {
    let message = format!(
        "the message is longer than {} bytes, and was dropped; write large content in several calls",
        json::MAX_BYTES
    );
    TxJsonRpcMessage::<RoleServer>::error(
        ErrorData::new(ErrorCode::INVALID_REQUEST, message, None),
        None,
    )
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, gate) = (Arc::clone(&self.output), Arc::clone(&self.gate));
        async move {
            let mut bytes = serde_json::to_vec(&message)?;
            bytes.push(b'\n');
            let _waiting = gate.count(bytes.len());
            match &mut *output.lock().await {
                Some(output) => {
                    output.write_all(&bytes).await?;
                    output.flush().await
                }
                None => Err(io::Error::from(io::ErrorKind::NotConnected)),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.has_begun {
            self.opened.cancelled().await;
        }
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        loop {
            let answer = match self.read_line().await {
                Ok(ReadLine::Whole) => {
                    let message = self.message();
                    self.line.clear();
                    match message {
                        None => continue,
                        Some(Ok(message)) => {
                            let is_first = !std::mem::replace(&mut self.has_begun, true);
                            if is_first && !needs_no_server(&message) {
                                // Kept here, because a future that waits can be dropped.
                                self.held = Some(message);
                                self.opened.cancelled().await;
                                return self.held.take();
                            }
                            return Some(message);
                        }
                        Some(Err(refusal)) => refusal,
                    }
                }
                Ok(ReadLine::TooLong) => too_long(),
                Ok(ReadLine::End) | Err(_) => return None,
            };
            // Whoever reads may be dropped at any time, and half an answer would spoil the next line.
            tokio::spawn(self.send(answer));
            self.gate.wait_for_room().await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.take();
        Ok(())
    }
}
