//! `GET /api/tools`: the tools on offer.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Limits, Shelf, ToolName};
use toolcrib_plugins::lifecycle::PLUGINS_CATALOGUE;
use toolcrib_runtime::dialect::{Dialect, Names, declare};

use super::access::AccessRight;
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// The catalogue whose contract this API is. Its tools have bare names here.
pub const CONTRACT_CATALOGUE: &str = "forgekeeper";

/// Whether the tools of a catalogue have bare names here. Those that were proposed and approved have, because the
/// contract knows no others. None of them has the name of another tool.
pub fn has_bare_names(catalogue: &str) -> bool {
    matches!(catalogue, CONTRACT_CATALOGUE | PLUGINS_CATALOGUE)
}

/// Returns the full name of the tool that has this bare name here.
pub(super) fn full_name_of(shelf: &Shelf, bare: &str) -> ToolName {
    let plugin = ToolName::new(PLUGINS_CATALOGUE, bare);
    if shelf.has(&plugin) { plugin } else { ToolName::new(CONTRACT_CATALOGUE, bare) }
}

/// The operations about the tools on offer.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/tools", "list_tools", list)
            .about(AccessRight::Any, "Lists the tools on offer, with their declarations.")
            .query::<ToolsetQuery>()
            .replies::<ToolList>()
            .fails(StatusCode::NOT_FOUND, "No tool on offer is in the toolset."),
    ]
}

/// Which tools are meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolsetQuery {
    /// Catalogues and full names of tools, separated by commas, or `all`. Without it, the contract's own tools.
    toolset: Option<String>,
}

/// The tools on offer.
#[derive(Serialize, JsonSchema)]
struct ToolList {
    ok: bool,
    enabled: bool,
    count: usize,
    names: Vec<String>,
    /// The declarations, as models take them.
    defs: Vec<Value>,
    /// The limits of a call, in the order of the names.
    limits: Vec<ToolLimits>,
}

/// The limits of one call of a tool.
#[derive(Serialize, JsonSchema)]
struct ToolLimits {
    deadline_ms: u64,
    output_bytes: usize,
}

impl From<&Offer> for ToolLimits {
    fn from(offer: &Offer) -> Self {
        let Limits { deadline_ms, output_bytes } = offer.limits;
        Self { deadline_ms, output_bytes }
    }
}

async fn list(State(api): State<Arc<Api>>, QueryFields(query): QueryFields<ToolsetQuery>) -> Reply {
    let (own, others) = query.offers(&api)?;
    let names: Vec<String> = own.iter().chain(&others).map(served_name).collect();
    let defs = defs(&own, &others);
    JsonReply::ok(&ToolList {
        ok: true,
        enabled: !names.is_empty(),
        count: names.len(),
        names,
        defs,
        limits: own.iter().chain(&others).map(ToolLimits::from).collect(),
    })
}

/// Returns the name by which a tool is executed here.
pub(super) fn served_name(offer: &Offer) -> String {
    if has_bare_names(offer.catalogue.name) {
        offer.tool.declaration().name.to_owned()
    } else {
        offer.full_name().to_string()
    }
}

impl ToolsetQuery {
    /// Returns the tools that are meant: those of the contract's own catalogue, and the others.
    pub(super) fn offers<'a>(&'a self, api: &Api) -> Result<(Vec<Offer>, Vec<Offer>), ApiError> {
        let contracts = || [CONTRACT_CATALOGUE, PLUGINS_CATALOGUE].to_vec();
        let split = |wanted: &'a String| wanted.split(',').filter(|choice| !choice.is_empty());
        let choices: Vec<&str> =
            self.toolset.as_ref().map_or_else(contracts, |it| split(it).collect());
        let runtime = api.runtime.current();
        let all = runtime.toolset.offers();
        let is_wanted = |offer: &&Offer, choice: &str| {
            choice == "all" || offer.catalogue.name == choice || *offer.full_name() == *choice
        };
        let is_unknown = |choice: &&&str| !all.iter().any(|offer| is_wanted(&offer, choice));
        // Without a choice, no tool is an answer too: an operator can switch all of them off.
        if self.toolset.is_some()
            && let Some(unknown) = choices.iter().find(is_unknown)
        {
            let message = format!("no tool on offer is in `{unknown}`; `?toolset=all` lists all");
            return Err(ApiError::new(StatusCode::NOT_FOUND, "toolset_not_found", message));
        }
        let chosen = all.iter().filter(|offer| choices.iter().any(|it| is_wanted(offer, it)));
        Ok(chosen.cloned().partition(|offer| has_bare_names(offer.catalogue.name)))
    }
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
        if !has_bare_names(offer.catalogue.name) {
            def["function"]["name"] = served_name(offer).into();
        }
    }
    defs
}
