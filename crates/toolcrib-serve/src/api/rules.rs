//! `/api/rules`: the rules in force, and what they would decide.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_core::policy::RuleDraft;
use toolcrib_core::{Call, Caller, Cancel, ErrorKind, Principal, ToolError, ToolName};
use toolcrib_ledger::new_call_id;
use toolcrib_runtime::Explanation;

use super::access::{AccessRight, CallVisibility};
use super::backend::RulesChanged;
use super::blocking::blocking;
use super::context::{Api, session_of};
use super::fields::BodyFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::outcome::{failed, status_of, with_hint};
use super::rule_view::ShownRule;
use super::tools::full_name_of;
use crate::reply::ApiError;

/// The operations about rules.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/rules", "list_rules", list)
            .about(
                AccessRight::Inspect,
                "Lists the rules in force, in the order in which they count.",
            )
            .replies::<RuleList>(),
        Operation::post("/api/rules", "add_rules", add)
            .about(AccessRight::Administer, "Adds rules to the operator's file. They hold at once.")
            .body::<RulesBody>()
            .replies::<AddedRules>()
            .fails(StatusCode::UNPROCESSABLE_ENTITY, "The rules cannot be used; none was added."),
        Operation::delete("/api/rules/{id}", "remove_rule", remove)
            .about(AccessRight::Administer, "Removes a rule from the operator's file.")
            .replies::<RuleRemoval>()
            .fails(StatusCode::NOT_FOUND, "The operator's file has no such rule.")
            .fails(StatusCode::CONFLICT, "The rule cannot be removed without a change to others."),
        Operation::post("/api/rules/explain", "explain", explain)
            .about(
                AccessRight::Any,
                "Says what would be decided about a call, and why. Nothing runs.",
            )
            .body::<ExplainBody>()
            .replies::<ExplainedCall>()
            .fails(StatusCode::FORBIDDEN, "The tool is not on offer, or it is the call of another.")
            .fails(StatusCode::NOT_FOUND, "There is no such tool.")
            .fails(StatusCode::CONFLICT, "The call cannot be looked at now.")
            .fails(StatusCode::UNPROCESSABLE_ENTITY, "The arguments do not fit."),
    ]
}

/// Rules to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RulesBody {
    /// The rules, as in a rules file.
    toml: String,
}

/// A call to explain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExplainBody {
    /// The name of the tool; one without a catalogue is of the contract's own.
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
    /// Whose call it would be. Without it, the caller's own.
    principal: Option<Principal>,
}

/// The rules in force.
#[derive(Serialize, JsonSchema)]
struct RuleList {
    ok: bool,
    /// What decides about calls that no rule matches.
    mode: &'static str,
    /// The operator's own file, whose rules can be removed here.
    own_file: Option<String>,
    rules: Vec<ShownRule>,
}

/// Rules that were added.
#[derive(Serialize, JsonSchema)]
struct AddedRules {
    ok: bool,
    added: Vec<String>,
    /// What the one who added them should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A rule that was removed.
#[derive(Serialize, JsonSchema)]
struct RuleRemoval {
    ok: bool,
    removed: String,
    /// What the one who removed it should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// What would be decided about a call.
#[derive(Serialize, JsonSchema)]
struct ExplainedCall {
    ok: bool,
    #[serde(flatten)]
    explanation: Explanation,
    /// Conditions of rules that would be about the call.
    drafts: Vec<RuleDraft>,
}

async fn list(State(api): State<Arc<Api>>) -> Reply {
    let runtime = api.runtime.current();
    let policy = runtime.judge.policy();
    let rules = policy.rules().iter().map(ShownRule::of).collect();
    let own_file = api.ports.backend.rules_file();
    JsonReply::ok(&RuleList { ok: true, mode: policy.mode().as_str(), own_file, rules })
}

async fn add(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(body): BodyFields<RulesBody>,
) -> Reply {
    let added =
        blocking(move || api.ports.backend.add_rules(&body.toml, &caller.principal)).await?;
    let RulesChanged { ids, warnings } = added.map_err(|err| rules_error(&err))?;
    JsonReply::ok(&AddedRules { ok: true, added: ids, warnings })
}

async fn remove(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    let removed = blocking(move || api.ports.backend.remove_rule(&id, &caller.principal)).await?;
    let RulesChanged { ids, warnings } = removed.map_err(|err| rules_error(&err))?;
    JsonReply::ok(&RuleRemoval { ok: true, removed: ids.join(", "), warnings })
}

async fn explain(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(body): BodyFields<ExplainBody>,
) -> Reply {
    let principal = body.principal.unwrap_or_else(|| caller.principal.clone());
    if !CallVisibility::of(&caller).includes(Some(&principal)) {
        AccessRight::Inspect.check(&caller)?;
    }
    let tool = ToolName::from(body.tool.as_str());
    let tool = match tool.catalogue() {
        Some(_) => tool,
        None => full_name_of(api.runtime.current().toolset.shelf(), &body.tool),
    };
    let session = session_of(&principal);
    let caller = Arc::new(Caller { principal, ..caller });
    let call = Call::new(new_call_id(), session, caller, tool, Value::Object(body.args));
    match api.runtime.current().explain(call, Cancel::default()).await {
        Ok(preview) => {
            let (explanation, drafts) = (preview.explanation(), preview.rule_drafts());
            JsonReply::ok(&ExplainedCall { ok: true, explanation, drafts })
        }
        Err(outcome) => match outcome.error {
            Some(err) => Err(explain_error(&err)),
            None => Err(ApiError::not_found()),
        },
    }
}

/// Says why a call cannot be explained. Its status is the one that the call itself would get.
fn explain_error(err: &ToolError) -> ApiError {
    with_hint(status_of(err.kind), err.kind.as_str(), err)
}

/// Says why rules were not changed.
fn rules_error(err: &ToolError) -> ApiError {
    match err.kind {
        ErrorKind::NotFound => with_hint(StatusCode::NOT_FOUND, "rule_not_found", err),
        _ => failed(err),
    }
}
