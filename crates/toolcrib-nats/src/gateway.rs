//! The gateway: takes requests from the bus, makes calls of them, and sends the replies.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::select_all;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use toolcrib_core::{
    Call, CallTrace, Caller, Cancel, Clock, Door, Principal, SessionId, ToolName, Toolset, counted,
};
use toolcrib_ledger::{TokenFile, new_call_id};
use toolcrib_runtime::LiveRuntime;
use toolcrib_tools::{BUS, PLUGINS};

use crate::connection::BusServer;
use crate::envelope::{RequestEnvelope, RequestParameters, reply};
use crate::inbox::is_own_inbox;
use crate::recent_requests::{RecentRequests, RequestTurn};
use crate::refusal::{BusRefusal, RefusalCode};
use crate::refused_messages::RefusedMessages;
use crate::subject::BusPrefix;
use crate::tool_result::{CONTRACT_CATALOGUE, of_outcome, of_refusal};

/// How long the last replies may take to be sent. A bus that is away takes none.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// How long calls that were cancelled may take to end.
const END_TIME: Duration = Duration::from_secs(5);

/// How many replies wait to be sent. Beyond that, refusals and copies of replies are dropped.
const MOST_WAITING_REPLIES: usize = 4096;

/// How the gateway reaches the bus, and whom it serves.
#[derive(Clone, Debug)]
pub struct BusOptions {
    /// The NATS server.
    pub server: BusServer,
    /// What all subjects begin with.
    pub prefix: BusPrefix,
    /// The most calls that one principal has running.
    pub in_flight_each: usize,
    /// The most bytes that a request may have.
    pub most_request_bytes: usize,
}

/// The gateway, connected or trying to.
pub struct BusGateway {
    runtime: Arc<LiveRuntime>,
    clock: Arc<dyn Clock>,
    /// Knows which principals are revoked.
    tokens: Arc<TokenFile>,
    options: BusOptions,
    client: Client,
    recent: RecentRequests,
    refused: RefusedMessages,
    running: RunningCounts,
    waiting_replies: Arc<Semaphore>,
    /// Stops all calls.
    cancel: Cancel,
}

/// How a gateway ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusEnd {
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
        let client = options.server.connect("toolcrib gateway").await?;
        let refused = RefusedMessages::new(Arc::clone(&clock));
        Ok(Self {
            runtime,
            clock,
            tokens,
            options,
            client,
            recent: RecentRequests::new(),
            refused,
            running: Arc::default(),
            waiting_replies: Arc::new(Semaphore::new(MOST_WAITING_REPLIES)),
            cancel: Cancel::default(),
        })
    }

    /// Returns the connection to the NATS server, for what else the process does on it.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Answers requests until `stop` returns a deadline. Calls that run then may go on until it; the rest are cancelled.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = Instant>) -> io::Result<BusEnd> {
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
                Some(ended) = calls.join_next() => {
                    if let Err(err) = ended {
                        tracing::error!(%err, "a call over NATS ended without an outcome");
                    }
                }
            }
        };
        // A message that has arrived and was not taken is dropped, and its sender's request times out. The NATS server
        // may be down, and is not waited for beyond the deadline.
        for subscription in &mut messages {
            let _ = timeout_at(deadline, subscription.unsubscribe()).await;
        }
        while timeout_at(deadline, calls.join_next()).await.is_ok_and(|it| it.is_some()) {}
        let cancelled = calls.len();
        self.cancel.cancel();
        let ended = async { while calls.join_next().await.is_some() {} };
        let _ = timeout(END_TIME, ended).await;
        let _ = timeout(FLUSH_TIME, self.client.flush()).await;
        Ok(BusEnd { cancelled })
    }

    /// Takes a message. Returns the request in it, if a call is to be made.
    fn take(self: &Arc<Self>, message: &Message) -> Option<BusRequest> {
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
        // Before anything is read, so that who sends too much costs little. Without an id, the reply has no envelope, as in
        // the contract.
        let Some(running) = RunningCount::begin(&self.running, &principal.name, &self.options)
        else {
            let most = counted(self.options.in_flight_each as u64, "call");
            let message =
                format!("you have {most} running, the most there may be; wait for one to end");
            let refusal = BusRefusal { code: RefusalCode::RateLimited, message };
            self.send_later(inbox, text(&of_refusal(&refusal)));
            return None;
        };
        let mut envelope = match self.read(message) {
            Ok(envelope) => envelope,
            Err(refusal) => {
                self.send_later(inbox, text(&of_refusal(&refusal)));
                return None;
            }
        };
        let refuse = |id: &str, refusal: &BusRefusal| {
            self.send_later(inbox, self.in_envelope(id, asked.tool, of_refusal(refusal)));
        };
        let parameters = envelope
            .check_fresh(self.clock.now())
            .and_then(|()| self.check_active(&principal))
            .and_then(|()| envelope.take_parameters());
        let parameters = match parameters {
            Ok(parameters) => parameters,
            Err(refusal) => {
                refuse(&envelope.id, &refusal);
                return None;
            }
        };
        let key = (principal.name.clone(), envelope.id.clone());
        let content = [subject.as_bytes(), b"\0", &message.payload[..]].concat();
        match self.recent.begin(&key, &content, inbox) {
            RequestTurn::New => {}
            RequestTurn::Awaited => return None,
            RequestTurn::Answered(reply) => {
                self.send_later(inbox, reply);
                return None;
            }
            RequestTurn::Refused(refusal) => {
                refuse(&envelope.id, &refusal);
                return None;
            }
        }
        let caller = Caller {
            principal,
            door: Door::Nats,
            client: envelope.take_source(),
            connection: None,
            via: None,
        };
        let tool = asked.tool.to_owned();
        Some(BusRequest { key, tool, caller, parameters, running })
    }

    /// Fails if an operator has revoked the principal.
    fn check_active(&self, principal: &Principal) -> Result<(), BusRefusal> {
        let name = &principal.name;
        let (code, message) = match self.tokens.is_active(principal) {
            Ok(true) => return Ok(()),
            Ok(false) => (RefusalCode::Revoked, format!("`{name}` was revoked; ask the operator")),
            Err(err) => (
                RefusalCode::Unavailable,
                format!("the list of who was revoked cannot be read: {err}"),
            ),
        };
        Err(BusRefusal { code, message })
    }

    /// Reads a message that is not too large.
    fn read(&self, message: &Message) -> Result<RequestEnvelope, BusRefusal> {
        let (most, bytes) = (self.options.most_request_bytes, message.payload.len());
        if bytes > most {
            let message = format!("the message has {bytes} bytes, and at most {most} are taken");
            return Err(BusRefusal { code: RefusalCode::InvalidRequest, message });
        }
        RequestEnvelope::read(&message.payload)
    }

    /// Makes the call of a request, and sends the reply.
    async fn answer(self: Arc<Self>, request: BusRequest) {
        let BusRequest { key, tool, caller, parameters, running } = request;
        let unanswered = Unanswered { gateway: Arc::clone(&self), key, tool, _running: running };
        let runtime = self.runtime.current();
        let name = tool_of(&runtime.toolset, &unanswered.tool);
        let session_of_limits = SessionId(format!("nats-{}", caller.principal.name));
        let call = Call {
            conversation: parameters.session.map(SessionId),
            trace: Some(CallTrace { id: None, iteration: 0 }),
            ..Call::new(
                new_call_id(),
                session_of_limits,
                Arc::new(caller),
                name,
                Value::Object(parameters.args),
            )
        };
        let id = call.id.0.clone();
        let outcome = runtime.call(call, self.cancel.clone()).await;
        let (request, tool) = (&unanswered.key.1, &unanswered.tool);
        let mut reply = self.in_envelope(request, tool, of_outcome(outcome));
        let most = self.client.max_payload();
        if most > 0 && reply.len() > most {
            let bytes = reply.len();
            let message = format!(
                "the call {id} was made, and its reply has {bytes} bytes, but the NATS server takes {most}; ask for less"
            );
            let refusal = BusRefusal { code: RefusalCode::ReplyTooLarge, message };
            reply = self.in_envelope(request, tool, of_refusal(&refusal));
        }
        for inbox in self.recent.end(&unanswered.key, &reply) {
            self.publish(inbox, reply.clone()).await;
        }
    }

    fn in_envelope(&self, request: &str, tool: &str, payload: Value) -> Bytes {
        text(&reply(request, tool, self.clock.now(), payload))
    }

    async fn publish(&self, inbox: String, reply: Bytes) {
        if let Err(err) = self.client.publish(inbox, reply).await {
            tracing::warn!(%err, "a reply was not sent over NATS");
        }
    }

    /// Sends a reply, and does not wait for it. If too many wait, it is dropped.
    fn send_later(self: &Arc<Self>, inbox: &str, reply: Bytes) {
        let Ok(place) = Arc::clone(&self.waiting_replies).try_acquire_owned() else { return };
        let (gateway, inbox) = (Arc::clone(self), inbox.to_owned());
        tokio::spawn(async move {
            gateway.publish(inbox, reply).await;
            drop(place);
        });
    }
}

