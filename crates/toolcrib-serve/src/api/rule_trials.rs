//! `/api/rules/replay`: what rules would have decided.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Caller;
use toolcrib_core::schema::Within;

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::BodyFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::outcome::failed;
use super::rule_uses::hours_ago;
use super::rules_replay::{RulesReplay, WantedReplay};

/// How many days of calls are decided again, unless the request says.
const USUAL_DAYS: u64 = 7;

/// The operations about rules that are tried.
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
