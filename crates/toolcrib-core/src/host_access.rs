//! Access to a host that no setting lists: the port through which the sandbox asks whether a command may reach it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;

/// A host that a command wants to reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HostRequest {
    /// The name of the host, in lower case.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for HostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Whether a command may reach a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostVerdict {
    /// It may.
    Allowed,
    /// It may not, for this reason.
    Refused(String),
}

/// Decides about the hosts that a command wants to reach and that no setting lists.
pub trait HostGate: Send + Sync {
    /// Returns what rules and grants say about a host, if they say something.
    fn known(&self, request: &HostRequest) -> Option<HostVerdict>;

    /// Asks a person about a host. That can take long; it ends soon after `cancel` was cancelled.
    fn ask(&self, request: &HostRequest, cancel: &Cancel) -> HostVerdict;
}
