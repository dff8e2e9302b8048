//! `/api/audit`: the record of calls.

use std::io;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use toolcrib_core::Door;
use toolcrib_core::schema::Within;
use toolcrib_ledger::{
    CallFilter, CallHistory, CallOutcome, CallStory, CallSummary, CallerFilter, Problem,
    RecordedDecision, VerifyReport, call_summary, find_calls, verify,
};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::QueryFields;
use super::full_outcome::FileDifference;
use super::json_reply::{JsonReply, Reply};
use super::operation::{LineNumber, Operation};
use crate::reply::ApiError;

/// How long after the earliest time that its id allows the first line of a call is written at most. Ids allow for clocks
/// that differ by an hour.
const LONGEST_BEFORE_FIRST_LINE: SignedDuration = SignedDuration::from_hours(3);

/// How many requests read the record at once. The others wait, and do not begin if their client has gone.
static READERS: Semaphore = Semaphore::const_new(4);

/// How many calls a search returns, unless it says.
const USUAL_LIMIT: u64 = 50;

/// The operations about the record.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/audit", "search_audit", search)
            .about(AccessRight::Inspect, "Finds calls in the record, newest first.")
            .query::<AuditQuery>()
            .replies::<FoundCalls>(),
        Operation::get("/api/audit/verify", "verify_audit", check)
            .about(AccessRight::Inspect, "Verifies that the record is whole and unchanged.")
            .replies::<VerifiedRecord>(),
        Operation::get("/api/audit/{id}", "show_call", show)
            .about(AccessRight::Inspect, "Shows everything that is known about one call.")
            .replies::<OneCall>()
            .fails(StatusCode::NOT_FOUND, "The record has no call with this id."),
    ]
}

