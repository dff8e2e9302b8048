//! `/api/rules/replay` and `/api/rules/uses`: what rules would have decided, and what they did decide.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Caller;
use toolcrib_core::schema::Within;
use toolcrib_ledger::{RuleUse, recent_use};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::{BodyFields, QueryFields};
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::outcome::failed;
use super::rules_replay::{RulesReplay, WantedReplay};
use crate::reply::ApiError;

/// How many days of calls are decided again, unless the request says.
const USUAL_DAYS: u64 = 7;

/// For how many hours uses are counted, unless the request says.
const USUAL_HOURS: u64 = 24;

/// The operations about what rules decide.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/rules/replay", "replay_rules", replay)
            .about(
                AccessRight::Inspect,
                "Checks rules, and decides recorded calls again as if they were in force. Nothing runs.",
            )
            .body::<ReplayBody>()
            .replies::<ReplayReply>()
            .fails(StatusCode::UNPROCESSABLE_ENTITY, "The rules cannot be used."),
        Operation::get("/api/rules/uses", "rule_uses", uses)
            .about(AccessRight::Inspect, "Counts how often each rule decided, and when it last did.")
            .query::<UsesQuery>()
            .replies::<RuleUses>(),
    ]
}

/// Rules to try.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplayBody {
    /// The rules, as in a rules file. They are tried beside those in force.
    toml: String,
    /// The calls of how many days are decided again. (default: 7)
    days: Option<Within<1, 366>>,
}

/// What rules would decide.
#[derive(Serialize, JsonSchema)]
struct ReplayReply {
    ok: bool,
    #[serde(flatten)]
    replay: RulesReplay,
}

/// Which uses are counted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UsesQuery {
    /// The uses of how many hours. (default: 24)
    hours: Option<Within<1, 720>>,
}

/// How often rules decided.
#[derive(Serialize, JsonSchema)]
struct RuleUses {
    ok: bool,
    /// When the part of the record begins that was read: as wanted, or later if the record is large.
    since: Timestamp,
    /// The rules that decided, by their ids.
    rules: BTreeMap<String, ShownUse>,
}

/// How often a rule decided.
#[derive(Serialize, JsonSchema)]
struct ShownUse {
    count: u64,
    last_at: Timestamp,
    /// The call that it decided then.
    last_call: String,
}

async fn replay(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(body): BodyFields<ReplayBody>,
) -> Reply {
    let days = body.days.map_or(USUAL_DAYS, Within::get);
    let since = hours_ago(&api, 24 * days);
    let wanted = WantedReplay { text: body.toml, since, principal: caller.principal };
    let redactor = api.redactor.clone();
    let replay = blocking(move || api.ports.backend.replay_rules(&wanted)).await?;
    let replay = replay.map_err(|err| failed(&err))?;
    JsonReply::redacted(&redactor, &ReplayReply { ok: true, replay })
}

async fn uses(State(api): State<Arc<Api>>, QueryFields(query): QueryFields<UsesQuery>) -> Reply {
    let since = hours_ago(&api, query.hours.map_or(USUAL_HOURS, Within::get));
    let found = blocking(move || recent_use(&api.state, since)).await?;
    let found =
        found.map_err(|err| ApiError::unavailable(format!("the record cannot be read: {err}")))?;
    let shown =
        |it: RuleUse| ShownUse { count: it.count, last_at: it.last_at, last_call: it.last_call };
    let rules = found.rules.into_iter().map(|(rule, it)| (rule, shown(it))).collect();
    JsonReply::ok(&RuleUses { ok: true, since: found.since, rules })
}

/// Returns the time that was so many hours ago.
pub(super) fn hours_ago(api: &Api, hours: u64) -> Timestamp {
    let span = SignedDuration::from_hours(i64::try_from(hours).unwrap_or(i64::MAX));
    api.answers.clock.now().checked_sub(span).unwrap_or(Timestamp::MIN)
}
