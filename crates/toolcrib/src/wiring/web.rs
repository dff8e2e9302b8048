//! What tools reach of the web, as the settings say: the net, a search engine, a model, and subagents that it drives.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use toolcrib_agent::{
    AgentModel, CallerSubagents, ChatCompletions, LoopLimits, ModelPlace, SubagentOwner,
    SubagentPool,
};
use toolcrib_core::model::{Model, NoModel};
use toolcrib_core::net::Net;
use toolcrib_core::pull_requests::PullRequests;
use toolcrib_core::subagent::Subagents;
use toolcrib_core::web_search::WebSearch;
use toolcrib_host::{SearchEngine, SearchEnginePlace};

use super::connection::{RepositoryOpener, connected_place};
use crate::settings::{Settings, table};

/// The environment variable with the key of the search engine.
const SEARCH_KEY: &str = "TOOLCRIB_SEARCH_KEY";

/// The environment variable with the key of the model.
const MODEL_KEY: &str = "TOOLCRIB_MODEL_KEY";

/// What tools reach of the web.
#[derive(Clone)]
pub(super) struct WebAccess {
    pub(super) net: Arc<dyn Net>,
    pub(super) search: Arc<dyn WebSearch>,
    pub(super) model: Arc<dyn Model>,
    pub(super) subagents: SubagentAccess,
    pub(super) pull_requests: Arc<dyn PullRequests>,
}

/// What subagents work with.
#[derive(Clone)]
pub(super) struct SubagentAccess {
    /// The subagents of this process. They go on when the settings change.
    pub(super) pool: Arc<SubagentPool>,
    pub(super) model: Option<Arc<dyn AgentModel>>,
    pub(super) limits: LoopLimits,
}

impl SubagentAccess {
    /// Returns the subagents of one caller.
    pub(super) fn of(&self, owner: SubagentOwner) -> Arc<dyn Subagents> {
        let Self { pool, model, limits } = self.clone();
        Arc::new(CallerSubagents { pool, model, limits, owner })
    }
}

impl WebAccess {
    /// Returns the search engine, the model and the pull requests of the settings, behind the net of `repositories`.
    pub(super) fn new(
        repositories: &RepositoryOpener,
        settings: &Settings,
        environment: &BTreeMap<String, OsString>,
        pool: Arc<SubagentPool>,
    ) -> Self {
        let net = Arc::clone(&repositories.net);
        let key = |name: &str| {
            let key = environment.get(name).and_then(|key| key.to_str());
            key.map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned)
        };
        let url = |url: String| Some(url).filter(|url| !url.is_empty());
        let engine = SearchEnginePlace {
            kind: settings.get(table::WEB_SEARCH),
            url: url(settings.get(table::WEB_SEARCH_URL)),
            key: key(SEARCH_KEY),
        };
        let search = Arc::new(SearchEngine::new(Arc::clone(&net), engine));
        let name = settings.get(table::MODEL_NAME);
        let endpoint =
            url(settings.get(table::MODEL_URL)).filter(|_| !name.is_empty()).map(|url| {
                let place = ModelPlace { url, name, key: key(MODEL_KEY) };
                Arc::new(ChatCompletions::new(Arc::clone(&net), place))
            });
        let model = endpoint.clone().map_or_else(
            || Arc::new(NoModel) as Arc<dyn Model>,
            |endpoint| endpoint as Arc<dyn Model>,
        );
        let subagents = SubagentAccess {
            pool,
            model: endpoint.map(|endpoint| endpoint as Arc<dyn AgentModel>),
            limits: LoopLimits {
                turns: settings.get(table::AGENT_MAX_TURNS),
                tokens: settings.get(table::AGENT_MAX_TOKENS),
            },
        };
        let connected = connected_place(settings, &settings.get(table::HIKAI_CONNECTION)).ok();
        let pull_requests = Arc::new(repositories.pull_requests(connected.as_ref()));
        Self { net, search, model, subagents, pull_requests }
    }
}
