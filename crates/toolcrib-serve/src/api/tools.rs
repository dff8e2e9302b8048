//! `GET /api/tools`: the tools on offer.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde_json::{Value, json};
use toolcrib_core::toolset::Offer;
use toolcrib_runtime::dialect::{Dialect, Names, declare};

use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use crate::query::QueryParameters;
use crate::reply::ApiError;

/// The catalogue whose contract this API is. Its tools have bare names here.
pub(super) const CONTRACT_CATALOGUE: &str = "forgekeeper";

pub(super) async fn list(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Reply {
    let query = QueryParameters::parse(query.as_deref(), &["toolset"])?;
    let wanted = query.get("toolset").unwrap_or(CONTRACT_CATALOGUE);
    let choices: Vec<&str> = wanted.split(',').filter(|choice| !choice.is_empty()).collect();
    let all = api.runtime.toolset.offers();
    let is_wanted = |offer: &&Offer, choice: &str| {
        choice == "all" || offer.catalogue.name == choice || *offer.full_name() == *choice
    };
    if let Some(unknown) =
        choices.iter().find(|choice| !all.iter().any(|offer| is_wanted(&offer, choice)))
    {
        let message = format!("no tool on offer is in `{unknown}`; `?toolset=all` lists all");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "toolset_not_found", message));
    }
    let chosen = all.iter().filter(|offer| choices.iter().any(|it| is_wanted(offer, it)));
    let (own, others): (Vec<Offer>, Vec<Offer>) =
        chosen.cloned().partition(|offer| offer.catalogue.name == CONTRACT_CATALOGUE);
    let plain = own.iter().map(|offer| offer.tool.declaration().name.to_owned());
    let names: Vec<String> =
        plain.chain(others.iter().map(|offer| offer.full_name().to_string())).collect();
    let defs = defs(&own, &others);
    let count = names.len();
    Ok(JsonReply::ok(json!({
        "ok": true, "enabled": count > 0, "count": count, "names": names, "defs": defs,
    })))
}

/// Returns the declarations as the contract shows them. A name is the one by which a tool is executed here.
fn defs(own: &[Offer], others: &[Offer]) -> Vec<Value> {
    let mut defs = Vec::new();
    for (names, offers) in [(Names::Plain, own), (Names::Full, others)] {
        if let Value::Array(declared) = declare(Dialect::OpenAi, names, offers) {
            defs.extend(declared);
        }
    }
    for (def, offer) in defs.iter_mut().zip(own.iter().chain(others)) {
        if offer.catalogue.name != CONTRACT_CATALOGUE {
            def["function"]["name"] = offer.full_name().as_str().into();
        }
    }
    defs
}
