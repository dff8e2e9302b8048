//! An MCP server that runs and is connected: it lists its tools and answers calls, and is not trusted in either.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ErrorCode,
    JsonObject, PaginatedRequestParams, ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RoleClient, RunningService,
    ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolcrib_core::calling_client::ProgressReport;
use toolcrib_core::command::End;
use toolcrib_core::worker::{StartedWorker, WorkerControl};
use toolcrib_core::{Cancel, ErrorKind, Meter, ToolError, Usage, escape};

use super::client_side::ClientSide;
use super::definition::ToolDefinition;
use super::http_client::{HttpServerClient, fault_words};
use super::pin_store::ToldListing;
use super::pipe_transport::{self, PipeFault, PipeTransport};

/// The most tools of one server.
const MAX_TOOLS: usize = 1_000;

/// The most pages of one list.
const MAX_PAGES: usize = 100;

/// The longest text of a server that an error quotes, in characters.
const MAX_QUOTED: usize = 2_000;

/// How long a list of tools counts.
const LIST_TIME: Duration = Duration::from_mins(5);

/// How long a server may take to hear of a cancellation.
const CANCEL_TIME: Duration = Duration::from_secs(1);

/// Which versions of the protocol a server is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolEra {
    /// Nobody knows yet: it is asked what it knows, which an old server may not answer for ten seconds.
    Unknown,
    /// It began with `initialize` before.
    Legacy,
}

impl ProtocolEra {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Legacy => ClientLifecycleMode::Initialize,
            Self::Unknown => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        }
    }
}

/// A call of a tool of a server.
pub(crate) struct ServerCall {
    /// The tool's name on the wire.
    pub(crate) tool: String,
    /// The hash of the definition that was accepted.
    pub(crate) accepted: String,
    pub(crate) args: JsonObject,
    /// How long the server may be silent.
    pub(crate) idle: Duration,
    /// How long the call may take in all.
    pub(crate) longest: Duration,
    pub(crate) cancel: Cancel,
    /// Where what the server uses is counted.
    pub(crate) meter: Meter,
    /// Where its progress is told.
    pub(crate) progress: mpsc::Sender<ProgressReport>,
}

/// A server that runs. It is killed when it is dropped.
pub(crate) struct LiveServer {
    name: String,
    service: RunningService<RoleClient, ClientSide>,
    link: ServerLink,
    told: Mutex<ToldTools>,
    /// The processor time that calls were charged with, in microseconds.
    charged_cpu_us: AtomicU64,
}

/// The tools that a server told last.
struct ToldTools {
    /// The hashes of the definitions, by name.
    hashes: BTreeMap<String, String>,
    /// When it told them.
    at: Instant,
}

impl Default for ToldTools {
    fn default() -> Self {
        Self { hashes: BTreeMap::new(), at: Instant::now() }
    }
}

/// What a server is connected by.
enum ServerLink {
    /// The pipes of a worker.
    Worker { control: Arc<dyn WorkerControl>, fault: Arc<OnceLock<PipeFault>> },
    /// Requests to another machine, or another process.
    Http,
}

impl LiveServer {
    /// Connects to a server that was started.
    pub(crate) async fn connect(
        client: ClientSide,
        worker: StartedWorker,
        era: ProtocolEra,
    ) -> Result<Self, ToolError> {
        let name = client.server().to_owned();
        let control = Arc::clone(&worker.control);
        let fault = Arc::new(OnceLock::new());
        let transport = PipeTransport::new(worker, Arc::clone(&fault))
            .map_err(|err| not_connected(&name, &err))?;
        match serve_client_with_lifecycle(client, transport, era.mode()).await {
            Ok(service) => {
                let link = ServerLink::Worker { control, fault };
                Ok(Self {
                    name,
                    service,
                    link,
                    told: Mutex::default(),
                    charged_cpu_us: AtomicU64::new(0),
                })
            }
            Err(_) if fault.get().is_some() => Err(ended_error(&name, &control, &fault).await),
            Err(err) => Err(not_connected(&name, &err)),
        }
    }

    /// Connects to a server that runs elsewhere.
    pub(crate) async fn connect_over_http(
        client: ClientSide,
        transport: StreamableHttpClientTransport<HttpServerClient>,
        era: ProtocolEra,
    ) -> Result<Self, ToolError> {
        let name = client.server().to_owned();
        match serve_client_with_lifecycle(client, transport, era.mode()).await {
            Ok(service) => Ok(Self {
                name,
                service,
                link: ServerLink::Http,
                told: Mutex::default(),
                charged_cpu_us: AtomicU64::new(0),
            }),
            Err(ClientInitializeError::TransportError { error, .. }) => {
                Err(not_connected(&name, &fault_words(&*error.error)))
            }
            Err(err) => Err(not_connected(&name, &err)),
        }
    }

