//! `/api/approvals`: the calls that wait for a person, and the answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::approval::{ApprovalAnswer, ApprovalStatus, KeptOutcome, PendingApproval};
use toolcrib_core::policy::Wish;
use toolcrib_core::{Caller, Cancel};
use toolcrib_runtime::{ApprovalError, Approved, ParkedCall, Runtime};

use super::access::AccessRight;
use super::context::Api;
use super::fields::{BodyFields, QueryFields, refused_body};
use super::full_outcome::PlannedEdit;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// How many characters the words of an answer may have.
const LONGEST_WORDS: usize = 4096;

/// The operations about calls that wait for a person.
pub(super) fn operations() -> Vec<Operation> {
    let unknown = "No call waits or waited for approval by this id.";
    vec![
        Operation::get("/api/approvals", "list_approvals", list)
            .about(AccessRight::Approve, "Lists the calls that wait for a person.")
            .query::<ApprovalsQuery>()
            .replies::<ApprovalList>(),
        Operation::get("/api/approvals/{id}", "show_approval", show)
            .about(AccessRight::Approve, "Shows the question about one call.")
            .replies::<OneApproval>()
            .fails(StatusCode::NOT_FOUND, unknown),
        Operation::post("/api/approvals/{id}", "answer_approval", answer)
            .about(AccessRight::Approve, "Answers the question about one call.")
            .body::<AnswerBody>()
            .replies::<Answered>()
            .fails(StatusCode::NOT_FOUND, unknown)
            .fails(
                StatusCode::FORBIDDEN,
                "The role may not answer, or the call is the token's own.",
            )
            .fails(StatusCode::CONFLICT, "The question is closed, or belongs to another workspace.")
            .fails(
                StatusCode::UNPROCESSABLE_ENTITY,
                "The body does not fit, or offers no such grant.",
            ),
    ]
}

/// Which approvals are listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApprovalsQuery {
    /// Those that are pending, unless all are asked for.
    status: Option<ListedApprovals>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ListedApprovals {
    Pending,
    All,
}

/// An answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    decision: AnswerWord,
    /// What the agent is told with a no.
    #[schemars(length(max = 4096))]
    words: Option<String>,
    /// The number of the grant that "always" makes, from 0 as the question lists them.
    grant: Option<u32>,
}

/// The approvals.
#[derive(Serialize, JsonSchema)]
struct ApprovalList {
    ok: bool,
    count: usize,
    approvals: Vec<ShownApproval>,
}

/// One approval.
#[derive(Serialize, JsonSchema)]
struct OneApproval {
    ok: bool,
    approval: ShownApproval,
    /// What changed in the workspace since the question, if it is not answered yet.
    changed: Vec<String>,
    /// What the call would change in files, if it is not answered yet.
    edits: Vec<PlannedEdit>,
}

/// An approval, with how it stands.
#[derive(Serialize, JsonSchema)]
struct ShownApproval {
    #[serde(flatten)]
    pending: PendingApproval,
    /// `pending`, `approved`, `denied`, `taken up`, `expired` or `revoked`.
    status: &'static str,
    answer: Option<ApprovalAnswer>,
}

/// What became of a question that was answered.
#[derive(Serialize, JsonSchema)]
struct Answered {
    ok: bool,
    call: String,
    /// `approved` or `denied`.
    status: &'static str,
    /// Where the outcome of an approved call is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum AnswerWord {
    Approve,
    Always,
    Deny,
}

/// Returns how many questions wait for an answer, if the approvals can be read. It reads files.
pub(super) fn waiting_count(api: &Api) -> Option<u64> {
    let (store, now) = (&api.answers.store, api.answers.clock.now());
    let waits = |it: &PendingApproval| matches!(store.status(it, now), Ok(ApprovalStatus::Pending));
    Some(store.all().ok()?.iter().filter(|it| waits(it)).count() as u64)
}

/// Lists the approvals that are pending, or all of them.
async fn list(
    State(api): State<Arc<Api>>,
    QueryFields(query): QueryFields<ApprovalsQuery>,
) -> Reply {
    let mut approvals = Vec::new();
    for pending in api.answers.store.all().map_err(|err| unreadable(&err))? {
        let status = api.answers.store.status(&pending, api.answers.clock.now());
        let status = status.map_err(|err| unreadable(&err))?;
        if query.status == Some(ListedApprovals::All) || status == ApprovalStatus::Pending {
            approvals.push(shown(&api, pending, status));
        }
    }
    JsonReply::redacted(
        &api.redactor,
        &ApprovalList { ok: true, count: approvals.len(), approvals },
    )
}

