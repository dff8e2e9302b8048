//! `tasks/get`, `tasks/update` and `tasks/cancel`: how a call stands that goes on without its client. Commands in the
//! background are such tasks too.

use std::sync::Arc;

use jiff::Timestamp;
use rmcp::model::{
    CallToolResult, CancelTaskParams, ContentBlock, CreateTaskResult, DetailedTask, ErrorCode,
    GetTaskParams, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use toolcrib_core::command::{End, Lines, Stream};
use toolcrib_core::{Caller, ErrorKind, Outcome};
use toolcrib_ledger::{DetachedCall, DetachedCalls, DetachedEnd, DetachedResult, DetachedState};

use super::client_connection::ClientConnection;
use super::client_question::input_requests;
use super::running_task::RunningTask;
use super::server::McpServer;
use crate::api::{TaskState, TaskSummary};

/// How often a client should look how a task stands, in milliseconds.
const POLL_MS: u64 = 1000;

/// The most bytes of the output of a command in the background.
const MOST_BYTES: usize = 64 << 10;

impl ClientConnection {
    /// Says how a task stands.
    pub(super) async fn task_status(
        &self,
        request: &GetTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let who = self.caller(context)?;
        let id = &request.task_id;
        match self.server.find_task(id, &who.caller).await? {
            Some(FoundTask::Running(task)) => running(&task).map(GetTaskResult::new),
            Some(FoundTask::OnDisk(call, state)) => Ok(GetTaskResult::new(known(&call, state))),
            Some(FoundTask::Command(command)) => self.server.command_task(command).await,
            None => Err(unknown(id)),
        }
    }

    /// Takes answers to what a task asks.
    pub(super) async fn answer_task(
        &self,
        request: UpdateTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let who = self.caller(context)?;
        match self.server.find_task(&request.task_id, &who.caller).await? {
            Some(FoundTask::Running(task)) => {
                task.answer(request.input_responses, self.server.api.answers.clock.now());
                Ok(())
            }
            // It asks nothing.
            Some(FoundTask::OnDisk(..) | FoundTask::Command(_)) => Ok(()),
            None => Err(unknown(&request.task_id)),
        }
    }

    /// Cancels a task, if it still runs.
    pub(super) async fn cancel_found_task(
        &self,
        request: &CancelTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let who = self.caller(context)?;
        match self.server.find_task(&request.task_id, &who.caller).await? {
            Some(FoundTask::Running(task)) => task.cancel.cancel(),
            Some(FoundTask::OnDisk(_, DetachedState::Running)) => {
                let message = "the call runs in another process, so it cannot be cancelled here";
                return Err(ErrorData::internal_error(message, None));
            }
            Some(FoundTask::OnDisk(..)) => {}
            Some(FoundTask::Command(command)) => {
                let backend = Arc::clone(&self.server.api.ports.backend);
                let killed = tokio::task::spawn_blocking(move || backend.kill_task(&command.id));
                if let Ok(Err(err)) = killed.await {
                    let message = format!("the command cannot be ended: {err}");
                    return Err(ErrorData::internal_error(message, None));
                }
            }
            None => return Err(unknown(&request.task_id)),
        }
        Ok(())
    }
}

/// A task that a client asks about.
enum FoundTask {
    /// It runs in this process.
    Running(Arc<RunningTask>),
    /// It runs in another process, or has ended.
    OnDisk(DetachedCall, DetachedState),
    /// It is a command in the background.
    Command(TaskSummary),
}

impl McpServer {
    async fn find_task(
        self: &Arc<Self>,
        id: &str,
        caller: &Arc<Caller>,
    ) -> Result<Option<FoundTask>, ErrorData> {
        // A result may have secrets that only the caller may see.
        let is_visible = |call: &DetachedCall| call.principal == caller.principal.name;
        if let Some(task) = self.tasks.find(id) {
            return Ok(is_visible(&task.call).then_some(FoundTask::Running(task)));
        }
        let (server, wanted) = (Arc::clone(self), id.to_owned());
        let found = tokio::task::spawn_blocking(move || server.detached.find(&wanted)).await;
        let found = found.map_err(|err| std::io::Error::other(err.to_string())).and_then(|it| it);
        let found = found.map_err(|err| {
            ErrorData::internal_error(format!("the task cannot be read: {err}"), None)
        })?;
        if let Some((call, state)) = found {
            return Ok(is_visible(&call).then_some(FoundTask::OnDisk(call, state)));
        }
        let commands = self
            .api
            .visible_tasks(caller)
            .await
            .map_err(|err| ErrorData::internal_error(err.message().to_owned(), None))?;
        let is_own = |command: &TaskSummary| match &command.principal {
            Some(principal) => principal.name == caller.principal.name,
            None => caller.is_local_user(),
        };
        let found = commands.into_iter().find(|command| command.id == id && is_own(command));
        Ok(found.map(FoundTask::Command))
    }

    /// Keeps how a task ended, for the client that comes back.
    pub(super) async fn keep_task_end(self: Arc<Self>, task: &RunningTask, made: Option<Outcome>) {
        let end = DetachedEnd {
            at: self.api.answers.clock.now(),
            result: self.detached_result(&task.call.id, made),
        };
        let (server, id, kept) = (Arc::clone(&self), task.call.id.clone(), end.clone());
        let written = tokio::task::spawn_blocking(move || server.detached.end(&id, &kept)).await;
        match written {
            Ok(Ok(())) => self.tasks.remove(&task.call.id),
            // The client is still told, as long as this process lives.
            Ok(Err(_)) | Err(_) => task.keep_end(end),
        }
    }

    /// Returns what is kept of the outcome of a task. A defect of a tool is not a result of it.
    fn detached_result(&self, id: &str, made: Option<Outcome>) -> DetachedResult {
        match made {
            None => DetachedResult::Failed(no_outcome(id)),
            Some(made) => match made.error.as_ref().map(|err| err.kind) {
                Some(ErrorKind::Cancelled) => DetachedResult::Cancelled,
                Some(ErrorKind::Bug) => DetachedResult::Failed(made.text),
                _ => {
                    let result = serde_json::to_value(self.result_of(&made));
                    DetachedResult::Completed(result.unwrap_or_default())
                }
            },
        }
    }

    /// Returns a command in the background as a task.
    async fn command_task(
        self: &Arc<Self>,
        command: TaskSummary,
    ) -> Result<GetTaskResult, ErrorData> {
        let started = command.started.clone();
        let task = Task::new(command.id.clone(), TaskStatus::Working, started.clone(), started)
            .with_poll_interval_ms(POLL_MS)
            .with_status_message(self.api.redactor.clean(&command.command).into_owned());
        let without_result = match (command.status, command.end) {
            (TaskState::Running, _) => Some(TaskPayload::Working),
            (TaskState::Lost, _) => Some(payload_of(DetachedResult::Failed(lost(&command.id)))),
            (TaskState::Ended, Some(End::Killed)) => Some(TaskPayload::Cancelled),
            (TaskState::Ended, _) => None,
        };
        if let Some(payload) = without_result {
            return Ok(GetTaskResult::new(DetailedTask::new(task, payload)));
        }
        let (backend, call) = (Arc::clone(&self.api.ports.backend), command.id.clone());
        let lines = Lines { from: 1, count: u64::MAX, most: MOST_BYTES };
        let read = move || backend.output(&call, Stream::Stdout, lines);
        let text = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(excerpt)) => excerpt.text,
            Ok(Err(_)) | Err(_) => String::new(),
        };
        let summary = serde_json::to_value(&command).unwrap_or_default();
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.is_error = Some(command.end.is_some_and(|end| end != End::Exited(0)));
        result.structured_content = Some(summary);
        let payload = TaskPayload::Completed { result: object(serde_json::to_value(result)) };
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }
}