/// Which calls are meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// A call, by its id or the beginning of it.
    call: Option<String>,
    /// A catalogue, `catalogue/tool`, or the name of a tool.
    tool: Option<String>,
    /// Who asked or answered.
    actor: Option<String>,
    outcome: Option<OutcomeWord>,
    /// A text in the arguments, the reply or the message.
    text: Option<String>,
    /// The session, which is the conversation if the caller named one.
    session: Option<String>,
    door: Option<DoorWord>,
    /// What was decided. `ask` is a call about which a person was asked, whatever they said.
    decision: Option<DecisionWord>,
    /// Only calls that changed files.
    #[serde(default)]
    changed: bool,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// Only calls that began before this line of the record. The `seq` of the last call of a page leads to the next one.
    before: Option<LineNumber>,
    /// The most calls to return.
    limit: Option<Within<1, 1000>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DoorWord {
    Terminal,
    Http,
    Mcp,
    Nats,
    Plugin,
    Agent,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DecisionWord {
    Allow,
    Ask,
    Deny,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutcomeWord {
    Ok,
    CommandFailed,
    Error,
    Refused,
    Unknown,
    Open,
}

/// The calls that were found.
#[derive(Serialize, JsonSchema)]
struct FoundCalls {
    ok: bool,
    count: usize,
    calls: Vec<CallSummary>,
}

/// One call.
#[derive(Serialize, JsonSchema)]
struct OneCall {
    ok: bool,
    call: CallStory,
    /// The difference that each of its changes made, in their order.
    differences: Vec<Option<FileDifference>>,
}

/// What the verification of the record found.
#[derive(Serialize, JsonSchema)]
struct VerifiedRecord {
    ok: bool,
    /// Whether the record is whole and unchanged.
    intact: bool,
    lines: u64,
    files: usize,
    /// The number of the first line.
    first: u64,
    /// The number of the last line.
    last: u64,
    problems: Vec<FoundProblem>,
    /// What went wrong once, and was recorded as it should be.
    notes: Vec<FoundProblem>,
}

/// A finding about one place in the record.
#[derive(Serialize, JsonSchema)]
struct FoundProblem {
    file: String,
    line: Option<usize>,
    what: String,
}

impl AuditQuery {
    /// Returns the filter of the record.
    pub(super) fn filter(self) -> CallFilter {
        // An id begins with its time, before which the record need not be read.
        let call = self.call.map(|call| call.to_uppercase());
        let asked = call.as_deref().and_then(toolcrib_ledger::call_time);
        CallFilter {
            since: self.since.max(asked),
            until: self.until,
            tool: self.tool.as_deref().map(Into::into),
            actor: self.actor,
            outcome: self.outcome.map(OutcomeWord::outcome),
            text: self.text,
            call,
            session: self.session,
            caller: CallerFilter { principal: None, door: self.door.map(DoorWord::door) },
            decision: self.decision.map(DecisionWord::decision),
            changed_files: self.changed,
            before: self.before.map(Within::get),
        }
    }
}

impl DoorWord {
    fn door(self) -> Door {
        match self {
            Self::Terminal => Door::Terminal,
            Self::Http => Door::Http,
            Self::Mcp => Door::Mcp,
            Self::Nats => Door::Nats,
            Self::Plugin => Door::Plugin,
            Self::Agent => Door::Agent,
        }
    }
}

impl DecisionWord {
    fn decision(self) -> RecordedDecision {
        match self {
            Self::Allow => RecordedDecision::Allow,
            Self::Ask => RecordedDecision::Ask,
            Self::Deny => RecordedDecision::Deny,
        }
    }
}

impl OutcomeWord {
    fn outcome(self) -> CallOutcome {
        match self {
            Self::Ok => CallOutcome::Ok,
            Self::CommandFailed => CallOutcome::CommandFailed,
            Self::Error => CallOutcome::Failed,
            Self::Refused => CallOutcome::Refused,
            Self::Unknown => CallOutcome::Unknown,
            Self::Open => CallOutcome::Open,
        }
    }
}

async fn search(State(api): State<Arc<Api>>, QueryFields(query): QueryFields<AuditQuery>) -> Reply {
    let limit = query.limit.map_or(USUAL_LIMIT, Within::get) as usize;
    let filter = query.filter();
    let calls: Vec<CallSummary> = read(api, move |api| {
        Ok(find_calls(&api.state, &filter, limit)?.iter().map(call_summary).collect())
    })
    .await?;
    JsonReply::ok(&FoundCalls { ok: true, count: calls.len(), calls })
}

async fn show(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Reply {
    let history = find_call(Arc::clone(&api), &id).await?;
    let (call, differences) = story(&api, history).await?;
    JsonReply::ok(&OneCall { ok: true, call, differences })
}

/// Returns what became of a call, and the difference that each of its changes made.
pub(super) async fn story(
    api: &Arc<Api>,
    history: CallHistory,
) -> Result<(CallStory, Vec<Option<FileDifference>>), ApiError> {
    read(Arc::clone(api), move |api| {
        let call = CallStory::gather(&api.state, &history)?;
        let differences = api.ports.backend.differences(&call.changes);
        Ok((call, differences))
    })
    .await
}

async fn check(State(api): State<Arc<Api>>) -> Reply {
    let VerifyReport { lines, files, first, last, problems, notes } =
        read(api, |api| verify(&api.state)).await?;
    let shown = |found: Vec<Problem>| {
        let shown = |Problem { file, line, what }| FoundProblem { file, line, what };
        found.into_iter().map(shown).collect()
    };
    JsonReply::ok(&VerifiedRecord {
        ok: true,
        intact: problems.is_empty(),
        lines,
        files,
        first,
        last,
        problems: shown(problems),
        notes: shown(notes),
    })
}

/// Returns the history of a call by its whole id.
pub(super) async fn find_call(api: Arc<Api>, id: &str) -> Result<CallHistory, ApiError> {
    let unknown = || {
        let message = format!("the record has no call with the id `{id}`");
        ApiError::new(StatusCode::NOT_FOUND, "call_not_found", message)
    };
    // An id begins with its time, and the call's first line was written then. Without it, the whole record would be read.
    let since = toolcrib_ledger::call_time(id).ok_or_else(unknown)?;
    let until = since.checked_add(LONGEST_BEFORE_FIRST_LINE).ok();
    let call = Some(id.to_owned());
    let filter = CallFilter { call, since: Some(since), until, ..CallFilter::default() };
    let found = read(api, move |api| find_calls(&api.state, &filter, 1)).await?;
    found.into_iter().find(|history| history.id() == id).ok_or_else(unknown)
}

/// Reads the record, with all that was recorded so far.
pub(super) async fn read<T: Send + 'static>(
    api: Arc<Api>,
    work: impl FnOnce(&Api) -> io::Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let permit = READERS.acquire().await;
    let done = blocking(move || {
        // Held until the work is done, also if nobody waits for it any more.
        let _permit = permit;
        api.runtime.current().recorder.flush();
        work(&api)
    });
    done.await?.map_err(|err| unreadable(&err))
}

fn unreadable(err: &io::Error) -> ApiError {
    let message = format!("the record cannot be read: {err}");
    ApiError::unavailable(message)
}
