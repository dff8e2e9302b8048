//! `POST /api/tools/execute/…`: makes a call.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};
use toolcrib_core::approval::{ApprovalStatus, PendingApproval};
use toolcrib_core::{Call, CallTrace, Caller, ErrorKind, Outcome, SessionId, ToolName};
use toolcrib_ledger::{CallOutcome, KeptReply, KeyState, new_call_id};
use toolcrib_runtime::Runtime;

use super::access::AccessRight;
use super::audit::find_call;
use super::blocking::blocking;
use super::call_headers::CallHeaders;
use super::context::{Api, session_of};
use super::dry_run;
use super::fields::{BodyFields, refused_body};
use super::full_outcome::{OutcomeForm, in_full};
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::outcome;
use super::outliving::Outliving;
use super::running_calls::RunningCall;
use super::shared_flush::BufferedEnds;
use super::tools::full_name_of;
use crate::reply::ApiError;

/// How often a caller that waits looks whether the question is answered.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How many characters the caller's own names of its work may have.
const LONGEST_NAME: usize = 256;

/// The operations that make calls.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        with_failures(Operation::post("/api/tools/execute/{tool}", "execute", bare_name))
            .about(AccessRight::Call, "Executes a tool of the contract's own catalogue."),
        with_failures(Operation::post(
            "/api/tools/execute/{catalogue}/{tool}",
            "execute_by_full_name",
            full_name,
        ))
        .about(AccessRight::Call, "Executes a tool of any catalogue."),
    ]
}

fn with_failures(operation: Operation) -> Operation {
    operation
        .makes_calls()
        .body::<ExecuteBody>()
        .replies::<Value>()
        .fails(StatusCode::FORBIDDEN, "Policy refuses the call, or it waits for approval.")
        .fails(StatusCode::NOT_FOUND, "There is no such tool, or no such approval.")
        .fails(StatusCode::REQUEST_TIMEOUT, "The tool took too long.")
        .fails(StatusCode::CONFLICT, "The call needs confirmation, was cancelled, or still runs.")
        .fails(StatusCode::PAYLOAD_TOO_LARGE, "What is read or written is too large.")
        .fails(StatusCode::UNPROCESSABLE_ENTITY, "The arguments do not fit, or the tool failed.")
}

/// The body of a request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecuteBody {
    /// The arguments of the tool.
    #[serde(default)]
    args: Map<String, Value>,
    /// The caller's own name of the conversation, for the record.
    #[schemars(length(max = 256), regex(pattern = NO_CONTROL_CHARACTERS))]
    conv_id: Option<String>,
    /// The caller's own name of the trace, for the record.
    #[schemars(length(max = 256), regex(pattern = NO_CONTROL_CHARACTERS))]
    trace_id: Option<String>,
    /// The iteration of the agent's loop, for the record.
    #[serde(default)]
    iter: u32,
    /// The id of the approval that this call waited for.
    approval_id: Option<String>,
    /// Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
    #[serde(default)]
    dry_run: bool,
}

/// What the caller's own names may have.
const NO_CONTROL_CHARACTERS: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// Executes a tool by its bare name.
async fn bare_name(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
    headers: CallHeaders,
    BodyFields(body): BodyFields<ExecuteBody>,
) -> Reply {
    let tool = full_name_of(api.runtime.current().toolset.shelf(), &tool);
    execute(api, caller, tool, headers, body).await
}

/// Executes a tool of any catalogue.
async fn full_name(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path((catalogue, tool)): Path<(String, String)>,
    headers: CallHeaders,
    BodyFields(body): BodyFields<ExecuteBody>,
) -> Reply {
    execute(api, caller, ToolName::new(&catalogue, &tool), headers, body).await
}

async fn execute(
    api: Arc<Api>,
    caller: Caller,
    tool: ToolName,
    headers: CallHeaders,
    body: ExecuteBody,
) -> Reply {
    let CallHeaders { wait, form, key, trace } = headers;
    if let Some(id) = &body.approval_id {
        if body.dry_run {
            return Err(refused_body("`dry_run` tries a new call; leave `approval_id` out"));
        }
        let pending = own_approval(&api, &caller, id)?;
        check_same_call(&api, &pending, &caller, &tool, &body.args)?;
        return outcome_once(&api, &pending, wait, form).await;
    }
    let call = Call {
        conversation: checked_name("conv_id", body.conv_id)?.map(SessionId),
        trace: Some(CallTrace {
            id: checked_name("trace_id", body.trace_id)?
                .or_else(|| trace.as_ref().map(|it| it.trace.to_string())),
            iteration: body.iter,
        }),
        ..Call::new(
            new_call_id(),
            session_of(&caller.principal),
            Arc::new(caller.clone()),
            tool,
            Value::Object(body.args),
        )
    };
    if body.dry_run {
        return dry_run::preview(&api, call, form).await;
    }
    if let Some(key) = &key
        && let Some(replayed) = replayed(&api, key, &call)?
    {
        return Ok(replayed);
    }
    let id = call.id.0.clone();
    api.observer.note_parent(&call.id, trace);
    let running = api.running.start(&call.id, &caller.principal);
    let cancel_guard = running.cancel_on_drop();
    // A call whose client went away ends and is recorded as any other.
    let made = Outliving::new(make(Arc::clone(&api), call, running, key, form)).await;
    drop(cancel_guard);
    let Ok((reply, parked)) = made else {
        let message = format!("the call {id} ended without an outcome; see GET /api/audit/{id}");
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return Err(ApiError::new(status, "internal_error", message).field("call", id));
    };
    if let Some(parked) = parked
        && let Ok(pending) = api.answers.store.find(&parked)
    {
        wait_for_outcome(&api, &pending, wait).await;
        let status = api.answers.store.status(&pending, api.answers.clock.now());
        if !matches!(status, Ok(ApprovalStatus::Pending)) {
            return outcome_once(&api, &pending, Duration::ZERO, form).await;
        }
    }
    Ok(reply)
}