/// Shows the question about one call.
async fn show(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Reply {
    let (pending, status) = api.answers.find(&id).map_err(|err| failure(&id, err))?;
    let (changed, edits) = match status {
        ApprovalStatus::Pending if pending.workspace == api.workspace => now(&api, &pending).await,
        ApprovalStatus::Pending => {
            (vec![format!("the call is of the workspace {}", pending.workspace)], Vec::new())
        }
        ApprovalStatus::Approved
        | ApprovalStatus::Denied
        | ApprovalStatus::TakenUp
        | ApprovalStatus::Expired
        | ApprovalStatus::Revoked => (Vec::new(), Vec::new()),
    };
    let approval = shown(&api, pending, status);
    JsonReply::redacted(&api.redactor, &OneApproval { ok: true, approval, changed, edits })
}

/// Returns what changed since a question, and what its call would change in files now.
async fn now(api: &Api, pending: &PendingApproval) -> (Vec<String>, Vec<PlannedEdit>) {
    let runtime = api.runtime.current();
    let changed = runtime.changes_since_question(pending).await;
    let preview = runtime.explain(pending.to_call(), Cancel::default()).await;
    let edits =
        preview.map(|preview| api.ports.backend.planned_edits(&preview)).unwrap_or_default();
    (changed, edits)
}

/// Answers the question about one call. An approved call runs here, and its outcome is kept for the one who asked.
async fn answer(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    BodyFields(body): BodyFields<AnswerBody>,
) -> Reply {
    let words = body.words.as_deref().unwrap_or_default();
    if words.chars().count() > LONGEST_WORDS {
        let message = format!("`words` has more than {LONGEST_WORDS} characters; shorten it");
        return Err(refused_body(message));
    }
    let by = &caller.principal;
    if body.decision == AnswerWord::Deny {
        api.answers.deny(&id, by, words).map_err(|err| failure(&id, err))?;
        return JsonReply::ok(&Answered { ok: true, call: id, status: "denied", outcome: None });
    }
    let (pending, _) = api.answers.find(&id).map_err(|err| failure(&id, err))?;
    if pending.is_parked && pending.workspace != api.workspace {
        let message = format!(
            "the call belongs to the workspace `{}`, and this server works in `{}`; run `toolcrib approvals approve {id}` there",
            pending.workspace, api.workspace
        );
        return Err(ApiError::new(StatusCode::CONFLICT, "other_workspace", message));
    }
    let wish = wish(&pending, &body)?;
    match api.answers.approve(&id, by, wish).map_err(|err| failure(&id, err))? {
        Approved::RunsElsewhere => {}
        Approved::RunsHere(parked) => run(&api, *parked),
    }
    let outcome = Some(format!("GET /api/calls/{id}"));
    JsonReply::ok(&Answered { ok: true, call: id, status: "approved", outcome })
}

/// Returns the grant that an answer wishes for.
fn wish(pending: &PendingApproval, body: &AnswerBody) -> Result<Option<Wish>, ApiError> {
    if body.decision != AnswerWord::Always {
        return Ok(None);
    }
    let offers = &pending.question.grants;
    if let Some(offer) = offers.get(body.grant.unwrap_or(0) as usize) {
        return Ok(Some(offer.wish.clone()));
    }
    let message = format!(
        "the question offers {} grants; `grant` is the number of one of them, from 0",
        offers.len()
    );
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "no_such_grant", message))
}

/// Runs an approved call in the background, as the call of the one who asked.
fn run(api: &Arc<Api>, parked: ParkedCall) {
    let ParkedCall { call, approver, .. } = parked;
    let api = Arc::clone(api);
    tokio::spawn(async move {
        let id = call.id.0.clone();
        let running = api.running.start(&call.id, &call.caller.principal);
        let runtime = Runtime { approver, ..api.runtime.current().as_ref().clone() };
        let outcome = runtime.call(call, running.cancel()).await;
        // Without it, the one who asked is told that the call runs; the record has the outcome.
        let _ = api.answers.store.keep_outcome(&id, &KeptOutcome::from(&outcome));
        drop(running);
    });
}

fn shown(api: &Api, pending: PendingApproval, status: ApprovalStatus) -> ShownApproval {
    let answer = api.answers.store.answer(&pending.id).ok().flatten();
    // The state of thousands of files says nothing to whoever reads this.
    let pending = PendingApproval { pins: Vec::new(), ..pending };
    ShownApproval { pending, status: status.as_str(), answer }
}

/// Says why an answer does not count.
fn failure(id: &str, err: ApprovalError) -> ApiError {
    match err {
        ApprovalError::NotFound => {
            let message = format!("no call waits or waited for approval as `{id}`");
            ApiError::new(StatusCode::NOT_FOUND, "approval_not_found", message)
        }
        ApprovalError::OwnCall => {
            let message = "the token that asked cannot answer; another person must";
            ApiError::new(StatusCode::FORBIDDEN, "own_call", message)
        }
        ApprovalError::Closed(status) => {
            let why = match status {
                ApprovalStatus::Pending => "somebody else answers it now",
                ApprovalStatus::Approved | ApprovalStatus::TakenUp => "the call was approved",
                ApprovalStatus::Denied => "the call was denied",
                ApprovalStatus::Expired => "nobody answered in time",
                ApprovalStatus::Revoked => "the token that asked was revoked",
            };
            let message = format!("the question is closed: {why}; see GET /api/approvals/{id}");
            let closed = ApiError::new(StatusCode::CONFLICT, "already_answered", message);
            closed.field("status", status.as_str())
        }
        ApprovalError::Store(err) => unreadable(&err),
    }
}

pub(super) fn unreadable(err: &std::io::Error) -> ApiError {
    let message = format!("the approvals cannot be read: {err}");
    ApiError::unavailable(message)
}
