//! The connection to an MCP server: opened at the first call, shared by all calls, and opened again after the server
//! ended, each time a little later.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use toolcrib_core::worker::{
    FolderAccess, WorkerFolder, WorkerLimits, WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_core::{CallingClient, Cancel, ErrorKind, Meter, ToolError};

pub use super::client_loop::ClientLoop;
use super::client_side::ClientSide;
use super::failed_starts::FailedStart;
use super::http_client::HttpServerClient;
pub use super::http_client::TlsSource;
use super::live_server::{LiveServer, ProtocolEra, ServerCall};
use super::pin_store::{PinStore, ServerPins};
use super::server_spec::{ServerSpec, ServerWay};
use super::server_text::ServerText;
use crate::secret_values::SecretValues;

/// How long a server may take until its tools are known.
const CONNECT_TIME: Duration = Duration::from_secs(30);

/// The shortest time between two attempts to mount a server in the background.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// How long a call waits for the next attempt. One that would have to wait longer fails at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// The limits of a server.
const SERVER_LIMITS: WorkerLimits =
    WorkerLimits { memory: 2 << 30, processes: 256, cpus: f64::MAX, scratch: 256 << 20 };

/// Folders that every worker sees, so that none of a server's own can be there.
const SYSTEM_FOLDERS: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];

/// What connections are made with.
#[derive(Clone)]
pub struct ConnectionTools {
    /// Starts the servers.
    pub workers: Arc<dyn Workers>,
    /// The definitions that were accepted.
    pub pins: PinStore,
    /// The event loop.
    pub event_loop: Arc<ClientLoop>,
    /// The environment that variables are passed from.
    pub environment: Arc<BTreeMap<String, String>>,
    /// How servers over TLS are trusted.
    pub tls: TlsSource,
    /// Values that are shown to nobody, whatever a server prints or answers.
    pub secrets: SecretValues,
}

/// A tool of a server in the definition that was accepted.
#[derive(Clone, Copy, Debug)]
pub struct AcceptedTool<'a> {
    /// Its name on the wire.
    pub name: &'a str,
    /// The hash of the definition.
    pub hash: &'a str,
}

/// What holds for one call of a server.
#[derive(Clone, Copy)]
pub struct ServerCallTerms<'a> {
    /// How long the call may take.
    pub longest: Duration,
    /// Its cancellation token.
    pub cancel: &'a Cancel,
    /// Where what the server uses is counted.
    pub meter: &'a Meter,
    /// Who is told of its progress.
    pub client: &'a dyn CallingClient,
}

/// The connection to a server.
pub struct ServerConnection {
    spec: ServerSpec,
    tools: ConnectionTools,
    live: Mutex<Option<Arc<LiveServer>>>,
    /// Whether the server has answered since its last failure.
    has_answered: AtomicBool,
    /// Whether it is being mounted in the background.
    is_mounting: AtomicBool,
}

