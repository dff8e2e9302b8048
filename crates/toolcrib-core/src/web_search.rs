//! Web search: the port through which a tool asks a search engine.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::error::{ErrorKind, ToolError};
use crate::meter::Meter;

/// Asks a search engine.
pub trait WebSearch: Send + Sync {
    /// Returns the host that gets the queries, if an engine is configured.
    fn host(&self) -> Option<&str>;

    /// Returns the pages that the engine found, best first. The meter is told what went to and fro, also if it fails.
    fn search(
        &self,
        query: &WebQuery,
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Vec<FoundPage>, ToolError>;
}

/// A query to a search engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebQuery {
    /// The words.
    pub words: String,
    /// The time in which the reply must be there.
    pub time: Duration,
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

    fn search(&self, _: &WebQuery, _: &Meter, _: &Cancel) -> Result<Vec<FoundPage>, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "there is no search engine here"))
    }
}
