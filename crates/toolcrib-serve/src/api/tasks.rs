//! `/api/tasks` and `/api/outputs`: the commands that run or ran, and what they printed.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{Lines, Stream};
use toolcrib_core::schema::Within;
use toolcrib_core::{Caller, Role};

use super::access::{AccessRight, CallVisibility};
use super::backend::{TaskState, TaskSummary};
use super::blocking::blocking;
use super::calls::{owner_of, visible_call};
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::outcome::failed;
use crate::reply::ApiError;

/// How many lines are returned, unless the query says.
const USUAL_LINES: u64 = 1000;

/// How many bytes from the beginning of an output are searched for secrets, and shown to others, at most.
const MOST_CLEANED_BYTES: usize = 16 << 20;

/// How many bytes of lines are returned at most.
const MOST_OUTPUT_BYTES: usize = 1 << 20;

/// The operations about commands and their output.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/tasks", "list_tasks", list)
            .about(AccessRight::Any, "Lists commands that run or ran: an agent's own, or all.")
            .query::<TasksQuery>()
            .replies::<TaskList>(),
        Operation::get("/api/tasks/{id}", "show_task", show)
            .about(AccessRight::Any, "Says how a command stands.")
            .replies::<OneTask>()
            .fails(StatusCode::NOT_FOUND, "No command that this token may see has the id."),
        Operation::post("/api/tasks/{id}/kill", "kill_task", kill)
            .about(AccessRight::Call, "Kills a command and everything that it started.")
            .replies::<KilledTask>()
            .fails(StatusCode::NOT_FOUND, "No command that this token may kill has the id."),
        Operation::get("/api/outputs/{call}", "read_output", read)
            .about(AccessRight::Any, "Returns lines of the saved output of a call.")
            .query::<OutputQuery>()
            .replies::<OutputLines>()
            .fails(StatusCode::NOT_FOUND, "No output of a call that this token may see is saved."),
    ]
}

/// Which commands are listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TasksQuery {
    /// Only those that run.
    running: Option<bool>,
    /// The most commands to return.
    limit: Option<Within<1, 1000>>,
}

/// Which lines are meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutputQuery {
    stream: Option<StreamName>,
    /// The first line, counted from 1.
    from: Option<Within<1, 9_007_199_254_740_991>>,
    /// How many lines.
    lines: Option<Within<1, 100_000>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StreamName {
    Stdout,
    Stderr,
}

/// Commands that run or ran.
#[derive(Serialize, JsonSchema)]
struct TaskList {
    ok: bool,
    count: usize,
    tasks: Vec<TaskSummary>,
}

/// One command.
#[derive(Serialize, JsonSchema)]
struct OneTask {
    ok: bool,
    task: TaskSummary,
}

/// What became of a command that was to be killed.
#[derive(Serialize, JsonSchema)]
struct KilledTask {
    ok: bool,
    id: String,
    /// `killed` or `already_completed`.
    status: &'static str,
}

/// Lines of saved output.
#[derive(Serialize, JsonSchema)]
struct OutputLines {
    ok: bool,
    call: String,
    text: String,
    /// The number of the first line.
    from: u64,
    /// How many lines there are in `text`.
    count: u64,
    /// How many lines are saved.
    total: u64,
}

async fn list(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    QueryFields(query): QueryFields<TasksQuery>,
) -> Reply {
    let mut tasks = api.visible_tasks(&caller).await?;
    if query.running == Some(true) {
        tasks.retain(|task| task.status == TaskState::Running);
    }
    tasks.truncate(query.limit.map_or(100, Within::get) as usize);
    JsonReply::redacted(&api.redactor, &TaskList { ok: true, count: tasks.len(), tasks })
}

async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    let tasks = api.visible_tasks(&caller).await?;
    let task = tasks.into_iter().find(|task| task.id == id).ok_or_else(|| unknown(&id))?;
    JsonReply::redacted(&api.redactor, &OneTask { ok: true, task })
}

async fn kill(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    let tasks = api.visible_tasks(&caller).await?;
    let is_admin = caller.principal.role == Role::Admin;
    let may_kill = |task: &TaskSummary| {
        task.id == id && (is_admin || task.principal.as_ref() == Some(&caller.principal))
    };
    if !tasks.iter().any(may_kill) {
        return Err(unknown(&id));
    }
    let wanted = id.clone();
    let killed = blocking(move || api.ports.backend.kill_task(&wanted)).await?;
    let status = if killed.map_err(|err| failed(&err))? { "killed" } else { "already_completed" };
    JsonReply::ok(&KilledTask { ok: true, id, status })
}

async fn read(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(call): Path<String>,
    QueryFields(query): QueryFields<OutputQuery>,
) -> Reply {
    let history = visible_call(&api, &caller, &call).await?;
    let is_own = owner_of(&history).as_ref() == Some(&caller.principal);
    let stream = match query.stream {
        Some(StreamName::Stderr) => Stream::Stderr,
        Some(StreamName::Stdout) | None => Stream::Stdout,
    };
    let from = query.from.map_or(1, Within::get);
    let count = query.lines.map_or(USUAL_LINES, Within::get);
    // A secret of several lines is found only in all of them.
    let lines = if is_own {
        Lines { from, count, most: MOST_OUTPUT_BYTES }
    } else {
        Lines { from: 1, count: from.saturating_add(count), most: MOST_CLEANED_BYTES }
    };
    let (backend, wanted) = (Arc::clone(&api.ports.backend), call.clone());
    let excerpt = blocking(move || backend.output(&wanted, stream, lines)).await?;
    let excerpt = excerpt.map_err(|err| failed(&err))?;
    let total = excerpt.total;
    // Only the one who made the call sees what may be secret in its output.
    let (text, count) = if is_own {
        (excerpt.text, excerpt.count)
    } else {
        let clean = api.redactor.clean(&excerpt.text);
        let skipped = usize::try_from(from - 1).unwrap_or(usize::MAX);
        let shown = clean.split_inclusive('\n').skip(skipped).take(count as usize);
        let shown: Vec<&str> = shown.collect();
        (shown.concat(), shown.len() as u64)
    };
    JsonReply::ok(&OutputLines { ok: true, call, text, from, count, total })
}

impl Api {
    /// Returns the commands that a caller may see, newest first: its own, or all for a role that reads the record.
    pub(crate) async fn visible_tasks(
        &self,
        caller: &Caller,
    ) -> Result<Vec<TaskSummary>, ApiError> {
        let backend = Arc::clone(&self.ports.backend);
        let mut tasks = blocking(move || backend.tasks()).await?;
        let visibility = CallVisibility::of(caller);
        tasks.retain(|task| visibility.includes(task.principal.as_ref()));
        Ok(tasks)
    }
}

fn unknown(id: &str) -> ApiError {
    let message =
        format!("no command that this token may use has the id `{id}`; GET /api/tasks lists them");
    ApiError::new(StatusCode::NOT_FOUND, "task_not_found", message)
}
