//! The connections that the operator added, of which a session may choose one by its name.

use std::sync::Arc;

use toolcrib_core::pull_requests::PullRequests;
use toolcrib_core::{Call, Cancel, Connection, ErrorKind, ToolError, ToolName};
use toolcrib_repositories::{RepositoryPlace, RepositorySource};

use super::connection::{ConnectedPlace, NamedPlace};
use crate::error::CliError;

/// The connections that can be chosen. A clone shares what is open.
#[derive(Clone, Default)]
pub(super) struct NamedConnections(Vec<Arc<NamedConnection>>);

/// A connection that can be chosen.
pub(super) struct NamedConnection {
    pub(super) name: String,
    pub(super) place: RepositoryPlace,
    /// What it leads to, or why that cannot be opened.
    pub(super) connected: Result<ConnectedPlace, ToolError>,
    /// The pull requests of the repository.
    pub(super) pull_requests: Arc<dyn PullRequests>,
}

impl NamedConnections {
    /// Opens connections, with `open`. Those of `old` that lead to the same places stay as they are, so that their
    /// sessions stay at their commits.
    pub(super) fn open(
        places: Vec<NamedPlace>,
        old: Option<&Self>,
        open: impl Fn(NamedPlace) -> NamedConnection,
    ) -> Self {
        let known = |it: &NamedPlace| {
            let old = old.and_then(|old| old.find(&it.name));
            old.filter(|old| old.place == it.place).map(Arc::clone)
        };
        Self(
            places.into_iter().map(|it| known(&it).unwrap_or_else(|| Arc::new(open(it)))).collect(),
        )
    }

    /// Returns the connection with this name.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<NamedConnection>> {
        self.0.iter().find(|it| it.name == name)
    }

    /// Returns the connection that a call has chosen. If there is none with this name, whatever reads from it says so.
    pub(super) fn connect(
        &self,
        name: &str,
        call: &Call,
        tool: &ToolName,
        cancel: &Cancel,
    ) -> Connection {
        let place = match self.find(name) {
            Some(named) => named.connected.clone(),
            None => Err(self.unknown(name)),
        };
        let place = place.unwrap_or_else(|err| {
            let refusing = RepositorySource::new(move |_| Err(err.clone()));
            ConnectedPlace::Repository(Arc::new(refusing))
        });
        place.connect(call, tool, cancel)
    }

    fn unknown(&self, name: &str) -> ToolError {
        let (message, hint) = unknown_connection(name, self.0.iter().map(|it| it.name.as_str()));
        ToolError::new(ErrorKind::NoConnection, message).hint(hint)
    }
}

/// Fails if there is no connection with this name.
pub fn check_connection(all: &[NamedPlace], name: &str) -> Result<(), CliError> {
    if all.iter().any(|it| it.name == name) {
        return Ok(());
    }
    let (message, hint) = unknown_connection(name, all.iter().map(|it| it.name.as_str()));
    Err(CliError::usage(message).hint(hint))
}

/// Returns what is said about a name that no connection has, and what to do.
fn unknown_connection<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> (String, &'static str) {
    let known: Vec<String> = known.map(|it| format!("`{it}`")).collect();
    let name = name.escape_debug();
    if known.is_empty() {
        let message = format!("there is no connection `{name}`, and no other");
        return (message, "the operator adds one with `toolcrib connect add NAME PLACE`");
    }
    let message = format!("there is no connection `{name}`; there are {}", known.join(", "));
    (message, "name one of these, or none to read what `hikai.connection` says")
}
