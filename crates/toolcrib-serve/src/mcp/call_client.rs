//! The client of one call, as a tool can reach it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::{
    ClientCapabilities, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::Notify;
use toolcrib_core::calling_client::{
    Answers, CallingClient, ClientFuture, ClientQuestion, DetachNeed, MessageLevel, ProgressReport,
};
use toolcrib_core::{Call, Cancel, ErrorKind, ToolError};

use super::client_connection::{ClientConnection, asks_by_reply};
use super::client_question::{client_request, needed_capability, shows_forms};
use super::client_request::ask_client;
use super::running_task::RunningTask;
use super::server::McpServer;

/// How many tasks of one principal run at once. Each holds a thread, which others need too.
const MOST_TASKS_EACH: usize = 32;

/// The client of one call.
pub(super) struct CallClient {
    server: Arc<McpServer>,
    call: Call,
    cancel: Cancel,
    link: ClientLink,
    /// What the client has answered before, and brought with the call.
    given: Answers,
    /// What the tool asked that the client has not answered yet.
    asked: Mutex<BTreeMap<String, ClientQuestion>>,
    /// What the client would have to be able to do.
    lacking: OnceLock<ClientCapabilities>,
    task: OnceLock<Arc<RunningTask>>,
    is_detached: Notify,
}

/// How a client can be reached.
struct ClientLink {
    peer: Peer<RoleServer>,
    capabilities: ClientCapabilities,
    /// Whether the client is asked by the reply to its call.
    asks_by_reply: bool,
    progress: Option<ProgressToken>,
    log_level: Option<LoggingLevel>,
}

impl CallClient {
    pub(super) fn new(
        connection: &ClientConnection,
        call: &Call,
        cancel: Cancel,
        given: Answers,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        let asks_by_reply = asks_by_reply(context);
        let log_level =
            if asks_by_reply { context.meta.log_level() } else { Some(connection.log_level()) };
        let link = ClientLink {
            peer: context.peer.clone(),
            capabilities: context.client_capabilities().unwrap_or_default(),
            asks_by_reply,
            progress: context.meta.get_progress_token(),
            log_level,
        };
        Self {
            server: Arc::clone(&connection.server),
            call: call.clone(),
            cancel,
            link,
            given,
            asked: Mutex::default(),
            lacking: OnceLock::new(),
            task: OnceLock::new(),
            is_detached: Notify::new(),
        }
    }

    /// Returns what the client is asked by the reply to its call.
    pub(super) fn asked(&self) -> BTreeMap<String, ClientQuestion> {
        self.open_questions().clone()
    }

    /// Returns what the client has answered before.
    pub(super) fn given(&self) -> &Answers {
        &self.given
    }

    /// Returns the error of a client that cannot do what the tool needs.
    pub(super) fn lacking(&self) -> Option<ErrorData> {
        self.lacking.get().cloned().map(ErrorData::missing_required_client_capability)
    }

    /// Whether the client wants messages of a level.
    pub(super) fn wants_message(&self, level: MessageLevel) -> bool {
        self.link.log_level.is_some_and(|least| rank(wire_level(level)) >= rank(least))
    }

    /// Whether the client can come back for the outcome.
    pub(super) fn knows_tasks(&self) -> bool {
        self.link.capabilities.supports_tasks()
    }

    /// Waits until the call goes on without its client, and returns the task that it is then.
    pub(super) async fn detached(&self) -> Arc<RunningTask> {
        loop {
            let detached = self.is_detached.notified();
            if let Some(task) = self.task.get() {
                return Arc::clone(task);
            }
            detached.await;
        }
    }

