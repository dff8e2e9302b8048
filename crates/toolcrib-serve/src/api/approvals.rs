//! `/api/approvals`: the calls that wait for a person, and the answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::approval::{ApprovalAnswer, ApprovalStatus, KeptOutcome, PendingApproval};
use toolcrib_core::policy::Wish;
use toolcrib_core::{Caller, Cancel};
use toolcrib_runtime::{ApprovalError, Approved, ParkedCall, Runtime};

use super::access::AccessRight;
use super::brief;
use super::context::Api;
use super::fields::{BodyFields, QueryFields, refused_body};
use super::full_outcome::{DifferenceLength, PlannedEdit};
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// How many characters the words of an answer may have.
const LONGEST_WORDS: usize = 4096;

/// How many of the paths that an answer is bound to are named.
const MOST_BOUND_PATHS: usize = 100;

/// The operations about calls that wait for a person.
pub(super) fn operations() -> Vec<Operation> {
    let unknown = "No call waits or waited for approval by this id.";
    vec![
        Operation::get("/api/approvals", "list_approvals", list)
            .about(
                AccessRight::Approve,
                "Lists the calls that wait for a person. Long texts are cut; one approval has all of them.",
            )
            .query::<ApprovalsQuery>()
            .replies::<ApprovalList>(),
        Operation::get("/api/approvals/{id}", "show_approval", show)
            .about(AccessRight::Approve, "Shows the question about one call.")
            .query::<ApprovalQuery>()
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
    /// Only those that were asked, answered or over at this time or later.
    since: Option<Timestamp>,
}

/// How much of an approval is shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApprovalQuery {
    /// Whether differences have all their lines. Otherwise the first lines of each are shown, and the others are counted.
    #[serde(default)]
    whole: bool,
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
    #[serde(flatten)]
    plan: ShownPlan,
    /// The files and folders that an answer is bound to: if one of them changes, the call does not run.
    bound_to: BoundPaths,
    /// Whether the one who asks this asked for the call, and so cannot answer.
    own: bool,
    /// Whether the call belongs to another workspace than the server's, so that it cannot be approved here.
    elsewhere: bool,
}

/// What a call would do, if it is not answered yet.
#[derive(Default, Serialize, JsonSchema)]
struct ShownPlan {
    /// The tier of the tool.
    tier: Option<u8>,
    /// The command that the call would run, as it is written.
    command: Option<String>,
    /// The directory in which the command would start, as it is written. Without one, it is the workspace.
    directory: Option<String>,
}

/// Paths, of which there can be thousands.
#[derive(Serialize, JsonSchema)]
struct BoundPaths {
    /// The first of them.
    paths: Vec<String>,
    /// How many more there are.
    more: usize,
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

impl ShownApproval {
    /// Returns when it was asked, answered or over: the last of these.
    fn last_step(&self) -> Timestamp {
        let PendingApproval { created_at, expires_at, .. } = self.pending;
        let is_over = self.status == ApprovalStatus::Expired.as_str();
        self.answer.as_ref().map_or(if is_over { expires_at } else { created_at }, |it| it.at)
    }
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
        let is_wanted =
            query.status == Some(ListedApprovals::All) || status == ApprovalStatus::Pending;
        if !is_wanted {
            continue;
        }
        let approval = shown(&api, pending, status);
        if query.since.is_none_or(|since| approval.last_step() >= since) {
            approvals.push(approval);
        }
    }
    let list = ApprovalList { ok: true, count: approvals.len(), approvals };
    let mut list = serde_json::to_value(&list).unwrap_or_default();
    brief::cut_for_search(&mut list);
    let mut list = api.redactor.clean_json(&list);
    brief::cut_for_list(&mut list);
    JsonReply::ok(&list)
}

/// Shows the question about one call.
async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    QueryFields(query): QueryFields<ApprovalQuery>,
) -> Reply {
    let (pending, status) = api.answers.find(&id).map_err(|err| failure(&id, err))?;
    // Who answers about a host runs nothing here.
    let elsewhere = pending.workspace != api.workspace && pending.question.host.is_none();
    let length = if query.whole { DifferenceLength::Whole } else { DifferenceLength::Usual };
    let present = match status {
        ApprovalStatus::Pending if pending.question.host.is_some() => Present::default(),
        ApprovalStatus::Pending if elsewhere => Present {
            changed: vec![format!("the call is of the workspace {}", pending.workspace)],
            ..Present::default()
        },
        ApprovalStatus::Pending => now(&api, &pending, length).await,
        ApprovalStatus::Approved
        | ApprovalStatus::Denied
        | ApprovalStatus::TakenUp
        | ApprovalStatus::Expired
        | ApprovalStatus::Revoked => Present::default(),
    };
    let Present { changed, edits, plan } = present;
    let own = !caller.principal.may_answer_for(&pending.caller.principal);
    let bound_to = BoundPaths::of(&pending);
    let approval = shown(&api, pending, status);
    let one = OneApproval { ok: true, approval, changed, edits, plan, bound_to, own, elsewhere };
    // Whoever decides sees every byte of what would run, as at a terminal: what looks like a secret could be a command.
    if status == ApprovalStatus::Pending {
        return JsonReply::ok(&one);
    }
    JsonReply::redacted(&api.redactor, &one)
}

/// What is known of a call that waits, at the moment when somebody looks.
#[derive(Default)]
struct Present {
    changed: Vec<String>,
    edits: Vec<PlannedEdit>,
    plan: ShownPlan,
}

/// Returns what changed since a question, and what its call would do now.
async fn now(api: &Api, pending: &PendingApproval, length: DifferenceLength) -> Present {
    let runtime = api.runtime.current();
    let changed = runtime.changes_since_question(pending).await;
    let Ok(preview) = runtime.explain(pending.to_call(), Cancel::default()).await else {
        return Present { changed, ..Present::default() };
    };
    let command = preview.question.plan.command.as_ref();
    let plan = ShownPlan {
        tier: Some(preview.question.tier.number()),
        command: command.map(|command| command.text.clone()),
        directory: command.and_then(|command| command.directory.clone()),
    };
    Present { changed, edits: api.ports.backend.planned_edits(&preview, length), plan }
}

impl BoundPaths {
    fn of(pending: &PendingApproval) -> Self {
        let paths = pending.pins.iter().take(MOST_BOUND_PATHS).map(|pin| pin.path.clone());
        Self { paths: paths.collect(), more: pending.pins.len().saturating_sub(MOST_BOUND_PATHS) }
    }
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
    // A question about a host has no outcome of its own.
    let outcome = pending.question.host.is_none().then(|| format!("GET /api/calls/{id}"));
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
