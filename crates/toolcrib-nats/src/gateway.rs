//! The gateway: takes requests from the bus, makes calls of them, and sends the replies.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, Message, Subscriber};
use futures_util::StreamExt;
use futures_util::stream::select_all;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use toolcrib_core::{
    Call, CallTrace, Caller, Cancel, Clock, Door, Principal, SessionId, ToolName, Toolset,
};
use toolcrib_ledger::{TokenFile, new_call_id};
use toolcrib_runtime::LiveRuntime;

use crate::envelope::{EnvelopeFault, RequestEnvelope, reply};
use crate::inbox::is_own_inbox;
use crate::recent_requests::{RecentRequests, RequestTurn};
use crate::refused_messages::RefusedMessages;
use crate::subject::BusPrefix;
use crate::tool_result::{CONTRACT_CATALOGUE, of_fault, of_outcome};

/// The catalogue of tools from other authors.
const PLUGINS_CATALOGUE: &str = "plugins";

/// How long the last replies may take to be sent. A bus that is away takes none.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// How the gateway reaches the bus, and whom it serves.
#[derive(Clone, Debug)]
pub struct BusOptions {
    /// The address of the server of NATS: `nats://HOST:PORT`, or `tls://HOST:PORT`.
    pub url: String,
    /// A file with the credentials of the gateway, as `nsc` writes it.
    pub credentials: Option<PathBuf>,
    /// What all subjects begin with.
    pub prefix: BusPrefix,
    /// The most calls that one principal has running.
    pub most_running_each: usize,
}

/// The gateway, connected or trying to.
pub struct BusGateway {
    runtime: Arc<LiveRuntime>,
    clock: Arc<dyn Clock>,
    /// Has who was revoked.
    tokens: Arc<TokenFile>,
    options: BusOptions,
    client: Client,
    recent: RecentRequests,
    refused: RefusedMessages,
    /// How many calls run, by principal.
    running: Mutex<HashMap<String, usize>>,
    /// Stops all calls.
    cancel: Cancel,
}

/// Calls that ended while the gateway stopped, and those that did not.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusRun {
    /// How many calls were still running, and were cancelled.
    pub cancelled: usize,
}

impl BusGateway {
    /// Begins to connect. A server that is not there yet is waited for, and everything else works meanwhile.
    pub async fn connect(
        runtime: Arc<LiveRuntime>,
        clock: Arc<dyn Clock>,
        tokens: Arc<TokenFile>,
        options: BusOptions,
    ) -> io::Result<Self> {
        let connect = connect_options(&options).await?;
        let (address, _) = without_user(&options.url);
        let client = connect.connect(address).await.map_err(io::Error::other)?;
        let refused = RefusedMessages::new(Arc::clone(&clock));
        Ok(Self {
            runtime,
            clock,
            tokens,
            options,
            client,
            recent: RecentRequests::new(),
            refused,
            running: Mutex::default(),
            cancel: Cancel::default(),
        })
    }