    /// Returns what the server has used since this was asked last, as far as that is known. Calls share it, so what a call
    /// used can count for another one.
    pub(crate) fn newly_used(&self) -> Usage {
        let ServerLink::Worker { control, .. } = &self.link else { return Usage::default() };
        let Usage { cpu_us, peak_memory, .. } = control.usage();
        let charged = self.charged_cpu_us.fetch_max(cpu_us, Ordering::Relaxed);
        Usage { cpu_us: cpu_us.saturating_sub(charged), peak_memory, ..Usage::default() }
    }

    /// Says how the server ended.
    pub(crate) async fn ended(&self) -> ToolError {
        match &self.link {
            ServerLink::Worker { control, fault } => ended_error(&self.name, control, fault).await,
            ServerLink::Http => not_connected(&self.name, &"the connection ended"),
        }
    }

    /// Whether no more calls can be made.
    pub(crate) fn is_closed(&self) -> bool {
        let has_fault = match &self.link {
            ServerLink::Worker { fault, .. } => fault.get().is_some(),
            ServerLink::Http => false,
        };
        has_fault || self.service.is_transport_closed()
    }

    /// Whether the server's tools must be compared again: it said since the last look that they changed, or the last list
    /// is old. Not every server says so.
    pub(crate) fn may_have_other_tools(&self) -> bool {
        self.service.service().take_changed() || self.told().at.elapsed() > LIST_TIME
    }

    /// Asks the server for all its tools.
    pub(crate) async fn list(&self) -> Result<ToldListing, ToolError> {
        let mut tools: BTreeMap<String, ToolDefinition> = BTreeMap::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = match self.service.list_tools(Some(page)).await {
                Ok(page) => page,
                Err(err) => return Err(self.error_of(err).await),
            };
            for tool in &page.tools {
                let tool = ToolDefinition::of_listed(tool);
                if let Some(twice) = tools.insert(tool.name.clone(), tool) {
                    let shown = quoted(&twice.name);
                    let message = format!("the MCP server `{}` lists `{shown}` twice", self.name);
                    return Err(ToolError::new(ErrorKind::Unavailable, message));
                }
            }
            if tools.len() > MAX_TOOLS {
                break;
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                let hashes = tools.values().map(|tool| (tool.name.clone(), tool.hash()));
                *self.told() = ToldTools { hashes: hashes.collect(), at: Instant::now() };
                let info = self.service.peer_info();
                let is_legacy = info.is_some_and(|info| info.protocol_version.has_initialize());
                return Ok(ToldListing { is_legacy, tools: tools.into_values().collect() });
            }
        }
        let message = format!("the MCP server `{}` lists too many tools", self.name);
        Err(ToolError::new(ErrorKind::Unavailable, message)
            .hint(format!("a server may have {MAX_TOOLS} tools")))
    }

    /// Calls a tool, if its definition is the one that was accepted.
    pub(crate) async fn call(&self, call: ServerCall) -> Result<Value, ToolError> {
        self.require_accepted(&call)?;
        let ServerCall { tool, args, idle, longest, cancel, meter, progress, .. } = call;
        let params = CallToolRequestParams::new(tool).with_arguments(args);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(idle.min(longest))
            .reset_timeout_on_progress()
            .with_max_total_timeout(longest);
        let peer = self.service.peer();
        let request = match peer.send_cancellable_request(request, options).await {
            Ok(request) => request,
            Err(err) => return Err(self.error_of(err).await),
        };
        let (id, token) = (request.id.clone(), request.progress_token.clone());
        self.service.service().follow(token.clone(), progress);
        let answer = tokio::select! {
            biased;
            answer = request.await_response() => Some(answer),
            () = cancel.cancelled() => None,
        };
        self.service.service().unfollow(&token);
        meter.add(&self.newly_used());
        match answer {
            Some(Ok(ServerResult::CallToolResult(result))) => reply_of(&json!(result)),
            Some(Ok(ServerResult::InputRequiredResult(_))) => {
                self.service.service().refuse("input_required");
                Err(self.bad_reply("asks for input, which Toolcrib passes to nobody"))
            }
            Some(Ok(_)) => {
                Err(self.bad_reply("answered with something that is no result of a tool"))
            }
            Some(Err(err)) => Err(self.error_of(err).await),
            None => {
                let told = CancelledNotificationParam::new(
                    Some(id),
                    Some("the call was cancelled".to_owned()),
                );
                let _ = tokio::time::timeout(CANCEL_TIME, peer.notify_cancelled(told)).await;
                Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"))
            }
        }
    }

    /// Fails if the server has told another definition than the one that was accepted, or has the tool no longer.
    fn require_accepted(&self, call: &ServerCall) -> Result<(), ToolError> {
        let name = &self.name;
        let tool = quoted(&call.tool);
        match self.told().hashes.get(&call.tool) {
            Some(hash) if *hash == call.accepted => Ok(()),
            Some(_) => {
                let message =
                    format!("the MCP server `{name}` has changed `{tool}` since it was accepted");
                Err(ToolError::new(ErrorKind::Refused, message)
                    .with("reason", "definition_changed")
                    .hint(format!("look at the change with `toolcrib plugins servers`, then `toolcrib plugins accept {name}`")))
            }
            None => {
                let message = format!("the MCP server `{name}` has no tool `{tool}` any more");
                Err(ToolError::new(ErrorKind::NotFound, message).with("reason", "tool_gone"))
            }
        }
    }

    fn bad_reply(&self, what: &str) -> ToolError {
        let message = format!("the MCP server `{}` {what}", self.name);
        ToolError::new(ErrorKind::Failed, message).with("reason", "bad_reply")
    }

    async fn error_of(&self, err: ServiceError) -> ToolError {
        match err {
            ServiceError::McpError(data) => {
                let kind = if data.code == ErrorCode::INVALID_PARAMS {
                    ErrorKind::BadArgs
                } else {
                    ErrorKind::Failed
                };
                let message = format!(
                    "the MCP server `{}` answered with an error: {}",
                    self.name,
                    quoted(&data.message)
                );
                ToolError::new(kind, message)
                    .with("reason", "server_error")
                    .with("code", data.code.0)
            }
            ServiceError::Timeout { timeout } => {
                let (name, ms) = (&self.name, timeout.as_millis() as u64);
                let message = format!("the MCP server `{name}` did not answer within {ms} ms");
                ToolError::new(ErrorKind::Timeout, message)
                    .with("limit_ms", ms)
                    .hint(format!("raise `idle_ms` or `longest_ms` in `[mcp.{name}]`"))
            }
            ServiceError::TransportSend(err) if matches!(self.link, ServerLink::Http) => {
                not_connected(&self.name, &fault_words(&*err.error))
            }
            ServiceError::TransportClosed
            | ServiceError::TransportSend(_)
            | ServiceError::Cancelled { .. } => self.ended().await,
            err => self.bad_reply(&format!("broke the protocol: {}", quoted(&err.to_string()))),
        }
    }

    fn told(&self) -> MutexGuard<'_, ToldTools> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_connected(name: &str, why: &dyn fmt::Display) -> ToolError {
    let why = quoted(&why.to_string());
    let message = format!("the MCP server `{name}` cannot be connected: {why}");
    ToolError::new(ErrorKind::Unavailable, message).with("reason", "not_connected")
}

