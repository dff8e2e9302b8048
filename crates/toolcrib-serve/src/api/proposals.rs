//! `/api/tools/propose`, `pending`, `approve` and `reject`: tools that somebody proposes, and the answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Within;
use toolcrib_core::{Caller, escape};
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_plugins::propose::NewTool;
use toolcrib_plugins::review::PendingTool;
use toolcrib_plugins::tool_proposal::ToolProposal;
use toolcrib_plugins::{PluginError, PluginErrorKind};

use super::access::{AccessRight, CallVisibility};
use super::blocking::blocking;
use super::context::Api;
use super::fields::{BodyFields, OptionalBodyFields, QueryFields};
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::plugin_replies::{plugin_error, proposal_faults, with_lifecycle};
use crate::plugin_views::{KeptFields, PendingFields, ProposalFields, ReviewFields, stamp};

/// How many proposals are listed, unless the query says.
const USUAL_LIMIT: u64 = 50;

/// The operations about proposed tools.
pub(super) fn operations() -> Vec<Operation> {
    let answers = |operation: Operation, about: &'static str| {
        operation
            .about(AccessRight::Approve, about)
            .fails(StatusCode::FORBIDDEN, "The one who answers is the one who proposed.")
            .fails(StatusCode::NOT_FOUND, "There is no proposal of this tool.")
            .fails(StatusCode::CONFLICT, "It was answered or expired, or is not what was shown.")
    };
    vec![
        Operation::post("/api/tools/propose", "propose_tool", propose)
            .about(
                AccessRight::Call,
                "Proposes a tool. A person must approve it before it is loaded.",
            )
            .body::<ProposeBody>()
            .replies::<ProposeReply>()
            .fails(StatusCode::CONFLICT, "The name is taken, or a proposal of this name waits.")
            .fails(StatusCode::PAYLOAD_TOO_LARGE, "The code is too large.")
            .fails(
                StatusCode::UNPROCESSABLE_ENTITY,
                "The tool has faults. All of them are listed.",
            ),
        Operation::get("/api/tools/pending", "list_proposals", pending)
            .about(AccessRight::Any, "Lists the proposed tools that wait. An agent sees its own.")
            .replies::<PendingReply>(),
        Operation::get("/api/tools/pending/{tool}", "show_proposal", show)
            .about(
                AccessRight::Any,
                "Shows a proposal with all that an answer needs, by the tool's name or by its id.",
            )
            .replies::<ReviewReply>()
            .fails(StatusCode::NOT_FOUND, "There is no proposal of this tool."),
        Operation::get("/api/proposals", "list_all_proposals", all)
            .about(
                AccessRight::Any,
                "Lists the proposals that are kept, answered or not, the newest first. An agent sees its own.",
            )
            .query::<ProposalsQuery>()
            .replies::<ProposalList>(),
        answers(
            Operation::post("/api/tools/approve/{tool}", "approve_tool", approve),
            "Approves a proposed tool, and loads it.",
        )
        .body::<ApproveBody>()
        .replies::<ApproveReply>(),
        answers(
            Operation::post("/api/tools/reject/{tool}", "reject_tool", reject),
            "Rejects a proposed tool.",
        )
        .body::<RejectBody>()
        .replies::<RejectReply>(),
    ]
}

/// A tool that somebody proposes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProposeBody {
    /// The name, which the module must export, too.
    name: String,
    /// What the tool does.
    description: String,
    /// The ES module.
    code: String,
    /// Why it is proposed.
    #[serde(default)]
    reasoning: String,
}

/// The answer that a proposal is approved.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApproveBody {
    /// The hash of the version that was shown, or its first 12 digits. Another version is not approved. Without it, the
    /// approval is for the version that this principal was shown last, if it was shown one.
    hash: Option<String>,
}

/// The answer that a proposal is rejected.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RejectBody {
    /// Why, for the one who proposed.
    #[serde(default)]
    reason: String,
}

/// The reply to a proposal.
#[derive(Serialize, JsonSchema)]
struct ProposeReply {
    ok: bool,
    proposal: ProposalFields,
    message: &'static str,
}

/// The proposals that wait.
#[derive(Serialize, JsonSchema)]
struct PendingReply {
    ok: bool,
    pending: Vec<PendingFields>,
    count: usize,
}

/// How many proposals are listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProposalsQuery {
    /// The most proposals to return.
    limit: Option<Within<1, 1000>>,
}

/// The proposals that are kept.
#[derive(Serialize, JsonSchema)]
struct ProposalList {
    ok: bool,
    proposals: Vec<KeptFields>,
    count: usize,
}

/// The reply about one proposal.
#[derive(Serialize, JsonSchema)]
struct ReviewReply {
    ok: bool,
    /// Whether the one who asks this proposed the tool, and so cannot answer.
    own: bool,
    #[serde(flatten)]
    review: ReviewFields,
}

/// The reply to an approval.
#[derive(Serialize, JsonSchema)]
struct ApproveReply {
    ok: bool,
    tool: ApprovedFields,
    message: String,
}

/// A tool that was approved.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ApprovedFields {
    name: String,
    status: &'static str,
    approved_at: String,
    /// The file in the tools folder. Without one, the message says why it could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The first digits of the hash.
    version: String,
}