/// Makes a call. Returns the reply, which is kept for the call's idempotency key, and the id of the question if the
/// call was parked.
async fn make(
    api: Arc<Api>,
    call: Call,
    running: RunningCall,
    key: Option<String>,
    form: OutcomeForm,
) -> (JsonReply, Option<String>) {
    let runtime = api.runtime.current();
    let keyed = key.map(|key| (key, call.clone()));
    let made = match form {
        OutcomeForm::Contract => {
            let recorder = Arc::new(BufferedEnds(Arc::clone(&runtime.recorder)));
            let runtime = Runtime { recorder, ..(*runtime).clone() };
            runtime.call(call, running.cancel()).await
        }
        // It says whether the end is on the record.
        OutcomeForm::Full => runtime.call(call, running.cancel()).await,
    };
    // A call that was answered is on the record, also after a crash.
    if api.running.count() == 1 {
        // Nobody comes to the same point, and to wait for others costs more than the write.
        runtime.recorder.flush();
    } else {
        api.flush.flush(Arc::clone(&runtime.recorder)).await;
    }
    let parked = parked_id(&made);
    let mut reply = outcome::made(&made, parked.as_deref());
    if form == OutcomeForm::Full {
        let gathering = Arc::clone(&api);
        let full = blocking(move || gathering.ports.backend.full_outcome(&made)).await;
        reply = in_full(reply, full);
    }
    if let Some((key, call)) = keyed {
        let kept = KeptReply { status: reply.status.as_u16(), body: reply.body.clone() };
        // Without it, a repeated call is told that the outcome is not known, and does not run.
        let _ = api.keys.keep(&key, &call, &kept);
    }
    drop(running);
    (reply, parked)
}

/// Returns what a call with an idempotency key is told that was used before, or nothing if the call may run.
fn replayed(api: &Api, key: &str, call: &Call) -> Result<Option<JsonReply>, ApiError> {
    let state = api.keys.take(key, call).map_err(|err| {
        let message =
            format!("the idempotency key cannot be stored, so the call was not run: {err}");
        ApiError::unavailable(message)
    })?;
    let refused = |code, message| ApiError::new(StatusCode::CONFLICT, code, message);
    match state {
        KeyState::New => Ok(None),
        KeyState::OtherCall => {
            let message = "the idempotency key was used for another call; use a new key";
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Err(ApiError::new(status, "idempotency_key_reused", message))
        }
        KeyState::Used(first, Some(KeptReply { status, body })) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            Ok(Some(JsonReply { status, body, call: Some(first.0) }))
        }
        KeyState::Used(first, None) if api.running.find(&first.0).is_some() => {
            let message =
                "the call with this idempotency key still runs; ask again for its outcome";
            let running = refused("still_running", message.to_owned()).field("call", first.0);
            Err(running.retry_after(Duration::from_secs(1)))
        }
        KeyState::Used(first, None) => {
            let id = first.0;
            let message = format!(
                "the call with this idempotency key was interrupted, and does not run again; see GET /api/audit/{id}"
            );
            Err(refused("outcome_unknown", message).field("call", id))
        }
    }
}

/// Returns the id of the question about a call that was parked. A call that equals one that waits has its question.
fn parked_id(made: &Outcome) -> Option<String> {
    let error = made.error.as_ref().filter(|err| err.kind == ErrorKind::ApprovalNeeded)?;
    Some(error.context.get("approval_id")?.as_str()?.to_owned())
}

/// Returns the approval of a call with this id, if it is the caller's own.
fn own_approval(api: &Api, caller: &Caller, id: &str) -> Result<PendingApproval, ApiError> {
    let pending = api.answers.store.find(id).ok();
    let is_own_call = |it: &PendingApproval| {
        it.caller.principal == caller.principal && it.question.host.is_none()
    };
    pending.filter(is_own_call).ok_or_else(|| {
        let message = format!("no call of this token waits or waited for approval as `{id}`");
        ApiError::new(StatusCode::NOT_FOUND, "approval_not_found", message)
    })
}

