//! `/api/rules/uses`: how often rules decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Within;
use toolcrib_ledger::{RuleUse, recent_use};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// For how many hours uses are counted, unless the request says.
const USUAL_HOURS: u64 = 24;

/// The operations about what rules decided.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/rules/uses", "rule_uses", uses)
            .about(
                AccessRight::Inspect,
                "Counts how often each rule decided, and when it last did.",
            )
            .query::<UsesQuery>()
            .replies::<RuleUses>(),
    ]
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