/// The reply to a rejection.
#[derive(Serialize, JsonSchema)]
struct RejectReply {
    ok: bool,
    tool: RejectedFields,
    message: &'static str,
}

/// A tool that was rejected.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RejectedFields {
    name: String,
    status: &'static str,
    rejected_at: String,
    reason: String,
}

async fn propose(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(body): BodyFields<ProposeBody>,
) -> Reply {
    let ProposeBody { name, description, code, reasoning } = body;
    let source = PluginSource::of_module(code).map_err(|err| proposal_faults(&err.into()))?;
    let new = NewTool { name, description, source, reasoning };
    let proposed = with_lifecycle(api, move |lifecycle| lifecycle.propose(new, &caller)).await?;
    let proposal = proposed.map_err(|faults| proposal_faults(&faults))?;
    JsonReply::ok(&ProposeReply {
        ok: true,
        proposal: ProposalFields::of(&proposal, "pending"),
        message: "Tool proposal submitted. Awaiting approval.",
    })
}

async fn pending(State(api): State<Arc<Api>>, Extension(caller): Extension<Caller>) -> Reply {
    let sees = CallVisibility::of(&caller);
    let pending = with_lifecycle(Arc::clone(&api), Lifecycle::pending).await?;
    let pending = pending.map_err(|err| plugin_error(&err))?;
    let seen = pending.iter().filter(|it| sees.includes(Some(&it.proposal.by.principal)));
    let told = |it: &&PendingTool| {
        api.shown.remember(&caller.principal, &it.proposal.name, it.proposal.hash.as_str());
    };
    let pending: Vec<PendingFields> = seen.inspect(told).map(PendingFields::of).collect();
    JsonReply::ok(&PendingReply { ok: true, count: pending.len(), pending })
}

async fn all(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    QueryFields(query): QueryFields<ProposalsQuery>,
) -> Reply {
    let sees = CallVisibility::of(&caller);
    let all = with_lifecycle(api, Lifecycle::proposals).await?;
    let all = all.map_err(|err| plugin_error(&err))?;
    let seen = all.into_iter().rev().filter(|it| sees.includes(Some(&it.proposal.by.principal)));
    let limit = query.limit.map_or(USUAL_LIMIT, Within::get) as usize;
    let proposals: Vec<KeptFields> = seen.take(limit).map(KeptFields::of).collect();
    JsonReply::ok(&ProposalList { ok: true, count: proposals.len(), proposals })
}

async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
) -> Reply {
    let sees = CallVisibility::of(&caller);
    let wanted = tool.clone();
    let review = with_lifecycle(Arc::clone(&api), move |it| it.review(&wanted)).await?;
    let review = review.map_err(|err| plugin_error(&err))?;
    if !sees.includes(Some(&review.proposal.by.principal)) {
        let message = format!("there is no proposal of `{}`", escape::line(&tool));
        return Err(plugin_error(&PluginError::new(PluginErrorKind::NotFound, message)));
    }
    let ToolProposal { name, hash, by, .. } = &review.proposal;
    api.shown.remember(&caller.principal, name, hash.as_str());
    let own = !caller.principal.may_answer_for(&by.principal);
    JsonReply::ok(&ReviewReply { ok: true, own, review: ReviewFields::of(review) })
}

async fn approve(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
    OptionalBodyFields(body): OptionalBodyFields<ApproveBody>,
) -> Reply {
    let plugins = Arc::clone(&api);
    let approved = blocking(move || {
        let lifecycle = plugins.ports.plugins.lifecycle();
        // The contract's form has no hash. It is then for what this principal was shown.
        let hash = body.hash.or_else(|| plugins.shown.of(&caller.principal, &tool));
        let approved = lifecycle.approve(&tool, hash.as_deref(), &caller.principal)?;
        plugins.shown.forget(&caller.principal, &approved.name);
        plugins.ports.plugins.take_up()?;
        Ok(approved)
    });
    let approved = approved.await?.map_err(|err: PluginError| plugin_error(&err))?;
    let (path, message) = match &approved.written {
        Ok(path) => {
            (Some(path.display().to_string()), "Tool approved and written to disk".to_owned())
        }
        Err(err) => (None, format!("Tool approved, but not written to disk: {err}")),
    };
    JsonReply::ok(&ApproveReply {
        ok: true,
        tool: ApprovedFields {
            name: approved.name,
            status: "approved",
            approved_at: stamp(approved.at),
            path,
            version: approved.hash.short().to_owned(),
        },
        message,
    })
}

async fn reject(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
    OptionalBodyFields(body): OptionalBodyFields<RejectBody>,
) -> Reply {
    let reason = body.reason.clone();
    let principal = caller.principal.clone();
    let rejecting = Arc::clone(&api);
    let rejected =
        with_lifecycle(rejecting, move |it| it.reject(&tool, &body.reason, &principal)).await?;
    let (proposal, at) = rejected.map_err(|err| plugin_error(&err))?;
    api.shown.forget(&caller.principal, &proposal.name);
    JsonReply::ok(&RejectReply {
        ok: true,
        tool: RejectedFields {
            name: proposal.name,
            status: "rejected",
            rejected_at: stamp(at),
            reason,
        },
        message: "Tool proposal rejected",
    })
}
