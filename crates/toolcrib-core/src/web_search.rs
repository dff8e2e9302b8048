//! Web search: the port through which a tool asks a search engine.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::command::HostTraffic;
use crate::error::{ErrorKind, ToolError};

/// Asks a search engine.
pub trait WebSearch: Send + Sync {
    /// Returns the host that gets the queries, if an engine is configured.
    fn host(&self) -> Option<&str>;

    /// Returns what the engine found, best first.
    fn search(&self, query: &WebQuery, cancel: &Cancel) -> Result<FoundPages, ToolError>;
}

/// A query to a search engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebQuery {
    /// The words.
    pub words: String,
    /// The time in which the reply must be there.
    pub time: Duration,
}

/// What a search engine found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPages {
    /// The pages, best first.
    pub pages: Vec<FoundPage>,
    /// What went to and fro.
    pub traffic: HostTraffic,
}

/// A page that a search engine found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// Its title.
    pub title: String,
    /// Its URL.
    pub url: String,
    /// A few words of it.
    pub snippet: String,
}

/// There is no search engine.
#[derive(Clone, Copy, Debug)]
pub struct NoWebSearch;

impl WebSearch for NoWebSearch {
    fn host(&self) -> Option<&str> {
        None
    }

    fn search(&self, _: &WebQuery, _: &Cancel) -> Result<FoundPages, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "there is no search engine here"))
    }
}
