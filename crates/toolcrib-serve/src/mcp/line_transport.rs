//! Messages over pipes, one on each line, for the SDK. A line that is no message is answered with what is wrong with it, so that no
//! client waits for a reply that never comes.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::json;

use super::call_gate::CallGate;
use super::client_pipes::ClientPipes;
use super::line_input::ReadLine;
use super::message_line::message_line;

/// A client at the other end of two pipes.
pub(super) struct LineTransport {
    pipes: Arc<ClientPipes>,
    /// The lines that the reader thread does not answer itself.
    handed: mpsc::Receiver<ReadLine>,
    gate: Arc<CallGate>,
    /// Whether messages that need the server can be answered.
    opened: CancellationToken,
    has_begun: bool,
    /// A first message that needs the server.
    held: Option<RxJsonRpcMessage<RoleServer>>,
}

impl LineTransport {
    /// Only a first message that needs no server is passed on before `opened` is cancelled.
    pub(super) fn new(
        pipes: Arc<ClientPipes>,
        handed: mpsc::Receiver<ReadLine>,
        gate: Arc<CallGate>,
        opened: CancellationToken,
    ) -> Self {
        Self { pipes, handed, gate, opened, has_begun: false, held: None }
    }

    /// Answers a line that is no message to pass on.
    async fn answer(&mut self, answer: TxJsonRpcMessage<RoleServer>) {
        // Whoever reads may be dropped at any time, and half an answer would spoil the next line.
        tokio::spawn(self.send(answer));
        self.gate.wait_for_room().await;
    }

    /// Waits for the next line that the reader thread does not answer.
    async fn next_line(&mut self) -> ReadLine {
        tokio::select! {
            biased;
            Some(line) = self.handed.recv() => line,
            line = self.pipes.next_line() => line,
        }
    }

    /// Notes what a message opens or cancels. Returns what to answer if its id is in use: the SDK would answer only one of
    /// the two requests.
    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) -> Option<TxJsonRpcMessage<RoleServer>> {
        if let JsonRpcMessage::Request(request) = message
            && !self.pipes.open(&request.id)
        {
            return Some(id_in_use(&request.id));
        }
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.pipes.cancel(id);
        }
        None
    }
}

/// Refuses a request whose id is in use. It has no id of its own, because that one belongs to the first request.
fn id_in_use(id: &RequestId) -> TxJsonRpcMessage<RoleServer> {
    let message = format!("the id {id} is in use: an earlier request with it has no reply yet");
    TxJsonRpcMessage::<RoleServer>::error(
        ErrorData::new(ErrorCode::INVALID_REQUEST, message, None),
        None,
    )
}

/// Returns the message of a line, or what to answer if it is none. An empty line is nothing.
fn message(
    line: &[u8],
) -> Option<Result<RxJsonRpcMessage<RoleServer>, TxJsonRpcMessage<RoleServer>>> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    Some(serde_json::from_slice(line).map_err(|_| refusal(line)))
}

/// Whether a message asks only what the server can do, which is the same for all.
fn needs_no_server(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    use rmcp::model::ClientRequest;
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
        let (pipes, gate) = (Arc::clone(&self.pipes), Arc::clone(&self.gate));
        match &message {
            JsonRpcMessage::Response(response) => pipes.close(&response.id),
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => pipes.close(id),
            _ => {}
        }
        async move {
            let line = message_line(&message)?;
            // The line may wait long for its client.
            drop(message);
            let _waiting = gate.count(line.len());
            pipes.output.write(&line).await
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
            let answer = match self.next_line().await {
                ReadLine::Whole(line) => match message(&line) {
                    None => continue,
                    Some(Ok(message)) => {
                        if let Some(refusal) = self.note(&message) {
                            self.answer(refusal).await;
                            continue;
                        }
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
                },
                ReadLine::TooLong => too_long(),
                ReadLine::End => return None,
            };
            self.answer(answer).await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.pipes.output.close().await;
        Ok(())
    }
}
