//! A worker: runs the calls that a gateway has permitted, and shows the NATS server's tools what it does.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::client::SubscribeError;
use async_nats::connection::State;
use async_nats::service::{Request, Service, ServiceExt};
use async_nats::{Client, Message};
use bytes::Bytes;
use futures_util::stream::select_all;
use futures_util::{Stream, StreamExt};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use toolcrib_core::{Clock, ErrorKind, ToolError};

use crate::connection::BusServer;
use crate::gateway_key::TrustedGateway;
use crate::offers::Offers;
use crate::placement::PlaceName;
use crate::random_id::random_id;
use crate::refused_messages::RefusedMessages;
use crate::reply_box::GATEWAY_INBOX;
use crate::subject::BusPrefix;
use crate::worker_engine::{WantedOfCall, WantedOfRunning, WorkerEngine, WorkerHost};
use crate::worker_messages::WorkerReply;
use crate::worker_subject::{WORKERS_GROUP, WorkerVerb};

/// What workers call themselves as a service of NATS.
pub(crate) const SERVICE_NAME: &str = "toolcrib-worker";

/// How long the last replies may take to be sent.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// How often a worker that is not connected yet looks whether it is.
const CONNECTION_LOOK: Duration = Duration::from_millis(20);

/// How long calls that were cancelled may take to end.
const END_TIME: Duration = Duration::from_secs(5);

/// How a worker reaches the bus, and what it serves.
pub struct WorkerOptions {
    /// The NATS server.
    pub server: BusServer,
    /// What all subjects begin with.
    pub prefix: BusPrefix,
    /// The name of the worker.
    pub name: String,
    /// The name of its workspace.
    pub workspace: String,
    /// Its labels. A place can ask for one.
    pub labels: Vec<String>,
    /// The catalogues and tools that it serves; empty for all.
    pub tools: Vec<String>,
    /// The most calls at a time.
    pub most_running: usize,
    /// The gateways whose calls it runs.
    pub gateways: Vec<TrustedGateway>,
    /// The version of the program.
    pub version: &'static str,
}

/// A worker, connected or trying to.
pub struct BusWorker {
    options: WorkerOptions,
    client: Client,
    engine: Arc<WorkerEngine>,
    refused: RefusedMessages,
}

/// Whether a message is from a gateway that the worker trusts.
enum Trust {
    /// One has signed it.
    Signed,
    /// No trusted gateway has signed it. The sender is told so.
    Unsigned,
    /// It does not come from a gateway, and gets no reply.
    NotAGateway,
}

impl BusWorker {
    /// Begins to connect. A server that is not there yet is waited for.
    pub async fn connect(
        options: WorkerOptions,
        host: Arc<dyn WorkerHost>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let client = options.server.connect(&format!("toolcrib worker {}", options.name)).await?;
        let refused = RefusedMessages::new(Arc::clone(&clock));
        let engine = Arc::new(WorkerEngine {
            name: options.name.clone(),
            process: random_id()?,
            tools: options.tools.clone(),
            most_running: options.most_running,
            host,
            clock,
            calls: Arc::default(),
            offers: Offers::default(),
            runtimes: Mutex::default(),
        });
        Ok(Self { options, client, engine, refused })
    }

    /// Runs calls until `stop` returns a deadline. Calls that run then may go on until it; the rest are cancelled. Returns
    /// how many were. `ready` is called once the worker listens.
    pub async fn run(
        self: Arc<Self>,
        ready: impl FnOnce(),
        stop: impl Future<Output = Instant>,
    ) -> io::Result<usize> {
        let service = self.start_service().await?;
        let mut calls = self.take_calls(&service).await.map_err(io::Error::other)?;
        let mut questions = self.take_questions().await.map_err(io::Error::other)?;
        let mut tasks = JoinSet::new();
        let (mut ready, listens) = (Some(ready), self.until_it_listens());
        tokio::pin!(stop, listens);
        let deadline = loop {
            tokio::select! {
                deadline = &mut stop => break deadline,
                () = &mut listens, if ready.is_some() => {
                    if let Some(ready) = ready.take() {
                        ready();
                    }
                }
                Some((wanted, request)) = calls.next() => self.answer_call(&mut tasks, wanted, request),
                Some((wanted, message)) = questions.next() => {
                    self.answer_question(wanted, message).await;
                }
                Some(_) = tasks.join_next() => {}
                else => break stop.await,
            }
        };
        // From now on, calls go to other workers. Those that run are still asked about.
        let _ = timeout_at(deadline, service.stop()).await;
        drop(calls);
        let mut is_over = std::pin::pin!(tokio::time::sleep_until(deadline));
        while !tasks.is_empty() {
            tokio::select! {
                () = &mut is_over => break,
                Some((wanted, message)) = questions.next() => {
                    self.answer_question(wanted, message).await;
                }
                _ = tasks.join_next() => {}
            }
        }
        let cancelled = self.engine.calls.cancel_all();
        let ended = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(END_TIME, ended).await;
        let _ = timeout(FLUSH_TIME, self.client.flush()).await;
        Ok(cancelled)
    }

    /// Waits until the NATS server has the subscriptions. It has them once it answers a flush.
    async fn until_it_listens(&self) {
        while self.client.connection_state() != State::Connected
            || !matches!(timeout(FLUSH_TIME, self.client.flush()).await, Ok(Ok(())))
        {
            tokio::time::sleep(CONNECTION_LOOK).await;
        }
    }