/// Refuses a retry that is another call than the one that waited.
fn check_same_call(
    api: &Api,
    pending: &PendingApproval,
    caller: &Caller,
    tool: &ToolName,
    args: &Map<String, Value>,
) -> Result<(), ApiError> {
    // Arguments of an approval that was answered have no secrets any more, so they are compared without them.
    let clean = |args: &Value| api.redactor.clean_json(args);
    let is_same = pending.tool == *tool
        && pending.caller.connection == caller.connection
        && clean(&pending.args) == clean(&Value::Object(args.clone()));
    if is_same {
        return Ok(());
    }
    let message =
        format!("`{}` is about another call; leave `approval_id` out to make this one", pending.id);
    Err(ApiError::new(StatusCode::CONFLICT, "other_call", message))
}

/// Returns the outcome of a call that waited for approval, once.
async fn outcome_once(
    api: &Arc<Api>,
    pending: &PendingApproval,
    wait: Duration,
    form: OutcomeForm,
) -> Reply {
    let id = pending.id.as_str();
    wait_for_outcome(api, pending, wait).await;
    let store = &api.answers.store;
    let failed = |err: std::io::Error| {
        let message = format!("the state of {id} cannot be read: {err}");
        ApiError::unavailable(message)
    };
    if let Some(outcome) = store.outcome(id).map_err(failed)? {
        if !store.mark_told(id).map_err(failed)? {
            let message =
                format!("the outcome of {id} was given before; read it with GET /api/calls/{id}");
            return Err(ApiError::new(StatusCode::CONFLICT, "outcome_already_given", message));
        }
        let reply = outcome::reply(id, &pending.tool, outcome.clone(), None);
        if form == OutcomeForm::Full {
            let (api, pending) = (Arc::clone(api), pending.clone());
            let gather =
                move || api.ports.backend.kept_outcome(&pending.id, &pending.tool, &outcome);
            return Ok(in_full(reply, blocking(gather).await));
        }
        return Ok(reply);
    }
    let status = store.status(pending, api.answers.clock.now()).map_err(failed)?;
    let answer = store.answer(id).map_err(failed)?;
    Err(match (status, answer) {
        (ApprovalStatus::Denied, Some(answer)) => {
            let words =
                if answer.words.is_empty() { String::new() } else { format!(": {}", answer.words) };
            let message = format!("{} declined the call{words}", answer.by);
            ApiError::new(StatusCode::FORBIDDEN, "declined", message)
        }
        (ApprovalStatus::Expired, _) => {
            let message = "nobody answered in time; make the call again to ask again";
            ApiError::new(StatusCode::FORBIDDEN, "approval_expired", message)
        }
        (ApprovalStatus::Revoked, _) => {
            let message = "the token that asked was revoked, so nobody can approve the call";
            ApiError::new(StatusCode::FORBIDDEN, "token_revoked", message)
        }
        (ApprovalStatus::TakenUp, _) if !still_runs(api, id).await => {
            let message = format!(
                "the call was approved and begun, and its outcome was not kept; see GET /api/audit/{id}"
            );
            ApiError::new(StatusCode::CONFLICT, "outcome_unknown", message)
        }
        (ApprovalStatus::Approved | ApprovalStatus::TakenUp, _) => {
            let message = "the call is approved and runs; ask again for its outcome";
            ApiError::new(StatusCode::CONFLICT, "still_running", message)
                .retry_after(Duration::from_secs(1))
        }
        (ApprovalStatus::Pending | ApprovalStatus::Denied, _) => {
            let message = format!("the call waits for approval as {id}");
            ApiError::new(StatusCode::FORBIDDEN, "approval_required", message)
        }
    }
    .field("call", id)
    .field(
        "approval",
        serde_json::json!({"id": id, "answer": format!("POST /api/approvals/{id}")}),
    ))
}

/// Whether an approved call runs, here or in another process.
async fn still_runs(api: &Arc<Api>, id: &str) -> bool {
    if api.running.find(id).is_some() {
        return true;
    }
    let history = find_call(Arc::clone(api), id).await;
    history.is_ok_and(|history| history.outcome() == CallOutcome::Open)
}

/// Waits until a call was denied, expired or has an outcome, or the time is over.
async fn wait_for_outcome(api: &Arc<Api>, pending: &PendingApproval, wait: Duration) {
    let until = Instant::now() + wait;
    loop {
        let store = &api.answers.store;
        let is_denied = || {
            let status = store.status(pending, api.answers.clock.now());
            matches!(
                status,
                Ok(ApprovalStatus::Denied | ApprovalStatus::Expired | ApprovalStatus::Revoked)
            )
        };
        let has_outcome = matches!(store.outcome(&pending.id), Ok(Some(_)));
        if has_outcome || is_denied() || Instant::now() >= until {
            return;
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// Checks a name that the caller gives to its own work.
fn checked_name(field: &str, name: Option<String>) -> Result<Option<String>, ApiError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    if name.chars().count() <= LONGEST_NAME && !name.chars().any(char::is_control) {
        return Ok(Some(name));
    }
    let message = format!(
        "`{field}` has more than {LONGEST_NAME} characters or has control characters; shorten it"
    );
    Err(refused_body(message))
}