/// Returns the reply that tells a client to come back.
pub(super) fn created(task: &RunningTask) -> CreateTaskResult {
    CreateTaskResult::new(described(&task.call, task.updated()))
}

/// Returns how a task stands that runs in this process.
fn running(task: &RunningTask) -> Result<DetailedTask, ErrorData> {
    if let Some(end) = task.kept_end() {
        return Ok(known(&task.call, DetachedState::Ended(end)));
    }
    let pending = task.pending();
    let payload = if pending.is_empty() {
        TaskPayload::Working
    } else {
        TaskPayload::InputRequired { input_requests: input_requests(pending)? }
    };
    Ok(DetailedTask::new(described(&task.call, task.updated()), payload))
}

/// Returns how a task stands that this process does not run.
fn known(call: &DetachedCall, state: DetachedState) -> DetailedTask {
    let (at, payload) = match state {
        DetachedState::Running => (call.at, TaskPayload::Working),
        DetachedState::Ended(end) => (end.at, payload_of(end.result)),
        DetachedState::Lost => (call.at, payload_of(DetachedResult::Failed(lost(&call.id)))),
    };
    DetailedTask::new(described(call, at), payload)
}

fn described(call: &DetachedCall, updated: Timestamp) -> Task {
    let kept = u64::try_from(DetachedCalls::KEPT_TIME.as_millis()).unwrap_or(u64::MAX);
    Task::new(call.id.clone(), TaskStatus::Working, call.at.to_string(), updated.to_string())
        .with_ttl_ms(kept)
        .with_poll_interval_ms(POLL_MS)
        .with_status_message(call.tool.clone())
}

fn payload_of(result: DetachedResult) -> TaskPayload {
    match result {
        DetachedResult::Completed(result) => TaskPayload::Completed { result: object(Ok(result)) },
        DetachedResult::Cancelled => TaskPayload::Cancelled,
        DetachedResult::Failed(message) => {
            let error = json!({"code": ErrorCode::INTERNAL_ERROR.0, "message": message});
            TaskPayload::Failed { error: object(Ok(error)) }
        }
    }
}

fn object(value: Result<Value, serde_json::Error>) -> JsonObject {
    match value {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

fn unknown(id: &str) -> ErrorData {
    let shown: String = id.chars().take(64).collect();
    ErrorData::invalid_params(format!("no task `{shown}` of this caller is known"), None)
}

/// Says that a call ended without an outcome.
pub(super) fn no_outcome(id: &str) -> String {
    format!("the call {id} ended without an outcome; see `toolcrib audit show {id}`")
}

/// Says that a call will not end, because the process that ran it is gone.
fn lost(id: &str) -> String {
    format!("the process that ran the call is gone; `toolcrib audit show {id}` has what is known")
}