    fn answer_call(
        self: &Arc<Self>,
        tasks: &mut JoinSet<()>,
        wanted: WantedOfCall,
        request: Request,
    ) {
        let worker = Arc::clone(self);
        tasks.spawn(async move {
            let reply = match worker.trust_of(&request.message) {
                Trust::Signed => worker.engine.handle(wanted, &request.message.payload).await,
                Trust::Unsigned => unsigned(),
                Trust::NotAGateway => return,
            };
            if let Err(err) = request.respond(Ok(worker.text_of(&reply))).await {
                tracing::warn!(%err, "a reply was not sent to the gateway");
            }
        });
    }

    async fn answer_question(&self, wanted: WantedOfRunning, message: Message) {
        let reply = match self.trust_of(&message) {
            Trust::Signed => self.engine.tell(wanted, &message.payload),
            Trust::Unsigned => unsigned(),
            Trust::NotAGateway => return,
        };
        if let Some(inbox) = message.reply {
            let _ = self.client.publish(inbox, self.text_of(&reply)).await;
        }
    }

    /// Shows the worker to `nats service`.
    async fn start_service(&self) -> io::Result<Service> {
        let WorkerOptions { name, workspace, labels, tools, version, most_running, .. } =
            &self.options;
        let metadata = [
            ("worker", name.clone()),
            ("workspace", workspace.clone()),
            ("labels", labels.join(",")),
            ("tools", tools.join(",")),
        ];
        let metadata: HashMap<String, String> =
            metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let (calls, most) = (Arc::clone(&self.engine.calls), *most_running);
        self.client
            .service_builder()
            .description("Runs the tools of Toolcrib on one machine")
            .metadata(metadata)
            .queue_group(WORKERS_GROUP)
            .stats_handler(move |_, _| json!({"running": calls.running(), "most_running": most}))
            .start(SERVICE_NAME, version)
            .await
            .map_err(io::Error::other)
    }

    /// Subscribes to the subjects on which calls come.
    async fn take_calls(
        &self,
        service: &Service,
    ) -> Result<impl Stream<Item = (WantedOfCall, Request)> + Unpin + use<>, async_nats::Error>
    {
        let WorkerOptions { prefix, name, workspace, labels, .. } = &self.options;
        let place = |label: Option<&String>| PlaceName {
            workspace: workspace.clone(),
            label: label.cloned(),
        };
        let places = labels.iter().map(|label| place(Some(label))).chain([place(None)]);
        let run = prefix.worker_subject(name, &self.engine.process, WorkerVerb::Run);
        let mut subjects = vec![(WantedOfCall::Run, "run".to_owned(), run)];
        for place in places {
            let of = |verb: &str| match &place.label {
                None => verb.to_owned(),
                Some(label) => format!("{verb}-{label}"),
            };
            subjects.push((WantedOfCall::Check, of("check"), prefix.check_subject(&place)));
            subjects.push((WantedOfCall::Compute, of("compute"), prefix.compute_subject(&place)));
        }
        let mut streams = Vec::new();
        for (wanted, name, subject) in subjects {
            let endpoint = service.endpoint_builder().name(name).add(subject).await?;
            streams.push(endpoint.map(move |request| (wanted, request)));
        }
        Ok(select_all(streams))
    }

    /// Subscribes to the subjects on which running calls are asked about.
    async fn take_questions(
        &self,
    ) -> Result<impl Stream<Item = (WantedOfRunning, Message)> + Unpin + use<>, SubscribeError>
    {
        let WorkerOptions { prefix, name, .. } = &self.options;
        let mut streams = Vec::new();
        for (wanted, verb) in [
            (WantedOfRunning::Status, WorkerVerb::Status),
            (WantedOfRunning::Cancel, WorkerVerb::Cancel),
        ] {
            let subject = prefix.worker_subject(name, &self.engine.process, verb);
            let messages = self.client.subscribe(subject).await?;
            streams.push(messages.map(move |message| (wanted, message)));
        }
        Ok(select_all(streams))
    }

    fn trust_of(&self, message: &Message) -> Trust {
        let reply = message.reply.as_deref().unwrap_or_default();
        let note = |why: &'static str| {
            self.refused.add(self.engine.host.recorder(), "nats", why, message.subject.as_str());
        };
        if !reply.starts_with(GATEWAY_INBOX) {
            note("the reply would not go to a gateway");
            return Trust::NotAGateway;
        }
        if self.options.gateways.iter().any(|gateway| gateway.has_signed(message)) {
            return Trust::Signed;
        }
        note("no gateway that is trusted has signed the message");
        Trust::Unsigned
    }

    /// Returns a reply as it is sent. One that is larger than a message may be is an error.
    fn text_of(&self, reply: &WorkerReply) -> Bytes {
        let text = serde_json::to_vec(reply).unwrap_or_default();
        let most = self.client.max_payload();
        if most == 0 || text.len() <= most {
            return text.into();
        }
        let bytes = text.len();
        let message =
            format!("the reply has {bytes} bytes, and the NATS server takes messages of {most}");
        let error = ToolError::new(ErrorKind::OutputTooLarge, message).hint("ask for less");
        let reply = WorkerReply::Failed { error: error.into() };
        serde_json::to_vec(&reply).unwrap_or_default().into()
    }
}

/// Returns the refusal of a message that no trusted gateway has signed.
fn unsigned() -> WorkerReply {
    let why = "the message is not signed with a key that the worker trusts".to_owned();
    WorkerReply::Refused { why }
}