impl ServerConnection {
    /// Prepares a connection. Nothing is started before the first call.
    pub fn new(spec: ServerSpec, tools: ConnectionTools) -> Arc<Self> {
        let (has_answered, is_mounting) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { spec, tools, live: Mutex::default(), has_answered, is_mounting })
    }

    /// Returns what the operator says about the server.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Starts the server, if it does not run, and returns what was accepted of its tools. Blocks until they are known.
    pub fn mount(self: &Arc<Self>) -> Result<ServerPins, ToolError> {
        let (done, wait) = std_mpsc::channel();
        let connection = Arc::clone(self);
        self.tools.event_loop.handle()?.spawn(async move {
            let _ = done.send(connection.mounted().await);
        });
        let mounted = wait.recv().unwrap_or_else(|_| Err(self.is_closing()));
        mounted.map_err(|err| self.tools.secrets.hide_in_error(err))
    }

    /// Starts the server and keeps what it tells of its tools, without anybody who waits. If it fails, it is tried again
    /// after each pause, as long as somebody holds the connection.
    pub fn mount_in_background(self: &Arc<Self>) {
        let Ok(event_loop) = self.tools.event_loop.handle() else { return };
        if self.is_mounting.swap(true, Ordering::AcqRel) {
            return;
        }
        let connection = Arc::downgrade(self);
        event_loop.spawn(async move {
            while let Some(pause) = try_to_mount(&connection).await {
                tokio::time::sleep(pause).await;
            }
        });
    }

    async fn mounted(&self) -> Result<ServerPins, ToolError> {
        let live = self.live().await?;
        let mounted = self.compare(&live).await;
        match &mounted {
            Ok(_) => self.note_answer(),
            Err(err) => self.note_failure(err),
        }
        mounted
    }

    /// Calls a tool, and passes its progress on.
    pub async fn call(
        self: &Arc<Self>,
        tool: AcceptedTool<'_>,
        args: serde_json::Map<String, Value>,
        terms: ServerCallTerms<'_>,
    ) -> Result<Value, ToolError> {
        let (progress, mut reports) = mpsc::channel(16);
        let call = ServerCall {
            tool: tool.name.to_owned(),
            accepted: tool.hash.to_owned(),
            args,
            idle: self.spec.idle,
            longest: terms.longest,
            cancel: terms.cancel.clone(),
            meter: terms.meter.clone(),
            progress,
        };
        let connection = Arc::clone(self);
        let mut task =
            self.tools.event_loop.handle()?.spawn(async move { connection.run(call).await });
        loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => {
                    // A client that does not want to know is no reason to fail.
                    let _ = terms.client.report_progress(report).await;
                }
                ended = &mut task => {
                    let secrets = &self.tools.secrets;
                    let reply = ended.unwrap_or_else(|_| Err(self.is_closing()));
                    return reply
                        .map(|reply| secrets.hide(reply))
                        .map_err(|err| secrets.hide_in_error(err));
                }
            }
        }
    }

    async fn run(&self, call: ServerCall) -> Result<Value, ToolError> {
        let cancel = call.cancel.clone();
        let live = tokio::select! {
            biased;
            live = self.live() => live?,
            () = cancel.cancelled() => {
                return Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"));
            }
        };
        if live.may_have_other_tools() {
            self.compare(&live).await?;
        }
        let reply = live.call(call).await;
        match &reply {
            Err(err) if live.is_closed() => self.note_end(&live, err).await,
            _ => self.note_answer(),
        }
        reply
    }

    /// Returns the server that runs. Starts it, if none does.
    async fn live(&self) -> Result<Arc<LiveServer>, ToolError> {
        let mut held = self.live.lock().await;
        if let Some(live) = &*held {
            if !live.is_closed() {
                return Ok(Arc::clone(live));
            }
            // It ended while nobody called it.
            let err = live.ended().await;
            *held = None;
            self.note_failure(&err);
        }
        let failed_starts = self.tools.pins.failed_starts();
        if let Some(failed) = failed_starts.find(&self.spec) {
            let left = failed_starts.pause_left(&failed);
            if left > PATIENCE {
                return Err(self.backing_off(&failed, left));
            }
            tokio::time::sleep(left).await;
        }
        let connected = tokio::time::timeout(CONNECT_TIME, self.connect()).await;
        let connected = connected.unwrap_or_else(|_| {
            let (name, seconds) = (&self.spec.name, CONNECT_TIME.as_secs());
            let message = format!("the MCP server `{name}` did not begin within {seconds} seconds");
            Err(ToolError::new(ErrorKind::Unavailable, message).with("reason", "not_connected"))
        });
        match connected {
            Ok(live) => Ok(Arc::clone(held.insert(Arc::new(live)))),
            Err(err) => {
                self.note_failure(&err);
                Err(err)
            }
        }
    }

    /// Takes note that a server ended in a call. Of several calls that it leaves, one counts.
    async fn note_end(&self, ended: &Arc<LiveServer>, err: &ToolError) {
        let mut held = self.live.lock().await;
        if held.take_if(|live| Arc::ptr_eq(live, ended)).is_some() {
            self.note_failure(err);
        }
    }

    fn note_failure(&self, err: &ToolError) {
        self.has_answered.store(false, Ordering::Release);
        let err = self.tools.secrets.hide_in_error(err.clone());
        // Without the note, the next attempt comes sooner than it should.
        let _ = self.tools.pins.failed_starts().add(&self.spec, &err);
    }

    fn note_answer(&self) {
        if !self.has_answered.swap(true, Ordering::AcqRel) {
            self.forget_failures();
        }
    }

    /// Forgets how often the server failed, so that it is started again at once.
    pub fn forget_failures(&self) {
        self.tools.pins.failed_starts().clear(&self.spec);
    }

    fn backing_off(&self, failed: &FailedStart, left: Duration) -> ToolError {
        let (name, failures) = (&self.spec.name, failed.failures);
        let why = &failed.message;
        let message =
            format!("the MCP server `{name}` has failed {failures} times; the last time: {why}");
        ToolError::new(ErrorKind::Unavailable, message).with("reason", "backing_off").hint(format!(
            "it is started again in {} seconds, or by `toolcrib plugins reload`",
            left.as_secs() + 1
        ))
    }

    /// Starts the server, connects to it, and compares its tools with those that were accepted.
    async fn connect(&self) -> Result<LiveServer, ToolError> {
        let pins = self.tools.pins.pins(&self.spec.name)?;
        let is_legacy = pins.is_some_and(|pins| pins.are_of(&self.spec) && pins.is_legacy);
        let era = if is_legacy { ProtocolEra::Legacy } else { ProtocolEra::Unknown };
        let client = ClientSide::new(&self.spec.name, self.tools.pins.clone());
        let live = match &self.spec.way {
            ServerWay::Command(words) => {
                let (workers, request) = (Arc::clone(&self.tools.workers), self.request(words)?);
                let started = tokio::task::spawn_blocking(move || workers.start(&request)).await;
                let started = started.unwrap_or_else(|_| Err(self.is_closing()))?;
                self.tools.event_loop.keep(&started.control);
                LiveServer::connect(client, started, era).await?
            }
            ServerWay::Url { url, headers } => {
                let transport = self.transport(url, headers)?;
                LiveServer::connect_over_http(client, transport, era).await?
            }
            ServerWay::Imported => {
                let message =
                    format!("no file of `mcp.import` has the server `{}`", self.spec.name);
                return Err(ToolError::new(ErrorKind::Unavailable, message)
                    .hint("give it a `command` or a `url`, or import the file that has it"));
            }
        };
        self.compare(&live).await?;
        Ok(live)
    }

    /// Lists the tools of the server, and compares them with those that were accepted.
    async fn compare(&self, live: &LiveServer) -> Result<ServerPins, ToolError> {
        let listing = tokio::time::timeout(CONNECT_TIME, live.list()).await;
        let listing = listing.unwrap_or_else(|_| {
            let message = format!("the MCP server `{}` does not list its tools", self.spec.name);
            Err(ToolError::new(ErrorKind::Unavailable, message).with("reason", "not_connected"))
        })?;
        Ok(self.tools.pins.compare(&self.spec, &listing)?)
    }

    /// Prepares the requests to a server that speaks HTTP.
    fn transport(
        &self,
        url: &ServerText,
        headers: &[(String, ServerText)],
    ) -> Result<StreamableHttpClientTransport<HttpServerClient>, ToolError> {
        let bad = |message: String| {
            let message = format!("the MCP server `{}` cannot be asked: {message}", self.spec.name);
            ToolError::new(ErrorKind::Unavailable, message).with("reason", "not_connected")
        };
        let environment = &self.tools.environment;
        let url = url.value(environment)?.unwrap_or_default();
        let mut sent = HashMap::new();
        for (name, value) in headers {
            let value = value.value(environment)?.unwrap_or_default();
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| bad(format!("the value of the header `{name}` cannot be sent")))?;
            value.set_sensitive(true);
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| bad(format!("`{name}` is no name of a header")))?;
            sent.insert(name, value);
        }
        let client = HttpServerClient::new(&url, Arc::clone(&self.tools.tls))
            .map_err(|err| bad(err.to_string()))?;
        let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(sent);
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }

    fn request(&self, words: &[ServerText]) -> Result<WorkerRequest, ToolError> {
        let known = &self.tools.environment;
        let mut environment = Vec::new();
        for (name, text) in &self.spec.environment {
            environment.extend(text.value(known)?.map(|value| (name.clone(), value)));
        }
        for (name, value) in [("HOME", "/tmp"), ("PATH", "/usr/local/bin:/usr/bin:/bin")] {
            if !self.spec.environment.iter().any(|(passed, _)| passed == name) {
                environment.push((name.to_owned(), value.to_owned()));
            }
        }
        self.require_outside_state()?;
        let mut values = Vec::new();
        for word in words {
            values.extend(word.value(known)?);
        }
        let is_own =
            |folder: &&String| !SYSTEM_FOLDERS.iter().any(|it| Path::new(folder).starts_with(it));
        let folder = |folder: &String| WorkerFolder {
            // The sandbox follows no links. The operator's own may lead elsewhere.
            source: fs::canonicalize(folder)
                .ok()
                .and_then(|path| path.into_os_string().into_string().ok())
                .unwrap_or_else(|| folder.clone()),
            target: folder.clone(),
            access: FolderAccess::Read,
        };
        Ok(WorkerRequest {
            program: WorkerProgram::Command { words: values, directory: "/tmp".to_owned() },
            environment,
            folders: self.spec.folders.iter().filter(is_own).map(folder).collect(),
            hosts: self.spec.hosts.clone(),
            limits: SERVER_LIMITS,
        })
    }

    /// Fails if the server would read our own state: keys, approvals and the record.
    fn require_outside_state(&self) -> Result<(), ToolError> {
        let state = self.tools.pins.state_folder();
        let state = fs::canonicalize(&state).unwrap_or(state);
        for folder in &self.spec.folders {
            let place = fs::canonicalize(folder).unwrap_or_else(|_| folder.into());
            if state.starts_with(&place) || place.starts_with(&state) {
                let name = &self.spec.name;
                let message = format!(
                    "the MCP server `{name}` is not given `{folder}`, which has Toolcrib's own state"
                );
                return Err(ToolError::new(ErrorKind::Unavailable, message)
                    .hint(format!("name smaller folders in `[mcp.{name}]`")));
            }
        }
        Ok(())
    }

    fn is_closing(&self) -> ToolError {
        let message = format!("the connection to the MCP server `{}` is closing", self.spec.name);
        ToolError::new(ErrorKind::Unavailable, message)
    }
}

/// Tries to mount a server that somebody still wants. Returns when to try again.
async fn try_to_mount(connection: &Weak<ServerConnection>) -> Option<Duration> {
    let connection = connection.upgrade()?;
    if connection.mounted().await.is_ok() {
        connection.is_mounting.store(false, Ordering::Release);
        return None;
    }
    let failed_starts = connection.tools.pins.failed_starts();
    let failed = failed_starts.find(&connection.spec);
    Some(failed.map_or(LEAST_PAUSE, |it| failed_starts.pause_left(&it)).max(LEAST_PAUSE))
}
