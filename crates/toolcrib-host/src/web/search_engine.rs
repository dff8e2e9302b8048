//! Search engines: DuckDuckGo's page without scripts, a SearXNG server, Brave's API.

use std::sync::Arc;

use toolcrib_core::net::{AllowedAddresses, FetchRequest, Net};
use toolcrib_core::web_search::{FoundPage, WebQuery, WebSearch};
use toolcrib_core::{Cancel, ErrorKind, Meter, ToolError};
use url::Url;

use super::engine_replies::{SearxngReply, brave, duckduckgo, searxng};
use super::service::{ServiceWords, ask, host_of};

/// The most bytes of a reply.
const MOST_REPLY_BYTES: usize = 4 << 20;

/// How many results are asked for where an engine lets us say so.
const RESULTS: &str = "20";

/// How many engines are named that did not answer.
const MOST_SILENT: usize = 8;

/// What the words of a query begin with that a SearXNG server answers by leading to another site.
const LEADS_AWAY: &str = "!!";

/// What to do if DuckDuckGo does not answer.
const ROBOT: &str =
    "it may take us for a robot; try again later, or set `web.search` to `searxng` or `brave`";

/// A kind of search engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// DuckDuckGo's page without scripts. It wants no key.
    DuckDuckGo,
    /// A SearXNG server that offers JSON.
    SearXng,
    /// Brave's API, with a key.
    Brave,
}

/// Which search engine is asked, and where it is.
#[derive(Clone, Debug)]
pub struct SearchEnginePlace {
    /// The kind of engine.
    pub kind: EngineKind,
    /// The URL, if it is not the kind's usual one.
    pub url: Option<String>,
    /// The key, if the engine wants one.
    pub key: Option<String>,
}

/// A search engine.
pub struct SearchEngine {
    net: Arc<dyn Net>,
    place: SearchEnginePlace,
    url: Option<Url>,
    host: String,
}

impl EngineKind {
    fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::DuckDuckGo => Some("https://html.duckduckgo.com/html/"),
            Self::SearXng => None,
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
        }
    }

    fn words(self) -> ServiceWords {
        let refused = match self {
            Self::DuckDuckGo => ROBOT,
            Self::SearXng => {
                "its settings must list `json` under `search.formats`, and its limiter must let us in"
            }
            Self::Brave => {
                "check the key in the environment variable TOOLCRIB_SEARCH_KEY, and what it may do"
            }
        };
        ServiceWords { what: "the search engine", setting: "web.search_url", refused }
    }
}

impl SearchEngine {
    /// Returns the engine at a place.
    pub fn new(net: Arc<dyn Net>, place: SearchEnginePlace) -> Self {
        let url =
            place.url.as_deref().or(place.kind.usual_url()).and_then(|it| Url::parse(it).ok());
        let host = url.as_ref().map(|url| host_of(url.as_str())).unwrap_or_default();
        Self { net, place, url, host }
    }

    /// Returns the request for a query.
    fn request(&self, query: &WebQuery) -> Result<FetchRequest, ToolError> {
        let SearchEnginePlace { kind, url: given, key } = &self.place;
        let mut url = self.url.clone().ok_or_else(no_url)?;
        let mut headers = Vec::new();
        match kind {
            EngineKind::DuckDuckGo => {}
            EngineKind::SearXng => {
                if !url.path().ends_with("/search") {
                    let path = format!("{}/search", url.path().trim_end_matches('/'));
                    url.set_path(&path);
                }
                url.query_pairs_mut().append_pair("format", "json");
            }
            EngineKind::Brave => {
                let key = key.clone().ok_or_else(no_key)?;
                headers.push(("x-subscription-token".to_owned(), key));
                headers.push(("accept".to_owned(), "application/json".to_owned()));
                url.query_pairs_mut().append_pair("count", RESULTS);
            }
        }
        url.query_pairs_mut().append_pair("q", &query.words);
        // Where the operator names the place, it may be on this machine.
        let addresses = if given.is_some() {
            AllowedAddresses::Operator
        } else {
            AllowedAddresses::OpenInternet
        };
        Ok(FetchRequest {
            headers,
            time: query.time,
            most_bytes: MOST_REPLY_BYTES,
            addresses,
            ..FetchRequest::get(url.as_str())
        })
    }
}

impl WebSearch for SearchEngine {
    fn host(&self) -> Option<&str> {
        Some(&self.host).filter(|host| !host.is_empty()).map(String::as_str)
    }

    fn search(
        &self,
        query: &WebQuery,
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Vec<FoundPage>, ToolError> {
        let request = self.request(query)?;
        let kind = self.place.kind;
        let reply = ask(&*self.net, &request, kind.words(), (meter, cancel))
            .map_err(|err| explained(kind, query, err))?;
        let pages = match kind {
            EngineKind::DuckDuckGo => duckduckgo(&reply.body),
            EngineKind::SearXng => {
                let found = searxng(&reply.body);
                if let Some(SearxngReply { pages, silent }) = &found
                    && pages.is_empty()
                    && !silent.is_empty()
                {
                    return Err(self.silent_engines(silent));
                }
                found.map(|found| found.pages)
            }
            EngineKind::Brave => brave(&reply.body),
        };
        pages.ok_or_else(|| {
            let host = &self.host;
            let message = format!("the search engine at `{host}` answered with no list of results");
            ToolError::new(ErrorKind::Failed, message).hint(match kind {
                EngineKind::DuckDuckGo => ROBOT,
                EngineKind::SearXng => "its settings must list `json` under `search.formats`",
                EngineKind::Brave => "check `web.search_url`",
            })
        })
    }
}

impl SearchEngine {
    /// Returns the error of a search that found nothing while engines did not answer: nobody can say that there is nothing.
    fn silent_engines(&self, silent: &[String]) -> ToolError {
        let mut named = silent.iter().take(MOST_SILENT).cloned().collect::<Vec<_>>().join(", ");
        if silent.len() > MOST_SILENT {
            named.push_str(", …");
        }
        let message = format!(
            "the search engine at `{}` found nothing, but engines behind it did not answer: {named}",
            self.host
        );
        ToolError::new(ErrorKind::Unavailable, message)
            .with("reason", "engines_silent")
            .hint("try again later, or with other words")
    }
}

/// Says what it was about the words that the engine did not take.
fn explained(kind: EngineKind, query: &WebQuery, err: ToolError) -> ToolError {
    let leads_away = |status: &serde_json::Value| matches!(status.as_u64(), Some(300..=399));
    let is_led = err.context.get("status").is_some_and(leads_away);
    let is_asked = query.words.split_whitespace().any(|word| word.starts_with(LEADS_AWAY));
    if kind == EngineKind::SearXng && is_led && is_asked {
        return err.hint("a word that begins with `!!` asks for another site; leave it out");
    }
    err
}

fn no_url() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "`web.search_url` names no URL of a search engine")
        .with("reason", "no_search_url")
        .hint("toolcrib config set web.search_url https://searx.example.org")
}

fn no_key() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "Brave's API wants a key, and there is none")
        .with("reason", "no_search_key")
        .hint("put it into the environment variable TOOLCRIB_SEARCH_KEY")
}
