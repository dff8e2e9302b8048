//! Search engines: DuckDuckGo's page without scripts, a SearXNG server, Brave's API.

use std::sync::Arc;

use toolcrib_core::net::{AllowedAddresses, FetchRequest, Net};
use toolcrib_core::web_search::{FoundPage, WebQuery, WebSearch};
use toolcrib_core::{Cancel, ErrorKind, Meter, ToolError};
use url::Url;

use super::engine_replies::{brave, duckduckgo, searxng};
use super::service::{ServiceWords, ask, host_of};

/// The most bytes of a reply.
const MOST_REPLY_BYTES: usize = 4 << 20;

/// How many results are asked for where an engine lets us say so.
const RESULTS: &str = "20";

const WORDS: ServiceWords = ServiceWords {
    what: "the search engine",
    setting: "web.search_url",
    key: "TOOLCRIB_SEARCH_KEY",
};

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
        let reply = ask(&*self.net, &request, WORDS, (meter, cancel))?;
        let pages = match self.place.kind {
            EngineKind::DuckDuckGo => duckduckgo(&reply.body),
            EngineKind::SearXng => searxng(&reply.body),
            EngineKind::Brave => brave(&reply.body),
        };
        pages.ok_or_else(|| {
            let message = format!("the search engine at `{}` answered with no list of results", self.host);
            ToolError::new(ErrorKind::Failed, message).hint(match self.place.kind {
                EngineKind::DuckDuckGo => {
                    "it may take us for a robot; try again later, or set `web.search` to `searxng` or `brave`"
                }
                EngineKind::SearXng => "its settings must list `json` under `search.formats`",
                EngineKind::Brave => "check `web.search_url`",
            })
        })
    }
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