/// Says how a server ended. It is ended first: only then is everything known.
async fn ended_error(
    name: &str,
    control: &Arc<dyn WorkerControl>,
    fault: &OnceLock<PipeFault>,
) -> ToolError {
    let (ending, why) = (Arc::clone(control), fault.get().copied());
    let _ = tokio::task::spawn_blocking(move || pipe_transport::end(&*ending, why)).await;
    let (reason, how) = match fault.get() {
        None | Some(PipeFault::Closed) => ("server_ended", end_words(&**control)),
        Some(PipeFault::LongLine) => {
            ("server_misbehaved", "it sent a line that is too long".to_owned())
        }
        Some(PipeFault::BadLines) => {
            ("server_misbehaved", "it printed too many lines that are no messages".to_owned())
        }
        Some(PipeFault::Flood) => {
            ("server_misbehaved", "it sent too many messages that nobody asked for".to_owned())
        }
        Some(PipeFault::Stuck) => {
            ("server_misbehaved", "it did not read what it was sent".to_owned())
        }
    };
    let printed = control.printed();
    let last = printed.lines().rev().find(|line| !line.trim().is_empty());
    let message = format!("the MCP server `{name}` was ended or ended itself: {how}");
    let error = ToolError::new(ErrorKind::Unavailable, message).with("reason", reason);
    match last {
        Some(line) => error.hint(format!("the last line that it printed: {}", quoted(line))),
        None => error,
    }
}

fn end_words(control: &dyn WorkerControl) -> String {
    let Some(ended) = control.end() else { return "it closed its pipes".to_owned() };
    if let Some(limit) = ended.limit {
        return format!("it was over the limit {limit:?}");
    }
    match ended.end {
        End::Exited(code) => format!("it exited with code {code}"),
        End::Signalled(signal) => format!("signal {signal} ended it"),
        _ => "it closed its pipes".to_owned(),
    }
}

/// Returns the beginning of a text of a server, without characters that could mislead.
fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(MAX_QUOTED).collect();
    escape::lines(cut.trim()).into_owned()
}

/// Makes a result the reply, or the error that the server says it is.
fn reply_of(result: &Value) -> Result<Value, ToolError> {
    let is_error = result["isError"] == true;
    if is_error {
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let text = quoted(&texts.join("\n"));
        let message = if text.is_empty() { "the tool failed".to_owned() } else { text };
        return Err(ToolError::new(ErrorKind::Failed, message).with("reason", "tool_failed"));
    }
    let mut reply = json!({"content": result["content"], "isError": false});
    if let Some(structured) = result.get("structuredContent") {
        reply["structuredContent"] = structured.clone();
    }
    Ok(reply)
}