/// The calls that run, counted by principal.
type RunningCounts = Arc<Mutex<HashMap<String, usize>>>;

/// One of the calls of a principal that run, until it is dropped.
struct RunningCount {
    all: RunningCounts,
    principal: String,
}

impl RunningCount {
    /// Counts a call that begins. Returns nothing if the principal may not have one more.
    fn begin(all: &RunningCounts, principal: &str, options: &BusOptions) -> Option<Self> {
        let mut running = all.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(principal.to_owned()).or_default();
        if *count >= options.in_flight_each {
            return None;
        }
        *count += 1;
        drop(running);
        Some(Self { all: Arc::clone(all), principal: principal.to_owned() })
    }
}

impl Drop for RunningCount {
    fn drop(&mut self) {
        let mut running = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.principal);
            }
        }
    }
}

/// A request whose call was begun. If it is dropped without an answer, it is answered with an error.
struct Unanswered {
    gateway: Arc<BusGateway>,
    /// Who asked, and the id of the request.
    key: (String, String),
    tool: String,
    _running: RunningCount,
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let message = "the call ended without an outcome; see the record".to_owned();
        let refusal = BusRefusal { code: RefusalCode::InternalError, message };
        let reply = self.gateway.in_envelope(&self.key.1, &self.tool, of_refusal(&refusal));
        for inbox in self.gateway.recent.end_unanswered(&self.key, &reply) {
            self.gateway.send_later(&inbox, reply.clone());
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
    parameters: RequestParameters,
    running: RunningCount,
}

/// Returns the tool that the contract's `toolId` means: one of the contract's catalogue, or a tool from another author, or
/// the full name of any tool.
fn tool_of(toolset: &Toolset, id: &str) -> ToolName {
    if id.contains('/') {
        return id.to_owned().into();
    }
    let named = |catalogue: &str| ToolName::new(catalogue, id);
    let all = [CONTRACT_CATALOGUE, BUS.name, PLUGINS.name].map(named);
    let known = all.iter().find(|name| toolset.shelf().has(name));
    known.unwrap_or(&all[0]).clone()
}

fn text(value: &Value) -> Bytes {
    value.to_string().into()
}