    /// Lets the call go on without its client, from now on.
    pub(super) async fn detach_now(&self) -> Result<(), ToolError> {
        if self.task.get().is_some() {
            return Ok(());
        }
        if self.server.tasks.count_of(&self.call.caller.principal.name) >= MOST_TASKS_EACH {
            let message =
                format!("{MOST_TASKS_EACH} tasks of this caller run; wait until some end");
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        let (server, call) = (Arc::clone(&self.server), self.call.clone());
        let now = server.api.answers.clock.now();
        // On the disk before the client is told.
        let added = tokio::task::spawn_blocking(move || server.detached.add(&call, now)).await;
        let added = added.map_err(|err| std::io::Error::other(err.to_string())).and_then(|it| it);
        let added = added.map_err(|err| {
            let message = format!("the task cannot be written to the state folder: {err}");
            ToolError::new(ErrorKind::Io, message)
        })?;
        let task = Arc::new(RunningTask::new(added, self.cancel.clone()));
        self.server.tasks.add(&task);
        let _ = self.task.set(task);
        self.is_detached.notify_waiters();
        Ok(())
    }

    /// Notes that the client cannot do something, and returns the error for the tool.
    fn lacks(&self, capability: ClientCapabilities, what: &str) -> ToolError {
        let _ = self.lacking.set(capability);
        let message = format!("the tool needs a client that can {what}, and this one cannot");
        ToolError::new(ErrorKind::Unavailable, message)
    }

    async fn ask_input_by_request(
        &self,
        questions: BTreeMap<String, ClientQuestion>,
    ) -> Result<Answers, ToolError> {
        let time = self.server.config.answer_time;
        let mut answers = Answers::new();
        // One after the other, as a person reads forms.
        for (name, question) in questions {
            let result = ask_client(&self.link.peer, client_request(question)?, time).await;
            let result = result.map_err(|err| {
                let message = format!("the client did not answer: {err}");
                ToolError::new(ErrorKind::Unavailable, message)
            })?;
            answers.insert(name, serde_json::to_value(result).unwrap_or_default());
        }
        Ok(answers)
    }

    fn ask_input_by_reply(
        &self,
        questions: BTreeMap<String, ClientQuestion>,
    ) -> Result<Answers, ToolError> {
        let (known, open): (BTreeMap<_, _>, BTreeMap<_, _>) = questions
            .into_iter()
            .partition(|(name, _)| self.given.get(name).is_some_and(Value::is_object));
        if open.is_empty() {
            let answers = known.into_keys().filter_map(|name| self.given.get_key_value(&name));
            return Ok(answers.map(|(name, answer)| (name.clone(), answer.clone())).collect());
        }
        self.open_questions().extend(open);
        let message = "the tool asks the client, which answers with the same call";
        Err(ToolError::new(ErrorKind::InputNeeded, message))
    }

    fn open_questions(&self) -> MutexGuard<'_, BTreeMap<String, ClientQuestion>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallingClient for CallClient {
    fn ask(&self, questions: BTreeMap<String, ClientQuestion>) -> ClientFuture<'_, Answers> {
        Box::pin(async move {
            if let Some(question) = questions.values().find(|it| !self.can_answer(it)) {
                let (capability, what) = needed_capability(question);
                return Err(self.lacks(capability, what));
            }
            if let Some(task) = self.task.get() {
                return task.ask(questions, self.server.api.answers.clock.now()).await;
            }
            if self.link.asks_by_reply {
                self.ask_input_by_reply(questions)
            } else {
                self.ask_input_by_request(questions).await
            }
        })
    }

    fn detach(&self, need: DetachNeed) -> ClientFuture<'_, ()> {
        Box::pin(async move {
            match need {
                DetachNeed::Required if self.knows_tasks() => self.detach_now().await,
                DetachNeed::Wanted => {
                    if self.knows_tasks() {
                        // A client that cannot have a task waits.
                        let _ = self.detach_now().await;
                    }
                    Ok(())
                }
                DetachNeed::Required => {
                    let capability = ClientCapabilities::builder().enable_tasks().build();
                    Err(self.lacks(capability, "come back for the outcome of a task"))
                }
            }
        })
    }

    fn can_answer(&self, question: &ClientQuestion) -> bool {
        let can = &self.link.capabilities;
        match question {
            ClientQuestion::Form { .. } => shows_forms(can),
            ClientQuestion::Model { .. } => can.sampling.is_some(),
            ClientQuestion::Roots => can.roots.is_some(),
        }
    }

    fn report_progress(&self, progress: ProgressReport) -> ClientFuture<'_, ()> {
        Box::pin(async move {
            // A call that goes on without its client has no reply on which it could be told.
            if let (Some(token), None) = (&self.link.progress, self.task.get()) {
                let mut notice = ProgressNotificationParam::new(token.clone(), progress.done);
                notice.total = progress.total;
                notice.message = progress.message;
                let _ = self.link.peer.notify_progress(notice).await;
            }
            Ok(())
        })
    }

    fn log(&self, level: MessageLevel, message: String) -> ClientFuture<'_, ()> {
        Box::pin(async move {
            if self.wants_message(level) && self.task.get().is_none() {
                let notice =
                    LoggingMessageNotificationParam::new(wire_level(level), message.into());
                let notice = notice.with_logger(self.call.tool.to_string());
                let _ = self.link.peer.notify_logging_message(notice).await;
            }
            Ok(())
        })
    }
}

fn wire_level(level: MessageLevel) -> LoggingLevel {
    match level {
        MessageLevel::Debug => LoggingLevel::Debug,
        MessageLevel::Info => LoggingLevel::Info,
        MessageLevel::Notice => LoggingLevel::Notice,
        MessageLevel::Warning => LoggingLevel::Warning,
        MessageLevel::Error => LoggingLevel::Error,
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
