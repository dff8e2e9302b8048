//! `/api/undo`: the calls that changed files, and how they are undone.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Caller;
use toolcrib_core::schema::Within;
use toolcrib_runtime::undo::UndoScope;

use super::access::AccessRight;
use super::backend::{ChangedCallList, ChangesScope, UndoReport, WantedChanges};
use super::blocking::blocking;
use super::context::Api;
use super::fields::{BodyFields, QueryFields, refused_body};
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::outcome::failed;
use super::undo_preview::UndoPreview;
use crate::reply::ApiError;

/// How many calls are listed, unless the query says.
const USUAL_LIMIT: u64 = 20;

/// How many calls one request undoes at most.
const MOST_UNDONE: usize = 200;

/// The operations that take changes back.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/undo", "list_changed_calls", list)
            .about(AccessRight::Inspect, "Lists the calls that changed files, newest first.")
            .query::<UndoQuery>()
            .replies::<ChangedCallsReply>(),
        Operation::post("/api/undo", "undo_all", undo_all)
            .about(
                AccessRight::Approve,
                "Undoes several calls, one after the other, each by a call of its own. The work goes on if the client goes away.",
            )
            .body::<UndoAllBody>()
            .replies::<UndoAllReply>(),
        Operation::get("/api/undo/{call}", "preview_undo", preview)
            .about(
                AccessRight::Inspect,
                "Says what it would do to undo a call. Nothing is changed.",
            )
            .replies::<UndoPreviewReply>()
            .fails(StatusCode::NOT_FOUND, "No call with this id changed files of the workspace."),
        Operation::post("/api/undo/{call}", "undo", undo)
            .about(AccessRight::Approve, "Undoes all that a call changed.")
            .body::<UndoBody>()
            .replies::<UndoReply>()
            .fails(StatusCode::NOT_FOUND, "No call with this id changed files.")
            .fails(StatusCode::CONFLICT, "A file changed after the call, so nothing was undone."),
    ]
}

/// How many calls are listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoQuery {
    /// The most calls to return.
    limit: Option<Within<1, 1000>>,
    /// Whether the reply has the commands that the calls ran.
    #[serde(default)]
    commands: bool,
}

/// How to undo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    /// Whether files that changed after the call are put back, too. Their later changes are lost.
    #[serde(default)]
    force: bool,
}

/// Which calls to undo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoAllBody {
    /// The calls, in the order in which they are undone: of two that changed the same file, the newer one first.
    #[schemars(length(min = 1, max = 200))]
    calls: Vec<String>,
}

/// What became of each call.
#[derive(Serialize, JsonSchema)]
struct UndoAllReply {
    ok: bool,
    undone: Vec<UndoReport>,
    /// The calls that stay as they are. They do not keep the others from being undone.
    failed: Vec<UndoFailure>,
}

/// A call that was not undone.
#[derive(Serialize, JsonSchema)]
struct UndoFailure {
    call: String,
    /// The code of the error.
    error: &'static str,
    message: String,
    hint: Option<String>,
}

/// The calls that changed files.
#[derive(Serialize, JsonSchema)]
struct ChangedCallsReply {
    ok: bool,
    #[serde(flatten)]
    list: ChangedCallList,
}

/// What it would do to undo a call.
#[derive(Serialize, JsonSchema)]
struct UndoPreviewReply {
    ok: bool,
    #[serde(flatten)]
    preview: UndoPreview,
}

/// What an undo did.
#[derive(Serialize, JsonSchema)]
struct UndoReply {
    ok: bool,
    #[serde(flatten)]
    report: UndoReport,
}

async fn list(State(api): State<Arc<Api>>, QueryFields(query): QueryFields<UndoQuery>) -> Reply {
    let limit = query.limit.map_or(USUAL_LIMIT, Within::get) as usize;
    let wanted = WantedChanges {
        // A server is for the files of its workspace.
        scope: ChangesScope::Workspace,
        limit,
        with_commands: query.commands,
    };
    let backend = Arc::clone(&api.ports.backend);
    let list = blocking(move || backend.changed_calls(&wanted)).await?;
    let list = list.map_err(|err| failed(&err))?;
    JsonReply::redacted(&api.redactor, &ChangedCallsReply { ok: true, list })
}

async fn undo_all(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(body): BodyFields<UndoAllBody>,
) -> Reply {
    let UndoAllBody { calls } = body;
    if !(1..=MOST_UNDONE).contains(&calls.len()) {
        let message = format!("`calls` has {} calls; name 1 to {MOST_UNDONE}", calls.len());
        return Err(refused_body(message));
    }
    let caller = Arc::new(caller);
    let backend = Arc::clone(&api.ports.backend);
    let all = blocking(move || {
        let (mut undone, mut failed) = (Vec::new(), Vec::new());
        for call in calls {
            match backend.undo(&call, Arc::clone(&caller), UndoScope::Unchanged) {
                Ok(report) => undone.push(report),
                Err(err) => failed.push(UndoFailure {
                    call,
                    error: err.kind.as_str(),
                    message: err.message,
                    hint: err.hint,
                }),
            }
        }
        UndoAllReply { ok: true, undone, failed }
    });
    JsonReply::redacted(&api.redactor, &all.await?)
}

async fn preview(State(api): State<Arc<Api>>, Path(call): Path<String>) -> Reply {
    let backend = Arc::clone(&api.ports.backend);
    let previews = blocking(move || backend.preview_undo(&[call])).await?;
    let preview = previews.map_err(|err| failed(&err))?.into_iter().next();
    let preview = preview.ok_or_else(ApiError::not_found)?;
    JsonReply::redacted(&api.redactor, &UndoPreviewReply { ok: true, preview })
}

async fn undo(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(call): Path<String>,
    BodyFields(body): BodyFields<UndoBody>,
) -> Reply {
    let scope = if body.force { UndoScope::Everything } else { UndoScope::Unchanged };
    let undone = blocking(move || api.ports.backend.undo(&call, Arc::new(caller), scope)).await?;
    let report = undone.map_err(|err| failed(&err))?;
    JsonReply::ok(&UndoReply { ok: true, report })
}
