//! A repository that is open at a commit, wherever its objects are.

use std::sync::Arc;

use toolcrib_core::{Cancel, Connection, ToolError};

use crate::git::repository::GitRepository;
use crate::github::repository::GitHubRepository;

/// A repository that is open at a commit.
pub trait OpenRepository: Send + Sync {
    /// Returns the commit, in hexadecimal digits.
    fn commit(&self) -> String;

    /// Returns what whoever connects it should know, such as another name that it has by now.
    fn notices(&self) -> Vec<String>;

    /// Returns files and search as the connection of one call.
    fn connect(&self, cancel: &Cancel) -> Connection;

    /// Counts for a call what went over the network for no single one.
    fn charge_background(&self, cancel: &Cancel);
}

impl OpenRepository for GitRepository {
    fn commit(&self) -> String {
        Self::commit(self)
    }

    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    fn connect(&self, cancel: &Cancel) -> Connection {
        Self::connect(self, cancel)
    }

    fn charge_background(&self, _: &Cancel) {}
}

impl OpenRepository for GitHubRepository {
    fn commit(&self) -> String {
        Self::commit(self)
    }

    fn notices(&self) -> Vec<String> {
        Self::notices(self)
    }

    fn connect(&self, cancel: &Cancel) -> Connection {
        Self::connect(self, cancel)
    }

    fn charge_background(&self, cancel: &Cancel) {
        Self::charge_background(self, cancel);
    }
}

/// Opens a repository at the commit that its revision leads to now.
pub(crate) type OpenFunction =
    dyn Fn(&Cancel) -> Result<Arc<dyn OpenRepository>, ToolError> + Send + Sync;