    /// Answers requests until `stop` ends. Calls that run then have until `deadline`.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = Instant>) -> io::Result<BusRun> {
        let group = self.options.prefix.queue_group();
        let mut subscriptions: Vec<Subscriber> = Vec::new();
        for subject in self.options.prefix.subscriptions() {
            let subscription = self.client.queue_subscribe(subject, group.clone()).await;
            subscriptions.push(subscription.map_err(io::Error::other)?);
        }
        let mut messages = select_all(subscriptions);
        let mut calls = JoinSet::new();
        tokio::pin!(stop);
        let deadline = loop {
            tokio::select! {
                deadline = &mut stop => break deadline,
                message = messages.next() => {
                    let Some(message) = message else { break stop.await };
                    if let Some(request) = self.take(&message) {
                        let gateway = Arc::clone(&self);
                        calls.spawn(async move { gateway.answer(request).await });
                    }
                }
                Some(_) = calls.join_next() => {}
            }
        };
        // Those that have come already are for other gateways, or end with the deadline of their sender. The bus may be away,
        // and is not waited for.
        for subscription in &mut messages {
            let _ = timeout_at(deadline, subscription.unsubscribe()).await;
        }
        while timeout_at(deadline, calls.join_next()).await.is_ok_and(|it| it.is_some()) {}
        let cancelled = calls.len();
        self.cancel.cancel();
        while calls.join_next().await.is_some() {}
        let _ = timeout(FLUSH_TIME, self.client.flush()).await;
        Ok(BusRun { cancelled })
    }

    /// Takes a message. Returns the request in it, if a call is to be made.
    fn take(&self, message: &Message) -> Option<BusRequest> {
        let subject = message.subject.as_str();
        let recorder = &*self.runtime.current().recorder;
        let Some(asked) = self.options.prefix.parse(subject) else {
            self.refused.add(recorder, "nats", "the subject names no tool or no agent", subject);
            return None;
        };
        let principal = asked.principal();
        let inbox = message.reply.as_deref().unwrap_or_default();
        if !is_own_inbox(inbox, asked.agent) {
            let reason = "the reply would not go to the sender's own inbox";
            self.refused.add(recorder, &principal.name, reason, inbox);
            return None;
        }
        let refuse = |id: &str, fault: &EnvelopeFault| {
            self.send(vec![inbox.to_owned()], self.in_envelope(id, asked.tool, of_fault(fault)));
        };
        let mut envelope = match RequestEnvelope::read(&message.payload) {
            Ok(envelope) => envelope,
            Err(fault) => {
                // Without an id there is nothing to put into an envelope, as in the contract.
                self.send(vec![inbox.to_owned()], text(&of_fault(&fault)));
                return None;
            }
        };
        if let Err(fault) =
            envelope.check_fresh(self.clock.now()).and_then(|()| self.check_active(&principal))
        {
            refuse(&envelope.id, &fault);
            return None;
        }
        let key = (principal.name.clone(), envelope.id.clone());
        let content = [subject.as_bytes(), b"\0", &message.payload[..]].concat();
        match self.recent.begin(&key, &content, inbox) {
            RequestTurn::New => {}
            RequestTurn::Awaited => return None,
            RequestTurn::Answered(reply) => {
                self.send(vec![inbox.to_owned()], reply);
                return None;
            }
            RequestTurn::Refused(fault) => {
                refuse(&envelope.id, &fault);
                return None;
            }
        }
        if !self.begin_call(&principal.name) {
            self.recent.forget(&key);
            let most = self.options.most_running_each;
            let message = format!("{most} of your calls are running; wait for one to end");
            refuse(&envelope.id, &EnvelopeFault { code: "RATE_LIMITED", message });
            return None;
        }
        let parameters = envelope.take_parameters();
        let caller = Caller {
            principal,
            door: Door::Nats,
            client: envelope.source.take(),
            connection: None,
            via: None,
        };
        let tool = asked.tool.to_owned();
        Some(BusRequest { key, tool, caller, session: parameters.session, args: parameters.args })
    }

    /// Fails if an operator has revoked the principal.
    fn check_active(&self, principal: &Principal) -> Result<(), EnvelopeFault> {
        let name = &principal.name;
        let (code, message) = match self.tokens.is_active(principal) {
            Ok(true) => return Ok(()),
            Ok(false) => ("REVOKED", format!("`{name}` was revoked; ask the operator")),
            Err(err) => {
                ("UNAVAILABLE", format!("the list of who was revoked cannot be read: {err}"))
            }
        };
        Err(EnvelopeFault { code, message })
    }

    /// Makes the call of a request, and sends the reply.
    async fn answer(self: Arc<Self>, request: BusRequest) {
        let BusRequest { key, tool, caller, session, args } = request;
        let runtime = self.runtime.current();
        let name = tool_of(&runtime.toolset, &tool);
        let session_of_limits = SessionId(format!("nats-{}", caller.principal.name));
        let call = Call {
            conversation: session.map(SessionId),
            trace: Some(CallTrace { id: None, iteration: 0 }),
            ..Call::new(
                new_call_id(),
                session_of_limits,
                Arc::new(caller),
                name,
                Value::Object(args),
            )
        };
        let outcome = runtime.call(call, self.cancel.clone()).await;
        let reply = self.in_envelope(&key.1, &tool, of_outcome(outcome));
        self.end_call(&key.0);
        let inboxes = self.recent.end(&key, &reply);
        self.send(inboxes, reply);
    }

    fn in_envelope(&self, request: &str, tool: &str, payload: Value) -> Arc<[u8]> {
        text(&reply(request, tool, self.clock.now(), payload))
    }

    /// Sends a reply. Nobody waits for it: what the bus does not take now is sent when it is there again.
    fn send(&self, inboxes: Vec<String>, reply: Arc<[u8]>) {
        let client = self.client.clone();
        tokio::spawn(async move {
            for inbox in inboxes {
                if let Err(err) = client.publish(inbox, reply.to_vec().into()).await {
                    tracing::warn!(%err, "a reply was not sent to the bus");
                }
            }
        });
    }

    /// Counts a call that begins. Returns whether the principal may have one more.
    fn begin_call(&self, principal: &str) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(principal.to_owned()).or_default();
        let may = *count < self.options.most_running_each;
        *count += usize::from(may);
        may
    }

    fn end_call(&self, principal: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(principal) {
            *count -= 1;
            if *count == 0 {
                running.remove(principal);
            }
        }
    }
}

/// A request for which a call is made.
struct BusRequest {
    /// Who asked, and the id of the request.
    key: (String, String),
    /// The contract's `toolId`.
    tool: String,
    caller: Caller,
    session: Option<String>,
    args: serde_json::Map<String, Value>,
}

/// Returns the tool that the contract's `toolId` means: one of the contract's catalogue, or a tool from another author, or
/// the full name of any tool.
fn tool_of(toolset: &Toolset, id: &str) -> ToolName {
    if id.contains('/') {
        return id.to_owned().into();
    }
    let (own, plugin) =
        (ToolName::new(CONTRACT_CATALOGUE, id), ToolName::new(PLUGINS_CATALOGUE, id));
    if !toolset.shelf().has(&own) && toolset.shelf().has(&plugin) { plugin } else { own }
}

fn text(value: &Value) -> Arc<[u8]> {
    value.to_string().into_bytes().into()
}

async fn connect_options(options: &BusOptions) -> io::Result<ConnectOptions> {
    let connect = match &options.credentials {
        None => ConnectOptions::new(),
        Some(path) => {
            let mode = std::fs::metadata(path)
                .map_err(|err| io::Error::new(err.kind(), format!("`{}`: {err}", path.display())))?
                .mode();
            if mode & 0o077 != 0 {
                let path = path.display();
                let message = format!(
                    "other users can read the credentials in `{path}`; make it private: chmod 600 {path}"
                );
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
            }
            ConnectOptions::with_credentials_file(path).await?
        }
    };
    let connect = match without_user(&options.url).1 {
        Some((user, password)) => connect.user_and_password(user, password),
        None => connect,
    };
    Ok(connect
        .name("toolcrib gateway")
        .retry_on_initial_connect()
        .require_tls(options.url.starts_with("tls://"))
        .connection_timeout(Duration::from_secs(5))
        .event_callback(|event| async move { log(&event) }))
}

/// Returns an address without its user and password, and these. The client would not send them.
fn without_user(url: &str) -> (String, Option<(String, String)>) {
    let split = url.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.rsplit_once('@')?;
        Some((scheme, user, host))
    });
    let Some((scheme, user, host)) = split else { return (url.to_owned(), None) };
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    (format!("{scheme}://{host}"), Some((user.to_owned(), password.to_owned())))
}

fn log(event: &Event) {
    match event {
        Event::Connected => tracing::info!("connected to the bus"),
        Event::Disconnected => tracing::warn!("the bus is away; it is tried again"),
        // We ended it.
        Event::Closed | Event::Draining => {}
        other => tracing::warn!(event = %other, "the bus"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_password_are_taken_out_of_an_address() {
        let of = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (url, address, user) in [
            ("nats://a:4222", "nats://a:4222", None),
            ("nats://gw:p@ss:w@a:4222", "nats://a:4222", of("gw", "p@ss:w")),
            ("tls://gw@a", "tls://a", of("gw", "")),
        ] {
            assert_eq!(without_user(url), (address.to_owned(), user), "{url}");
        }
    }
}
